#include "telemetry/nvml_telemetry.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>

#include "telemetry/info_board.hpp"
#include "telemetry/nvml_device.hpp"
#include "telemetry/nvml_library.hpp"
#include "telemetry/sensor.hpp"

namespace gemmpeak {
namespace {

using namespace nvml;

// A100 and H100 sensors give a new value every 100 ms (arXiv 2312.02741); taken until measured.
constexpr double kAssumedRefresh_s = 0.1;
// nvmlDeviceGetPowerUsage averages over this on Ampere (except GA100) and newer (nvml.h).
constexpr double kAveragingWindow_s = 1.0;
// No GPU draws more; a larger value is a garbled one. 1 MW in watts.
constexpr double kHighestPower_w = 1e6;

double host_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Error implausible(const char* api, double value) {
  return Error{api, 0, fmt::format("answered {}, which no GPU can have", value)};
}

Result<double> instant_power_w(const Nvml& nvml, Device device) {
  auto mw = nvml.field(device, kFieldPowerInstant, kScopeGpu);
  if (!mw) return mw.error();
  const double w = *mw / 1e3;
  if (!(w > 0) || w > kHighestPower_w) return implausible("power field 186", w);
  return w;
}

Result<double> usage_power_w(const Nvml& nvml, Device device) {
  unsigned mw = 0;
  const int code = Nvml::call(nvml.fn().power_usage, device, &mw);
  if (code != kSuccess) return nvml.error("nvmlDeviceGetPowerUsage", code);
  const double w = mw / 1e3;
  if (!(w > 0) || w > kHighestPower_w) return implausible("nvmlDeviceGetPowerUsage", w);
  return w;
}

Result<double> sm_clock_mhz(const Nvml& nvml, Device device) {
  unsigned mhz = 0;
  const int code = Nvml::call(nvml.fn().clock, device, kClockSm, &mhz);
  if (code != kSuccess) return nvml.error("nvmlDeviceGetClockInfo", code);
  // 0, or all ones ("not available").
  if (mhz == 0 || mhz > 100000) return implausible("nvmlDeviceGetClockInfo", mhz);
  return static_cast<double>(mhz);
}

Result<double> temperature_c(const Nvml& nvml, Device device) {
  unsigned degrees = 0;
  const int code = Nvml::call(nvml.fn().temperature, device, kTemperatureGpu, &degrees);
  if (code != kSuccess) return nvml.error("nvmlDeviceGetTemperature", code);
  if (degrees > 1000) return implausible("nvmlDeviceGetTemperature", degrees);
  return static_cast<double>(degrees);
}

Result<double> energy_j(const Nvml& nvml, Device device) {
  unsigned long long mj = 0;
  const int code = Nvml::call(nvml.fn().total_energy, device, &mj);
  if (code != kSuccess) return nvml.error("nvmlDeviceGetTotalEnergyConsumption", code);
  if (mj == std::numeric_limits<unsigned long long>::max())
    return implausible("nvmlDeviceGetTotalEnergyConsumption", static_cast<double>(mj));
  return static_cast<double>(mj) / 1e3;
}

Result<std::uint64_t> reason_bits(const Nvml& nvml, Device device) {
  unsigned long long bits = 0;
  const int code = Nvml::call(nvml.fn().reasons, device, &bits);
  if (code != kSuccess) return nvml.error("nvmlDeviceGetCurrentClocksEventReasons", code);
  return static_cast<std::uint64_t>(bits);
}

template <class T>
struct Sensor {
  const char* name = "";
  Result<T> (*ask)(const Nvml&, Device) = nullptr;
  Device device = nullptr;
  SensorHealth health;
};

// One cumulative throttle counter, in seconds.
struct ThrottleCounter {
  const char* cause = "";  // throttle_names' words
  unsigned field = 0;      // 0: by the violation status
  int policy = 0;
};

bool counter_readable(const Nvml& nvml, Device device, unsigned field) {
  return nvml.counter_field(device, field).ok();
}

std::vector<ThrottleCounter> find_throttle_counters(const Nvml& nvml, Device device) {
  std::vector<ThrottleCounter> out;
  const auto add = [&](const char* cause, unsigned field, int policy) {
    if (counter_readable(nvml, device, field))
      out.push_back({cause, field, policy});
    else if (Nvml::get<ViolationTime>(nvml.fn().violation, device, policy))
      out.push_back({cause, 0, policy});
  };
  add("power cap", kFieldPowerCapTime, kPolicyPower);
  add("sync boost", kFieldSyncBoostTime, kPolicySyncBoost);
  // All three, as 64-bit counters: in the other numbering these ids are power-smoothing settings.
  for (const unsigned first : {kFieldThermalTimesNew, kFieldThermalTimesOld}) {
    if (!counter_readable(nvml, device, first) || !counter_readable(nvml, device, first + 1) ||
        !counter_readable(nvml, device, first + 2))
      continue;
    out.push_back({"software thermal", first, kPolicyThermal});
    out.push_back({"hardware thermal", first + 1, kPolicyThermal});
    out.push_back({"power brake", first + 2, kPolicyPower});
    return out;
  }
  // The violation status knows one thermal cause only.
  if (Nvml::get<ViolationTime>(nvml.fn().violation, device, kPolicyThermal))
    out.push_back({"thermal", 0, kPolicyThermal});
  return out;
}

class NvmlTelemetry : public Telemetry {
 public:
  NvmlTelemetry(std::shared_ptr<const Nvml> nvml, NvmlDevice device)
      : nvml_(std::move(nvml)), device_(std::move(device)) {
    board_.update([this](TelemetryInfo& info) { describe(info); });
    counters_ = find_throttle_counters(*nvml_, device_.card);
  }

