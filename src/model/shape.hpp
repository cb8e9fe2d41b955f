// GemmShape: the M, N, K of one matrix product C[M,N] = A[M,K] B[K,N], and its flop.
// Used by every room above base. It knows no device and refuses nothing: range checks are where
// input enters (app) and where a library states its limits (backends).
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace gemmpeak {

struct GemmShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;

  auto operator<=>(const GemmShape&) const = default;

  // 2 m n k as a double: the integer product of three 31-bit dimensions does not fit in 64 bits.
  double flop() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
  std::string str() const {  // "MxNxK"
    return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  }
};

}  // namespace gemmpeak
