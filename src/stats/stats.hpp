// Statistics on spans of double: quantiles, trimmed median, spread, steady state. Pure mathematics,
// used by every room that reduces samples. It refuses nothing silently: an empty span gives nullopt
// or 0 as each function states.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace gemmpeak::stats {

double mean(std::span<const double> xs);               // 0 if empty
double median(std::span<const double> xs);             // mean of the middle two; 0 if empty
// Linear interpolation between order statistics (type 7 of Hyndman and Fan 1996); q in [0, 1].
double quantile(std::span<const double> xs, double q);
double minimum(std::span<const double> xs);            // 0 if empty
double maximum(std::span<const double> xs);
double geometric_mean(std::span<const double> xs);     // of positive values; 0 if empty
double standard_deviation(std::span<const double> xs);  // population (divides by n)
// Coefficient of variation: standard deviation / mean; 1 if the mean is 0.
double coefficient_of_variation(std::span<const double> xs);
// Median without the single lowest and highest from 5 values on.
double trimmed_median(std::span<const double> xs);
// (max - min) / median in percent; 0 if empty.
double spread_percent(std::span<const double> xs);
std::optional<double> median_or_none(std::span<const double> xs);
double median_absolute_deviation(std::span<const double> xs);

// M6: the last `window` values vary less than `max_cov` and their mean drifted less than `max_drift`
// against the mean of the `window` before.
bool plateaued(std::span<const double> history, int window, double max_cov, double max_drift);

}  // namespace gemmpeak::stats
