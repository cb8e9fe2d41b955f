// Trust: whether a timed window can be believed. Used by Bench after every loop; pure functions on
// numbers. It refuses to judge what it has no evidence for: without a clock no rate is impossible.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/device_info.hpp"
#include "model/reading.hpp"
#include "model/sample.hpp"

namespace gemmpeak::measure {

struct Evidence {
  double span_s = 0;  // by marks
  double host_s = 0;  // by the host's clock
  bool judge_host = true;
  bool marks_in_order = true;  // each mark after the one before, each product longer than nothing
  double fastest_flop_per_s = 0;  // of one product or chunk
};

// The window's highest clock: sensor, or the device's own where its window was long enough.
std::optional<double> highest_clock_mhz(const WindowFacts& window);
// True where the host waited longer than the marks account for; the host may just have been late.
bool host_was_late(const Evidence& evidence);
// Why the window cannot be believed, or nothing.
std::optional<std::string> distrust(const DeviceInfo& device, DType dtype,
                                    const WindowFacts& window, const Evidence& evidence);

// Energy between the first and the last step of the counter that the readings show: counters step
// about every 100 ms, so that the difference of two arbitrary readings is a step too long or short.
struct EnergyStep {
  double joules = 0;
  double span_s = 0;
};
std::optional<EnergyStep> energy_between_steps(const std::vector<Reading>& readings);

}  // namespace gemmpeak::measure
