#include "telemetry/rapl_telemetry.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <utility>

#include "telemetry/info_board.hpp"
#include "telemetry/rapl_energy.hpp"
#include "telemetry/sensor.hpp"
#include "telemetry/sysfs_number.hpp"

namespace gemmpeak {
namespace {

namespace fs = std::filesystem;

// The counter steps about every millisecond: 5 ms keeps that step under a fifth of the difference.
constexpr double kShortest_s = 0.005;
// A difference over more than this spans the time between two windows.
constexpr double kLongest_s = 0.5;
// Each CPU's file costs some microseconds, and the cores of one package follow one another.
constexpr std::size_t kMostCpus = 16;

double host_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<int> affinity() {
  std::vector<int> out;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return out;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) out.push_back(i);
  return out;
}

// At most kMostCpus of them, evenly spaced.
std::vector<int> thinned(const std::vector<int>& cpus) {
  if (cpus.size() <= kMostCpus) return cpus;
  std::vector<int> out;
  for (std::size_t i = 0; i < kMostCpus; ++i) out.push_back(cpus[i * cpus.size() / kMostCpus]);
  return out;
}

std::string cpufreq_folder(const std::string& root, int cpu) {
  return (fs::path(root) / fmt::format("sys/devices/system/cpu/cpu{}/cpufreq", cpu)).string();
}

// Mean of the sensors' values, times `scale`. One that fails fails the mean.
Result<double> mean_of(const std::vector<SysfsNumber>& files, double scale) {
  double sum = 0;
  for (const SysfsNumber& file : files) {
    auto value = file.read();
    if (!value) return value.error();
    sum += *value;
  }
  return sum / static_cast<double>(files.size()) * scale;
}

Result<double> highest_of(const std::vector<SysfsNumber>& files, double scale) {
  double highest = -1e9;
  for (const SysfsNumber& file : files) {
    auto value = file.read();
    if (!value) return value.error();
    highest = std::max(highest, *value);
  }
  return highest * scale;
}

// Package temperatures: thermal zones of type x86_pkg_temp, else hwmon's coretemp, k10temp and
// zenpower (their temp1 is the package, Tctl on AMD). Millidegrees.
std::vector<SysfsNumber> temperature_files(const std::string& root) {
  std::vector<SysfsNumber> out;
  const auto collect = [&out, &root](const char* folder, const char* label, const char* value,
                                     auto wanted) {
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(fs::path(root) / folder, code)) {
      if (!wanted(read_sysfs_line(entry.path() / label))) continue;
      auto file = SysfsNumber::open(entry.path() / value);
      if (file && file->read()) out.push_back(std::move(*file));
    }
  };
  collect("sys/class/thermal", "type", "temp",
          [](const std::string& type) { return type == "x86_pkg_temp"; });
  if (out.empty())
    collect("sys/class/hwmon", "name", "temp1_input", [](const std::string& name) {
      return name == "coretemp" || name == "k10temp" || name == "zenpower";
    });
  return out;
}

class RaplTelemetry : public Telemetry {
 public:
  explicit RaplTelemetry(const RaplOptions& options)
      : root_(options.root), now_s_(options.now_s ? options.now_s : host_s) {
    const std::vector<int> cpus = options.cpus.empty() ? affinity() : options.cpus;
    board_.update([&](TelemetryInfo& info) {
      start_power(info);
      start_clock(info, cpus);
      start_temperature(info);
      info.missing["throttle reasons"] = "CPUs report none";
      info.backend = power_.alive() || clock_.alive() ? "rapl" : "none";
    });
  }

  const TelemetryInfo& info() const override { return board_.get(); }

