// Telemetry of the CPU: package energy by RAPL (powercap; Intel and AMD), the cores' clock by
// cpufreq, temperature by thermal zones or hwmon. Used by open_telemetry. It refuses to pass
// /proc/cpuinfo's "cpu MHz" off as a clock: without cpufreq that is the constant found at boot.
// Nothing of it is required, and it never excludes a shape: info().missing says what is not there.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "telemetry/telemetry.hpp"

namespace gemmpeak {

struct RaplOptions {
  std::string root = "/";
  std::vector<int> cpus;          // empty: the process's affinity
  std::function<double()> now_s;  // null: the host's steady clock
};

std::unique_ptr<Telemetry> open_rapl(const RaplOptions& options);

}  // namespace gemmpeak
