// RaplEnergy: the CPU packages' energy counters as one that never wraps. Used by rapl_telemetry.
// It refuses to give a part: one unreadable package is an Error, for a sum without it would lie.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "telemetry/sysfs_number.hpp"

namespace gemmpeak {

class RaplEnergy {
 public:
  // All package domains under root/sys/class/powercap. Core, uncore and DRAM are sub-domains, psys
  // holds the packages again, and intel-rapl-mmio is a second view of package 0: left out.
  static Result<RaplEnergy> open(const std::string& root, double now_s);

  int packages() const { return static_cast<int>(domains_.size()); }
  // Joules since open().
  Result<double> read_j(double now_s);

 private:
  struct Domain {
    SysfsNumber energy_uj;
    double range_uj = 0;  // the counter starts again from 0 after this
    double last_uj = 0;
  };
  std::vector<Domain> domains_;
  double last_s_ = 0;
  double total_uj_ = 0;
};

}  // namespace gemmpeak