  Reading read(bool light) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    Reading out;
    read_power(light, out);
    if (clock_.alive()) out.clock_mhz = keep(clock_, "clock", mean_of(clock_files_, 1e-3));  // kHz
    if (!light && temperature_.alive())
      out.temperature_c = keep(temperature_, "temperature", highest_of(temperature_files_, 1e-3));
    return out;
  }

  std::optional<std::string> problem() override {
    (void)read(true);
    const std::lock_guard<std::mutex> lock(mutex_);
    std::string out;
    for (const auto& [name, health] : {std::pair{"power", &power_}, std::pair{"clock", &clock_}}) {
      if (health->alive()) continue;
      if (!out.empty()) out += "; ";
      out += fmt::format("{} cannot be read ({})", name, info().missing.at(name));
    }
    if (out.empty()) return std::nullopt;
    return out;
  }

 private:
  void start_power(TelemetryInfo& info) {
    base_s_ = now_s_();
    auto energy = RaplEnergy::open(root_, base_s_);
    if (!energy) {
      info.missing["power"] = info.missing["energy"] = energy.error().message();
      return;
    }
    energy_.emplace(std::move(*energy));
    power_.start();
    info.power_refresh_s = kShortest_s;
    info.power_source =
        fmt::format("RAPL, {} package{}, memory not included, from energy over at least {:.0f} ms",
                    energy_->packages(), energy_->packages() == 1 ? "" : "s", kShortest_s * 1e3);
  }

  void start_clock(TelemetryInfo& info, const std::vector<int>& cpus) {
    std::string why = "no CPU to ask";
    for (const int cpu : thinned(cpus)) {
      auto file = SysfsNumber::open(cpufreq_folder(root_, cpu) + "/scaling_cur_freq");
      if (file && file->read()) {
        clock_files_.push_back(std::move(*file));
        continue;
      }
      clock_files_.clear();
      why = fmt::format(
          "cpufreq is not there (cpu{} has no scaling_cur_freq), and /proc/cpuinfo's MHz is then "
          "the "
          "constant found at boot, not a clock; in a virtual machine nothing else shows it",
          cpu);
      break;
    }
    if (clock_files_.empty()) {
      info.missing["clock"] = why;
      return;
    }
    clock_.start();
    const std::string folder = cpufreq_folder(root_, cpus.front());
    const std::string driver = read_sysfs_line(folder + "/scaling_driver");
    info.clock_source =
        fmt::format("cpufreq{}, mean of {} of {} CPUs", driver.empty() ? "" : " (" + driver + ")",
                    clock_files_.size(), cpus.size());
    if (auto rated = read_sysfs_number(folder + "/cpuinfo_max_freq"); rated && *rated > 0)
      info.rated_clock_mhz = *rated / 1e3;  // kHz; the single-core turbo
    for (const auto& [fact, file] :
         {std::pair{"cpufreq driver", "scaling_driver"}, std::pair{"governor", "scaling_governor"},
          std::pair{"energy preference", "energy_performance_preference"}}) {
      if (const std::string line = read_sysfs_line(folder + "/" + file); !line.empty())
        info.facts[fact] = line;
    }
  }

  void start_temperature(TelemetryInfo& info) {
    temperature_files_ = temperature_files(root_);
    if (temperature_files_.empty())
      info.missing["temperature"] = "no package sensor among the thermal zones and hwmon";
    else
      temperature_.start();
  }

  void read_power(bool light, Reading& out) {
    if (!power_.alive()) return;
    const double now = now_s_();
    const double span_s = now - base_s_;
    if (light && span_s < kShortest_s)
      return;  // too early for a power, and energy is not asked for
    const auto joules = keep(power_, "power", energy_->read_j(now));
    if (!joules) {
      if (!power_.alive())
        board_.update([](TelemetryInfo& info) { info.missing["energy"] = info.missing["power"]; });
      return;
    }
    if (!light) out.energy_j = joules;
    if (span_s < kShortest_s) return;
    if (span_s <= kLongest_s) out.power_w = (*joules - base_j_) / span_s;
    base_s_ = now;
    base_j_ = *joules;
  }

  std::optional<double> keep(SensorHealth& health, const char* name, const Result<double>& value) {
    if (value) {
      health.answered();
      return *value;
    }
    if (health.failed(false))
      board_.update([&](TelemetryInfo& info) {
        info.missing[name] = "failed during the run: " + value.error().message();
      });
    return std::nullopt;
  }

  const std::string root_;
  const std::function<double()> now_s_;
  InfoBoard board_;
  std::mutex mutex_;    // everything below
  SensorHealth power_;  // and energy
  std::optional<RaplEnergy> energy_;
  double base_s_ = 0;  // where the next power's difference starts
  double base_j_ = 0;
  SensorHealth clock_;
  std::vector<SysfsNumber> clock_files_;
  SensorHealth temperature_;
  std::vector<SysfsNumber> temperature_files_;
};

}  // namespace

std::unique_ptr<Telemetry> open_rapl(const RaplOptions& options) {
  return std::make_unique<RaplTelemetry>(options);
}

}  // namespace gemmpeak
