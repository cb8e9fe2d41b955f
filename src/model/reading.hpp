// Reading: one look at a device's sensors, and the names of the throttle bits. Used by telemetry,
// measure and reports. An empty field means the sensor is missing, not zero.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gemmpeak {

struct Reading {
  double t_s = 0;  // on the device's clock (Device::now_s)
  std::optional<double> power_w;
  std::optional<double> clock_mhz;
  std::optional<double> temperature_c;
  std::optional<double> energy_j;       // cumulative counter
  std::optional<std::uint64_t> reasons;  // clocks-event bits, NVML's numbering
};

// NVML's clocks-event bits: 0x1 idle, 0x2 application clocks, 0x4 software power cap, 0x8 hardware
// slowdown, 0x10 sync boost, 0x20 software thermal, 0x40 hardware thermal, 0x80 power brake,
// 0x100 display. Names of the set bits; unknown ones as "bit 0x...".
std::vector<std::string> throttle_names(std::uint64_t reasons);

}  // namespace gemmpeak
