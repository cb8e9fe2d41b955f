// Verification of a product on the host: float64 sums over chosen rows and columns, and the count
// of elements that still hold a poison. Used by backends whose memory the host can read and by
// tests of those that cannot. It refuses block scales (they count as 1.0) and judges nothing beyond
// Tolerance.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "backend/device.hpp"
#include "backend/host_parallel.hpp"
#include "model/problem.hpp"

namespace gemmpeak {

struct HostOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  std::optional<DType> b_dtype;  // where B is stored in another type than A (e5m2 times e4m3fn)
};

// The largest ratio a VerifyCounts can hold: where the bound is 0 and the error is not, or C is
// NaN.
inline constexpr double kWorstRatio = 1e300;

// Device::verify on host memory. Rows and columns outside of C are an error.
Result<VerifyCounts> host_verify(const GemmProblem& problem, const HostOperands& operands,
                                 std::span<const std::int64_t> rows,
                                 std::span<const std::int64_t> cols, const Tolerance& tolerance,
                                 const ParallelFor& parallel = run_serially);

// Device::count_bytes_equal on host memory. A 4-bit element counts if both halves of its byte
// match.
std::int64_t host_count_bytes_equal(const void* c, DType dtype, std::int64_t elements,
                                    std::uint8_t value, const ParallelFor& parallel = run_serially);

}  // namespace gemmpeak
