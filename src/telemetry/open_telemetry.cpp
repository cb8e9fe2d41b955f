// Which sensors belong to which device, and the telemetry of a device that has none.
#include <utility>

#include "telemetry/nvml_telemetry.hpp"
#include "telemetry/rapl_telemetry.hpp"
#include "telemetry/telemetry.hpp"

namespace gemmpeak {
namespace {

class NoTelemetry : public Telemetry {
 public:
  explicit NoTelemetry(std::string why) {
    info_.backend = "none";
    info_.missing["power"] = why;
    info_.missing["clock"] = std::move(why);
  }
  const TelemetryInfo& info() const override { return info_; }
  Reading read(bool) override { return {}; }
  std::optional<std::string> problem() override { return info_.missing.at("power"); }

 private:
  TelemetryInfo info_;
};

}  // namespace

Result<std::unique_ptr<Telemetry>> open_telemetry(const TelemetryRequest& request) {
  const std::string& backend = request.device.backend;
  if (backend == "cuda") return open_nvml(request);
  if (backend == "cpu") return open_rapl(RaplOptions{request.sysfs_root, request.cpus, {}});
  return std::unique_ptr<Telemetry>(
      std::make_unique<NoTelemetry>("no telemetry is known for backend '" + backend + "'"));
}

}  // namespace gemmpeak
