#include "measure/trust.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gemmpeak::measure {
namespace {

// Marks and host may differ by 2 % (issue text), but not less than 300 us: enqueueing the first
// operation and waking up after the last cost the host tens to hundreds of microseconds.
constexpr double kHostTolerance = 0.02;
constexpr double kHostSlack_s = 300e-6;
// A rate this much above units x flop per clock x clock is impossible; 1 % is what the clock's
// steps and the resolution of marks can hide.
constexpr double kPeakTolerance = 1.01;
// Counters are read over at least this long.
constexpr double kEnergySpan_s = 1.0;

bool differs(const Evidence& e) {
  const double difference = std::abs(e.span_s - e.host_s);
  return difference > kHostSlack_s && difference > kHostTolerance * std::max(e.span_s, e.host_s);
}

}  // namespace

std::optional<double> highest_clock_mhz(const WindowFacts& window) {
  std::optional<double> out = window.sensors.clock_max_mhz;
  if (window.device_clock_mhz && window.device_clock_precise)
    out = std::max(out.value_or(0), *window.device_clock_mhz);
  return out;
}

bool host_was_late(const Evidence& evidence) {
  return evidence.judge_host && evidence.marks_in_order && differs(evidence) &&
         evidence.host_s > evidence.span_s;
}

std::optional<std::string> distrust(const DeviceInfo& device, DType dtype,
                                    const WindowFacts& window, const Evidence& evidence) {
  if (!evidence.marks_in_order)
    return "the device's marks are out of order or a product took no time";
  if (evidence.judge_host && differs(evidence))
    return fmt::format(
        "the device's marks span {:.3f} ms and the host's clock {:.3f} ms: they differ by more "
        "than "
        "2 %",
        evidence.span_s * 1e3, evidence.host_s * 1e3);
  const auto clock = highest_clock_mhz(window);
  if (!clock) return std::nullopt;
  const auto peak = peak_flop_per_s(device, dtype, *clock);
  if (peak && evidence.fastest_flop_per_s > kPeakTolerance * *peak)
    return fmt::format(
        "{:.1f} TFLOPS is more than the {:.1f} that {} units can do at the measured {:.0f} MHz",
        evidence.fastest_flop_per_s / 1e12, *peak / 1e12, device.units, *clock);
  return std::nullopt;
}

std::optional<EnergyStep> energy_between_steps(const std::vector<Reading>& readings) {
  const Reading* previous = nullptr;
  const Reading* first = nullptr;
  const Reading* last = nullptr;
  for (const Reading& reading : readings) {
    if (!reading.energy_j) continue;
    if (previous != nullptr && *reading.energy_j < *previous->energy_j)
      return std::nullopt;  // reset
    if (previous != nullptr && *reading.energy_j > *previous->energy_j) {
      if (first == nullptr) first = &reading;
      last = &reading;
    }
    previous = &reading;
  }
  if (first == nullptr || last->t_s - first->t_s < kEnergySpan_s) return std::nullopt;
  return EnergyStep{*last->energy_j - *first->energy_j, last->t_s - first->t_s};
}

}  // namespace gemmpeak::measure
