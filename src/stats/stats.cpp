#include "stats/stats.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace gemmpeak::stats {
namespace {

std::vector<double> sorted(std::span<const double> xs) {
  std::vector<double> out(xs.begin(), xs.end());
  std::sort(out.begin(), out.end());
  return out;
}

double median_of_sorted(std::span<const double> xs) {
  if (xs.empty()) return 0;
  const std::size_t middle = xs.size() / 2;
  return xs.size() % 2 != 0 ? xs[middle] : (xs[middle - 1] + xs[middle]) / 2;
}

}  // namespace

double mean(std::span<const double> xs) {
  if (xs.empty()) return 0;
  return std::accumulate(xs.begin(), xs.end(), 0.0) / static_cast<double>(xs.size());
}

double median(std::span<const double> xs) { return median_of_sorted(sorted(xs)); }

double quantile(std::span<const double> xs, double q) {
  if (xs.empty()) return 0;
  const std::vector<double> order = sorted(xs);
  const double position = std::clamp(q, 0.0, 1.0) * static_cast<double>(order.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  if (below + 1 >= order.size()) return order.back();
  return std::lerp(order[below], order[below + 1], position - static_cast<double>(below));
}

double minimum(std::span<const double> xs) {
  return xs.empty() ? 0 : *std::min_element(xs.begin(), xs.end());
}

double maximum(std::span<const double> xs) {
  return xs.empty() ? 0 : *std::max_element(xs.begin(), xs.end());
}

double geometric_mean(std::span<const double> xs) {
  if (xs.empty()) return 0;
  double logs = 0;
  for (const double x : xs) {
    if (!(x > 0)) return 0;  // the limit as any factor tends to zero; negatives have no such mean
    logs += std::log(x);
  }
  return std::exp(logs / static_cast<double>(xs.size()));
}

double standard_deviation(std::span<const double> xs) {
  if (xs.empty()) return 0;
  const double centre = mean(xs);
  double squares = 0;  // two passes: a sum of squares minus n times the mean squared cancels
  for (const double x : xs) squares += (x - centre) * (x - centre);
  return std::sqrt(squares / static_cast<double>(xs.size()));
}

double coefficient_of_variation(std::span<const double> xs) {
  const double centre = mean(xs);
  return centre == 0 ? 1 : standard_deviation(xs) / centre;
}

double trimmed_median(std::span<const double> xs) {
  const std::vector<double> order = sorted(xs);
  // Both ends go from 5 values on; in exact arithmetic that leaves the median where it was, and it
  // is kept as a step of its own because the reference takes it (F3).
  const std::span<const double> all(order);
  return median_of_sorted(order.size() >= 5 ? all.subspan(1, order.size() - 2) : all);
}

double spread_percent(std::span<const double> xs) {
  const double range = maximum(xs) - minimum(xs);
  if (range == 0) return 0;
  const double centre = median(xs);
  if (centre == 0) return std::numeric_limits<double>::infinity();
  return range / centre * 100;
}

std::optional<double> median_or_none(std::span<const double> xs) {
  if (xs.empty()) return std::nullopt;
  return median(xs);
}

double median_absolute_deviation(std::span<const double> xs) {
  const double centre = median(xs);
  std::vector<double> distances;
  distances.reserve(xs.size());
  for (const double x : xs) distances.push_back(std::abs(x - centre));
  return median(distances);
}

bool plateaued(std::span<const double> history, int window, double max_cov, double max_drift) {
  if (window <= 0) return false;
  const auto width = static_cast<std::size_t>(window);
  if (history.size() < 2 * width) return false;
  const auto recent = history.last(width);
  const double before = mean(history.last(2 * width).first(width));
  if (before == 0) return false;
  return coefficient_of_variation(recent) < max_cov &&
         std::abs(mean(recent) - before) / std::abs(before) < max_drift;
}

}  // namespace gemmpeak::stats
