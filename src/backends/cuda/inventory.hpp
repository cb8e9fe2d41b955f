// What NVIDIA devices there are, asked without making a context. Used by module.cpp. It refuses to
// guess: a failing query is an Error that names the cause and the fix.
#pragma once

#include <string>
#include <vector>

#include "backends/cuda/capability.hpp"
#include "base/result.hpp"

namespace gemmpeak::cuda {

struct InventoryRow {
  int ordinal = 0;
  ComputeCapability cc;
  DeviceInfo info;
};

Result<std::vector<InventoryRow>> inventory();

}  // namespace gemmpeak::cuda
