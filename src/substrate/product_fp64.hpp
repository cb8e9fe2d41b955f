// The double-precision product behind every verdict: out[T, od] = in[T, id] w[od, id]^T, and the
// sum of absolute products that bounds a GEMM's rounding error. Used by the reference forward and
// the element gate. It is deliberately plain and shares nothing with the kernels it judges, threads
// included; it refuses to be fast on anything else than a CPU.
#pragma once

#include <cstdint>

namespace gemmpeak::substrate {

enum class ProductKind : std::uint8_t {
  plain,     // sum in w
  absolute,  // sum |in| |w|
};

template <class Real>  // float or double
void product_fp64(const double* in, const Real* weights, std::int64_t tokens, std::int64_t id,
                  std::int64_t od, ProductKind kind, double* out);

}  // namespace gemmpeak::substrate
