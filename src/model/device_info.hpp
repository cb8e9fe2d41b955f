// DeviceInfo: what is known of one device before anything is measured on it, and Capability: whether
// it can run a dtype. Used by every room above model; filled by the backends. A field that could not
// be read is empty, never a guess.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/dtype.hpp"

namespace gemmpeak {

enum class DeviceKind { gpu, cpu, sim };

struct TileHint {  // representative output tile of the library's kernels
  int m = 0;
  int n = 0;
};

struct DeviceInfo {
  std::string id;                // "cuda:0", "cpu", "sim:h200": what --device takes
  std::string backend;           // "cuda", "cpu", "sim"
  DeviceKind kind = DeviceKind::gpu;
  std::string name;              // "NVIDIA H200"
  std::string architecture;      // "sm_90", "x86-64-v3"
  std::string uuid;              // "GPU-..." or empty
  std::string pci_bus_id;        // "0000:3b:00.0" or empty
  std::string serial;            // empty where unreadable
  int units = 0;                 // SMs, CUs or cores; 0: unknown
  std::optional<TileHint> tile;  // none: auto search is refused
  bool geometry_validated = false;
  std::int64_t memory_bytes = 0;
  std::int64_t llc_bytes = 0;    // last-level cache
  std::optional<double> rated_clock_mhz;
  // Dense flop per unit and clock by dtype, from the vendor's documents; absent: unknown, and then
  // no efficiency is given and no rate is called impossible.
  std::map<DType, double> flop_per_clock_per_unit;
  std::map<std::string, std::string> versions;  // driver, runtime, libraries
  std::map<std::string, std::string> attributes;  // anything else worth a line (ECC, MIG, ISA, pinning)
  std::vector<std::string> environment;  // names of variables that change this backend's arithmetic

  // Identity for journals and tables: equal strings mean results may be mixed.
  std::string identity() const;
};

// Static answer, from known limits: no trial is run.
struct Capability {
  bool supported = false;
  std::string reason;  // why not, or a remark ("emulated", "library's reference path")
  std::string hint;    // what would run it
};

// flop/s at `clock_mhz` for this dtype with every unit busy, or nothing where unknown.
std::optional<double> peak_flop_per_s(const DeviceInfo& device, DType dtype, double clock_mhz);

}  // namespace gemmpeak
