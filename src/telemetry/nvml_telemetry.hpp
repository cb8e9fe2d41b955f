// Telemetry of one NVIDIA GPU through NVML. Used by open_telemetry. It refuses to open where NVML
// cannot serve at all (the Error has the reason and the fix); a sensor that alone is missing is
// named in info().missing, and one that fails later is left empty from then on.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "telemetry/telemetry.hpp"

namespace gemmpeak {

Result<std::unique_ptr<Telemetry>> open_nvml(const TelemetryRequest& request);

}  // namespace gemmpeak
