// Float functions that the compiler can vectorise: exp and tanh GELU. Used by the CPU epilogues and
// attention. Relative error of exp at most 2e-7; NaN stays NaN. They refuse to raise floating-point
// exceptions on purpose or to touch errno.
#pragma once

#include <bit>
#include <cstdint>

namespace gemmpeak {

// exp(x) = 2^n exp(r), |r| <= ln 2 / 2, exp(r) by Cephes' expf polynomial (S. Moshier, netlib).
// Clamped to [-87, 88], where float32's normal range ends.
inline float fast_exp(float x) {
  x = x < -87.0f ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  // Adding 1.5 * 2^23 rounds to a whole number and leaves it in the low mantissa bits.
  const float shifted = x * 1.44269504088896341f + 12582912.0f;
  const float n = shifted - 12582912.0f;
  // ln 2 in two parts, so that n ln 2 is exact in the first.
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const auto exponent = (std::bit_cast<std::uint32_t>(shifted) - 0x4B400000u + 127u) << 23;
  return p * std::bit_cast<float>(exponent);
}

// 0.5 z (1 + tanh(u)) with u = sqrt(2/pi) (z + 0.044715 z^3), written as z / (1 + exp(-2u)).
inline float gelu_tanh(float z) {
  const float twice_u = 1.59576912160573f * (z + 0.044715f * z * z * z);
  return z / (1.0f + fast_exp(-twice_u));
}

}  // namespace gemmpeak
