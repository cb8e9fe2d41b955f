// The host side of a verification: index lists to the device, one kernel, counts back. Used by
// device.cpp. It refuses indices outside C and views that are too small.
#pragma once

#include <optional>
#include <span>

#include "backend/device.hpp"
#include "backends/cuda/core.hpp"
#include "backends/cuda/kernels.hpp"

namespace gemmpeak::cuda {

// How elements of a dtype are stored; nothing for float8_e4m3fnuz.
std::optional<Element> element_of(DType dtype);

Result<VerifyCounts> verify_on(Core& core, const GemmProblem& problem, const Operands& operands,
                               std::span<const std::int64_t> rows,
                               std::span<const std::int64_t> cols, const Tolerance& tolerance);

}  // namespace gemmpeak::cuda