  const TelemetryInfo& info() const override { return board_.get(); }

  Reading read(bool light) override {
    const std::lock_guard<std::mutex> lock(read_mutex_);
    Reading out;
    out.power_w = sample(power_);
    out.clock_mhz = sample(clock_);
    if (out.power_w && instantaneous_) note_refresh(*out.power_w);
    if (light) return out;
    out.temperature_c = sample(temperature_);
    if (const double t_s = host_s(); energy_pacer_.due(t_s)) {
      out.energy_j = sample(energy_);
      if (out.energy_j) energy_pacer_.note(t_s, *out.energy_j);
    }
    out.reasons = sample(reasons_);
    return out;
  }

  std::optional<std::string> problem() override {
    const Reading now = read(true);
    std::string out;
    const auto& missing = info().missing;
    for (const auto& [name, value] :
         {std::pair{"power", now.power_w}, std::pair{"clock", now.clock_mhz}}) {
      if (value) continue;
      const auto why = missing.find(name);
      if (!out.empty()) out += "; ";
      out += fmt::format("{} cannot be read ({})", name,
                         why != missing.end() ? why->second : "NVML gave no answer just now");
    }
    if (out.empty()) return std::nullopt;
    return out;
  }

  std::map<std::string, double> throttle_seconds() override {
    std::map<std::string, double> out;
    for (const ThrottleCounter& counter : counters_) {
      std::optional<double> ns;
      if (counter.field != 0) {
        if (auto value = nvml_->counter_field(device_.card, counter.field)) ns = *value;
      } else if (const auto time = Nvml::get<ViolationTime>(nvml_->fn().violation, device_.card,
                                                            counter.policy)) {
        ns = static_cast<double>(time->violation_ns);
      }
      if (ns) out[counter.cause] = *ns / 1e9;
    }
    return out;
  }

  std::vector<Sibling> idle_siblings(int below_percent) override {
    const std::lock_guard<std::mutex> lock(sibling_mutex_);
    // The board does not change in a run; looked up late, because it asks up to 36 links of each
    // GPU.
    if (!neighbours_) neighbours_ = nvml_board_neighbours(*nvml_, device_.card);
    std::vector<Sibling> out;
    for (const NvmlNeighbour& neighbour : *neighbours_) {
      const auto use = Nvml::get<Utilization>(nvml_->fn().utilization, neighbour.handle);
      // A utilisation over 100 is no answer, and no answer is not idleness.
      if (!use || use->gpu > 100 || static_cast<int>(use->gpu) >= below_percent) continue;
      out.push_back({neighbour.index, static_cast<int>(use->gpu)});
    }
    return out;
  }

 private:
  // Finds out what answers. A MIG slice refuses most questions; the card's answer then stands for
  // it.
  template <class T>
  std::optional<Error> start(Sensor<T>& sensor, const char* name,
                             Result<T> (*ask)(const Nvml&, Device)) {
    sensor.name = name;
    sensor.ask = ask;
    std::optional<Error> failed;
    for (const Device handle : {device_.identity, device_.card}) {
      auto value = ask(*nvml_, handle);
      if (value) {
        sensor.device = handle;
        sensor.health.start();
        return std::nullopt;
      }
      failed = value.error();  // the card's reason is the one that counts
      if (device_.card == device_.identity) break;
    }
    return failed;
  }

  template <class T>
  std::optional<T> sample(Sensor<T>& sensor) {
    if (!sensor.health.alive()) return std::nullopt;
    auto value = sensor.ask(*nvml_, sensor.device);
    if (value) {
      sensor.health.answered();
      return *value;
    }
    if (sensor.health.failed(nvml_is_final(value.error().code)))
      board_.update([&](TelemetryInfo& info) {
        info.missing[sensor.name] = "failed during the run: " + value.error().message();
      });
    return std::nullopt;
  }

