// Telemetry: the sensors of one device (power, clock, temperature, energy, throttle reasons), and
// Sampler, which reads them in the background over a window. Used by measure and app; implemented
// per vendor in this room (nvml, rapl/cpufreq) and by simulated devices.
// It refuses to invent: a sensor that is missing or fails leaves its field empty and says why once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/device_info.hpp"
#include "model/reading.hpp"

namespace gemmpeak {

struct TelemetryInfo {
  std::string backend;          // "nvml", "rapl", "sim", "none"
  bool validated = false;       // power may exclude shapes (SUSPECT rule)
  bool required = false;        // accelerators: the run is refused without power and clock (T2)
  std::string power_source;     // "instantaneous, GPU scope (field 186)"
  std::string clock_source;
  std::optional<double> rated_clock_mhz;
  std::optional<double> power_limit_w;
  std::optional<double> default_power_limit_w;
  double power_refresh_s = 0;   // measured interval between distinct values; 0: unknown
  std::map<std::string, std::string> facts;  // driver, VBIOS, ECC, MIG, persistence, locked clocks
  std::map<std::string, std::string> missing;  // sensor -> why it cannot be read
};

// A neighbour on the same board, for the idle-sibling note (T5).
struct Sibling {
  int index = 0;
  int utilisation_percent = 0;
};

class Telemetry {
 public:
  virtual ~Telemetry() = default;
  virtual const TelemetryInfo& info() const = 0;
  // One reading now; t_s is left for the caller. `light`: power and clock only. Energy may be left
  // out of readings in which the counter cannot have stepped; power of a CPU where it is too early.
  virtual Reading read(bool light) = 0;
  // Power, clock: nothing if readable, else the reason. Run once at start (T2).
  virtual std::optional<std::string> problem() = 0;
  // Cumulative throttle seconds by cause, empty where unreadable.
  virtual std::map<std::string, double> throttle_seconds() { return {}; }
  virtual std::vector<Sibling> idle_siblings(int /*below_percent*/) { return {}; }
  // Devices with virtual time answer for a past window at once instead of being sampled by a thread.
  virtual bool is_virtual() const { return false; }
  virtual std::vector<Reading> history(double /*from_s*/, double /*to_s*/, double /*period_s*/) {
    return {};
  }
};

// Reads a Telemetry every `period_s` from start() to stop(). Thread-safe against the measuring thread.
// With a virtual telemetry no thread runs: stop() asks history().
class Sampler {
 public:
  // `now_s`: the device's clock (Device::now_s). Null telemetry: always empty readings.
  Sampler(Telemetry* telemetry, std::function<double()> now_s);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  void start(double period_s, bool light);
  std::vector<Reading> stop();  // in time order
 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Samples idle_siblings() every 0.5 s; finish() gives index -> share of samples idle (T5).
class SiblingWatch {
 public:
  explicit SiblingWatch(Telemetry* telemetry);
  ~SiblingWatch();
  std::map<int, double> finish();
 private:
  struct State;
  std::unique_ptr<State> state_;
};

// How the device's sensors are found.
struct TelemetryRequest {
  DeviceInfo device;
  std::string nvml_library = "libnvidia-ml.so.1";  // tests put a scripted library here
  std::string sysfs_root = "/";  // above sys/ and proc/ for the CPU's sensors; tests fake it
  std::vector<int> cpus;         // CPUs whose clock counts; empty: those this process may run on
};

// The sensors of `request.device`: NVML by UUID or PCI id for cuda devices, RAPL and cpufreq for the
// CPU, a "none" telemetry elsewhere. An error says why NVML could not serve and how to fix it.
Result<std::unique_ptr<Telemetry>> open_telemetry(const TelemetryRequest& request);

}  // namespace gemmpeak
