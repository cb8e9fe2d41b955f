#include "telemetry/rapl_energy.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <regex>
#include <utility>

namespace gemmpeak {
namespace {

namespace fs = std::filesystem;

// No package draws more; how long a gap between reads may hide a whole turn of the counter.
constexpr double kHighestPackage_w = 1500;

Error with_fix(const Error& error) {
  if (error.code != EACCES && error.code != EPERM) return error;
  Error out = error;
  out.text +=
      "; since Linux 5.10 only root may read it: run as root, or "
      "chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj";
  return out;
}

}  // namespace

Result<RaplEnergy> RaplEnergy::open(const std::string& root, double now_s) {
  static const std::regex kTopDomain("intel-rapl:[0-9]+");  // AMD's packages have this name too
  const fs::path folder = fs::path(root) / "sys/class/powercap";
  RaplEnergy out;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    if (!std::regex_match(entry.path().filename().string(), kTopDomain)) continue;
    if (!read_sysfs_line(entry.path() / "name").starts_with("package")) continue;
    auto file = SysfsNumber::open(entry.path() / "energy_uj");
    if (!file) return with_fix(file.error());
    auto first = file->read();
    if (!first) return with_fix(first.error());
    auto range = read_sysfs_number(entry.path() / "max_energy_range_uj");
    out.domains_.push_back({std::move(*file), range ? *range : 0, *first});
  }
  if (out.domains_.empty())
    return error_text(fmt::format(
        "no RAPL package domain in {}: load intel_rapl_msr (modprobe), or, in a virtual machine, "
        "there is none",
        folder.string()));
  out.last_s_ = now_s;
  return out;
}

Result<double> RaplEnergy::read_j(double now_s) {
  const double gap_s = now_s - last_s_;
  double sum_uj = 0;
  // All are read before anything is kept, so that a failing package leaves the rest as it was.
  std::vector<double> now_uj;
  for (const Domain& domain : domains_) {
    auto value = domain.energy_uj.read();
    if (!value) return with_fix(value.error());
    double step = *value - domain.last_uj;
    if (step < 0) step += domain.range_uj;
    // The counter may have turned more than once unseen, or its range is unknown: the span is left
    // out. Readers take differences over windows in which reads are milliseconds apart.
    const bool unknown =
        step < 0 || (domain.range_uj > 0 && gap_s * kHighestPackage_w * 1e6 > domain.range_uj);
    if (!unknown) sum_uj += step;
    now_uj.push_back(*value);
  }
  for (std::size_t i = 0; i < domains_.size(); ++i) domains_[i].last_uj = now_uj[i];
  last_s_ = now_s;
  total_uj_ += sum_uj;
  return total_uj_ / 1e6;
}

}  // namespace gemmpeak
