#include <algorithm>

#include "backends/sim/sim_shared.hpp"

namespace gemmpeak::sim {
namespace {

class SimTelemetry : public Telemetry {
 public:
  explicit SimTelemetry(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {
    const SimSpec& spec = shared_->spec();
    info_.backend = "sim";
    info_.validated = true;
    if (spec.power_sensor) {
      info_.power_source = "simulated, mean of the last " +
                           std::to_string(static_cast<int>(spec.power_refresh_s * 1e3 + 0.5)) +
                           " ms";
      info_.power_refresh_s = spec.power_refresh_s;
    } else {
      info_.missing["power"] = "the simulated device has no power sensor";
    }
    if (spec.clock_sensor)
      info_.clock_source = "simulated";
    else
      info_.missing["clock"] = "the simulated device has no clock sensor";
    if (!spec.energy_counter) info_.missing["energy"] = "the simulated device counts no energy";
    info_.rated_clock_mhz = spec.info.rated_clock_mhz;
    info_.power_limit_w = spec.power_cap_w;
    info_.default_power_limit_w = spec.default_power_cap_w;
    info_.facts["simulated"] = "yes";
  }
  const TelemetryInfo& info() const override { return info_; }
  Reading read(bool light) override {
    Reading out = shared_->machine.reading(shared_->machine.host_s());
    if (light) {
      out.temperature_c.reset();
      out.energy_j.reset();
      out.reasons.reset();
    }
    return out;
  }
  std::optional<std::string> problem() override {
    const Reading now = read(true);
    if (!now.power_w) return "power cannot be read: the simulated sensor is missing or has failed";
    if (!now.clock_mhz)
      return "the clock cannot be read: the simulated sensor is missing or has failed";
    return std::nullopt;
  }
  std::vector<Sibling> idle_siblings(int below_percent) override {
    std::vector<Sibling> out;
    for (const Sibling& sibling : shared_->spec().siblings)
      if (sibling.utilisation_percent < below_percent) out.push_back(sibling);
    return out;
  }
  bool is_virtual() const override { return true; }
  std::vector<Reading> history(double from_s, double to_s, double period_s) override {
    std::vector<Reading> out;
    const double step = std::max(period_s, 1e-4);
    for (double t = from_s; t <= to_s; t += step) out.push_back(shared_->machine.reading(t));
    return out;
  }

 private:
  std::shared_ptr<Shared> shared_;
  TelemetryInfo info_;
};

}  // namespace

std::unique_ptr<Telemetry> make_sim_telemetry(std::shared_ptr<Shared> shared) {
  return std::make_unique<SimTelemetry>(std::move(shared));
}

}  // namespace gemmpeak::sim
