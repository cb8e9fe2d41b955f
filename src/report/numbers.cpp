// How numbers are rounded for people; the JSON document keeps them whole.
#include <fmt/format.h>

#include <cmath>

#include "report/report.hpp"
#include "search/selection.hpp"

namespace gemmpeak::report {
namespace {

// From here on a rate is read in whole TFLOPS (the reference's integers); below, digits matter.
constexpr double kWholeFrom = 10.0;

std::string three_digits(double value) {
  if (value <= 0) return "0";
  const int magnitude = static_cast<int>(std::floor(std::log10(value)));
  return fmt::format("{:.{}f}", value, std::max(0, 2 - magnitude));
}

}  // namespace

std::string rate_text(double tflops) {
  return tflops >= kWholeFrom ? fmt::format("{:.1f}", tflops) : three_digits(tflops);
}

std::string headline_rate_text(double tflops) {
  return tflops >= kWholeFrom ? std::to_string(search::round_tflops(tflops)) : three_digits(tflops);
}

std::string bytes_text(std::int64_t bytes) {
  constexpr double kKiB = 1024.0;
  const double value = static_cast<double>(bytes);
  if (value >= kKiB * kKiB * kKiB) return fmt::format("{:.1f} GiB", value / (kKiB * kKiB * kKiB));
  if (value >= kKiB * kKiB) return fmt::format("{:.0f} MiB", value / (kKiB * kKiB));
  return fmt::format("{:.0f} KiB", value / kKiB);
}

}  // namespace gemmpeak::report
