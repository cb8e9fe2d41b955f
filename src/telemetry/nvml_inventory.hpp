// Every GPU that NVML sees, whether or not CUDA may use it. Used by `gemmpeak devices`, which shows
// by it what CUDA_VISIBLE_DEVICES or a container hides. It refuses to be a way of choosing a
// device: its order is NVML's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace gemmpeak {

struct NvmlGpu {
  int index = 0;  // NVML's
  std::string name;
  std::string uuid;
  std::string pci_bus_id;         // "0000:3b:00.0", as DeviceInfo has it
  std::int64_t memory_bytes = 0;  // 0: unknown
  bool mig = false;
  std::string problem;  // why this GPU gives no handle; the other fields are then empty
};

struct NvmlInventory {
  std::string driver;
  std::string nvml_version;
  std::vector<NvmlGpu> gpus;
};

// The Error holds the reason and the fix.
Result<NvmlInventory> nvml_inventory(const std::string& library = "libnvidia-ml.so.1");

}  // namespace gemmpeak
