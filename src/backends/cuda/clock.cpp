#include "backends/cuda/clock.hpp"

#include <algorithm>
#include <map>

namespace gemmpeak::cuda {
namespace {

// Windows shorter than this many steps of the timer are not called precise (error over 0.1 %).
constexpr double kPreciseSteps = 1000;

std::map<std::uint32_t, const StampRecord*> by_multiprocessor(const std::vector<StampRecord>& all) {
  std::map<std::uint32_t, const StampRecord*> first;
  for (const StampRecord& record : all) first.emplace(record.sm, &record);
  return first;
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

DeviceClock clock_from(const std::vector<StampRecord>& from, const std::vector<StampRecord>& to,
                       std::uint64_t timer_step_ns) {
  const auto begin = by_multiprocessor(from);
  const auto end = by_multiprocessor(to);
  std::vector<double> mhz;
  std::vector<double> window_ns;
  for (const auto& [sm, first] : begin) {
    const auto other = end.find(sm);
    if (other == end.end()) continue;
    const StampRecord& last = *other->second;
    if (last.nanoseconds <= first->nanoseconds || last.cycles <= first->cycles) continue;
    const double ns = static_cast<double>(last.nanoseconds - first->nanoseconds);
    mhz.push_back(static_cast<double>(last.cycles - first->cycles) / ns * 1e3);
    window_ns.push_back(ns);
  }
  DeviceClock clock;
  if (mhz.empty()) return clock;
  clock.mhz = median(mhz);
  const double ns = median(window_ns);
  clock.window_s = ns * 1e-9;
  clock.precise = timer_step_ns > 0 && ns >= kPreciseSteps * static_cast<double>(timer_step_ns);
  return clock;
}

}  // namespace gemmpeak::cuda