  void describe(TelemetryInfo& info) {
    info.backend = "nvml";
    info.required = true;
    info.validated = !device_.mig;
    info.facts = nvml_facts(*nvml_, device_);
    describe_power(info);
    const auto report = [&info](const char* name, const std::optional<Error>& failed) {
      if (failed) info.missing[name] = failed->message();
    };
    const auto no_clock = start(clock_, "clock", sm_clock_mhz);
    report("clock", no_clock);
    if (!no_clock) info.clock_source = "SM clock (nvmlDeviceGetClockInfo)";
    report("temperature", start(temperature_, "temperature", temperature_c));
    report("energy", start(energy_, "energy", energy_j));
    report("throttle reasons", start(reasons_, "throttle reasons", reason_bits));
    if (const auto rated = Nvml::get<unsigned>(nvml_->fn().max_clock, device_.card, kClockSm);
        rated && *rated > 0)
      info.rated_clock_mhz = *rated;
    else
      info.missing["rated clock"] = "nvmlDeviceGetMaxClockInfo gives none";
    describe_limits(info);
    if (device_.mig)
      info.facts["power scope"] =
          "the whole card's, other slices included, so it excludes no shape (MIG)";
  }

  void describe_power(TelemetryInfo& info) {
    const auto no_instant = start(power_, "power", instant_power_w);
    instantaneous_ = !no_instant;
    if (instantaneous_) {
      info.power_refresh_s = kAssumedRefresh_s;
      info.power_source = fmt::format(
          "instantaneous, GPU scope (field {}), refreshed about every {:.0f} ms (assumed)",
          kFieldPowerInstant, kAssumedRefresh_s * 1e3);
      return;
    }
    const auto no_usage = start(power_, "power", usage_power_w);
    if (no_usage) {
      info.missing["power"] = no_usage->message();
      return;
    }
    if (usage_is_averaged(info)) {
      info.power_refresh_s = kAveragingWindow_s;
      info.power_source =
          fmt::format("1 s average (nvmlDeviceGetPowerUsage; {})", no_instant->message());
    } else {
      info.power_source = fmt::format(
          "nvmlDeviceGetPowerUsage, not averaged on this architecture ({})", no_instant->message());
    }
  }

  // nvml.h: "On Ampere (except GA100) or newer GPUs, the API returns power averaged over 1 sec".
  // An architecture that is not known is taken as a newer one.
  bool usage_is_averaged(const TelemetryInfo& info) const {
    const unsigned architecture =
        Nvml::get<unsigned>(nvml_->fn().architecture, device_.card).value_or(kArchitectureUnknown);
    if (architecture < kArchitectureAmpere) return false;
    // GA100's device ids are 20xx (A100, A800, A30), vendor 10de.
    const auto id = info.facts.find("PCI device id");
    const bool ga100 = id != info.facts.end() && id->second.starts_with("10de:20");
    return !(architecture == kArchitectureAmpere && ga100);
  }

  void describe_limits(TelemetryInfo& info) {
    const auto& fn = nvml_->fn();
    const auto watts = [this](auto function) -> std::optional<double> {
      const auto mw = Nvml::get<unsigned>(function, device_.card);
      if (!mw || *mw == 0 || *mw == std::numeric_limits<unsigned>::max()) return std::nullopt;
      return *mw / 1e3;
    };
    // The enforced limit is the lowest of all that apply (nvidia-smi's and out of band).
    const auto set = watts(fn.power_limit);
    info.power_limit_w = watts(fn.enforced_power_limit);
    if (!info.power_limit_w) info.power_limit_w = set;
    info.default_power_limit_w = watts(fn.default_power_limit);
    if (!info.power_limit_w) return;
    std::string line = fmt::format("{:.0f} W", *info.power_limit_w);
    if (info.default_power_limit_w)
      line += fmt::format(" (default {:.0f} W)", *info.default_power_limit_w);
    if (set && *set != *info.power_limit_w)
      line += fmt::format("; {:.0f} W was asked for, a lower limit is enforced", *set);
    info.facts["power limit"] = line;
  }

  void note_refresh(double power_w) {
    if (!refresh_.note(host_s(), power_w)) return;
    const double interval_s = *refresh_.interval_s();
    board_.update([&](TelemetryInfo& info) {
      info.power_refresh_s = interval_s;
      info.power_source =
          fmt::format("instantaneous, GPU scope (field {}), refreshed every {:.0f} ms (measured)",
                      kFieldPowerInstant, interval_s * 1e3);
    });
  }

  const std::shared_ptr<const Nvml> nvml_;
  const NvmlDevice device_;
  std::vector<ThrottleCounter> counters_;
  InfoBoard board_;
  bool instantaneous_ = false;

  std::mutex read_mutex_;  // the sensors' health and their timing
  Sensor<double> power_;
  Sensor<double> clock_;
  Sensor<double> temperature_;
  Sensor<double> energy_;
  Sensor<std::uint64_t> reasons_;
  RefreshMeter refresh_;
  StepPacer energy_pacer_;

  std::mutex sibling_mutex_;
  std::optional<std::vector<NvmlNeighbour>> neighbours_;
};

}  // namespace

Result<std::unique_ptr<Telemetry>> open_nvml(const TelemetryRequest& request) {
  auto nvml = Nvml::open(request.nvml_library);
  if (!nvml) return nvml.error();
  auto device = find_nvml_device(**nvml, request.device);
  if (!device) return device.error();
  return std::unique_ptr<Telemetry>(
      std::make_unique<NvmlTelemetry>(std::move(*nvml), std::move(*device)));
}

}  // namespace gemmpeak
