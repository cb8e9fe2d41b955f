// What NVIDIA devices can do, from their compute capability and the environment alone: dtypes,
// layouts, outputs, alignment rules, flop per clock. Used by inventory, device and plan, and tested
// without a device. It refuses to ask the device or the library anything.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/device_info.hpp"
#include "model/problem.hpp"

namespace gemmpeak::cuda {

using Environment = std::map<std::string, std::string>;

struct ComputeCapability {
  int major = 0;
  int minor = 0;
  bool at_least(int wanted_major, int wanted_minor) const {
    return major > wanted_major || (major == wanted_major && minor >= wanted_minor);
  }
  std::string str() const { return std::to_string(major) + "." + std::to_string(minor); }
};

// Names of the variables that change what the library computes or how it is scheduled.
std::vector<std::string> environment_names();

Capability dtype_capability(DType dtype, ComputeCapability cc, const std::string& device_name,
                            const Environment& environment);

// Dense flop per SM and clock; only what NVIDIA documents for every product of that capability.
std::map<DType, double> flop_per_clock(ComputeCapability cc);

// Element type of operand B: cuBLASLt has no product of two float8_e5m2 operands.
DType operand_b_dtype(DType dtype);

// Why this problem cannot run whatever its algorithm, in one sentence; nothing where it may.
std::optional<std::string> problem_refusal(const GemmProblem& problem, ComputeCapability cc);

// Bytes of the block scales of `rows` x `k` elements, padded to 128 rows and 4 blocks; 0: none.
std::int64_t scale_bytes(DType dtype, std::int64_t rows, std::int64_t k);

}  // namespace gemmpeak::cuda
