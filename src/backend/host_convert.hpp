// Every element type of the table to and from double, bit by bit, on the host. Used by the host
// verification and fills, by backends whose memory the host can read, and by tests that plant
// faults. It refuses scales: an mx or nv element is decoded as if its block scale were 1.0.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "model/dtype.hpp"

namespace gemmpeak {

// What the all-ones exponent means.
enum class FloatSpecials {
  ieee,    // infinities and NaNs
  fn,      // one NaN pattern of each sign, no infinity (OCP e4m3)
  fnuz,    // "negative zero" is the only NaN (AMD's fnuz)
  finite,  // neither (OCP MX e2m1)
};

// Sources: IEEE 754-2019 (binary16), the OCP 8-bit Floating Point Specification 1.0 (e4m3, e5m2),
// the OCP Microscaling Formats Specification 1.0 (e2m1), arXiv:2206.02915 (fnuz, bias one higher).
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  FloatSpecials specials;
  double max_finite;
  int bits() const { return 1 + exponent_bits + mantissa_bits; }
};
inline constexpr FloatFormat kBfloat16{8, 7, 127, FloatSpecials::ieee, 0x1.FEp127};
inline constexpr FloatFormat kFloat16{5, 10, 15, FloatSpecials::ieee, 65504.0};
inline constexpr FloatFormat kE4m3fn{4, 3, 7, FloatSpecials::fn, 448.0};
inline constexpr FloatFormat kE5m2{5, 2, 15, FloatSpecials::ieee, 57344.0};
inline constexpr FloatFormat kE4m3fnuz{4, 3, 8, FloatSpecials::fnuz, 240.0};
inline constexpr FloatFormat kE2m1{2, 1, 1, FloatSpecials::finite, 6.0};

inline double decode_float(std::uint32_t bits, const FloatFormat& format) {
  const std::uint32_t mantissa = bits & ((1u << format.mantissa_bits) - 1);
  const std::uint32_t exponent =
      (bits >> format.mantissa_bits) & ((1u << format.exponent_bits) - 1);
  const bool negative = ((bits >> (format.bits() - 1)) & 1u) != 0;
  const std::uint32_t top = (1u << format.exponent_bits) - 1;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (format.specials == FloatSpecials::ieee && exponent == top) {
    if (mantissa != 0) return kNan;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return negative ? -kInfinity : kInfinity;
  }
  if (format.specials == FloatSpecials::fn && exponent == top &&
      mantissa == (1u << format.mantissa_bits) - 1)
    return kNan;
  if (format.specials == FloatSpecials::fnuz && negative && exponent == 0 && mantissa == 0)
    return kNan;
  const double significand =
      exponent == 0 ? mantissa : mantissa + static_cast<double>(1u << format.mantissa_bits);
  const int scale =
      static_cast<int>(exponent == 0 ? 1 : exponent) - format.bias - format.mantissa_bits;
  const double value = std::ldexp(significand, scale);
  return negative ? -value : value;
}

// Rounds to nearest, ties to even. Too large: infinity in 16 bits, the largest finite value in 8
// and 4 (the saturating conversion of the OCP specification). NaN stays NaN where there is one,
// else 0.
inline std::uint32_t encode_float(double value, const FloatFormat& format) {
  const std::uint32_t sign = std::signbit(value) ? 1u << (format.bits() - 1) : 0u;
  const std::uint32_t top = ((1u << format.exponent_bits) - 1) << format.mantissa_bits;
  if (std::isnan(value)) {
    if (format.specials == FloatSpecials::ieee) return top | (1u << (format.mantissa_bits - 1));
    if (format.specials == FloatSpecials::fn) return top | ((1u << format.mantissa_bits) - 1);
    return format.specials == FloatSpecials::fnuz ? 1u << (format.bits() - 1) : 0u;
  }
  double magnitude = std::fabs(value);
  // The exponent of the result's last place: that of the value, or of the denormals below.
  int exponent = 0;
  if (magnitude > 0 && std::isfinite(magnitude)) (void)std::frexp(magnitude, &exponent);
  const int lowest = 1 - format.bias;
  const int last_place = std::max(exponent - 1, lowest) - format.mantissa_bits;
  if (std::isfinite(magnitude))
    magnitude = std::ldexp(std::nearbyint(std::ldexp(magnitude, -last_place)), last_place);
  if (magnitude > format.max_finite) {
    if (format.bits() == 16) return sign | top;
    magnitude = format.max_finite;
  }
  if (magnitude == 0) return format.specials == FloatSpecials::fnuz ? 0u : sign;
  (void)std::frexp(magnitude, &exponent);
  const int biased = exponent - 1 + format.bias;
  if (biased < 1)  // denormal: the significand counts units of the lowest exponent's last place
    return sign | static_cast<std::uint32_t>(std::ldexp(magnitude, format.mantissa_bits - lowest));
  const double fraction = std::ldexp(magnitude, 1 - exponent) - 1.0;  // in [0, 1)
  return sign | (static_cast<std::uint32_t>(biased) << format.mantissa_bits) |
         static_cast<std::uint32_t>(std::ldexp(fraction, format.mantissa_bits));
}

// The format of a dtype stored in 16, 8 or 4 bits; null for float32, tf32, float64 and integers.
inline const FloatFormat* small_format(DType dtype) {
  switch (dtype) {
    case DType::bfloat16:
      return &kBfloat16;
    case DType::float16:
      return &kFloat16;
    case DType::float8_e4m3fn:
    case DType::mxfp8:
      return &kE4m3fn;
    case DType::float8_e5m2:
      return &kE5m2;
    case DType::float8_e4m3fnuz:
      return &kE4m3fnuz;
    case DType::mxfp4:
    case DType::nvfp4:
      return &kE2m1;
    default:
      return nullptr;
  }
}

// Smallest value that is not a denormal; 0 for integers.
inline double smallest_normal(DType dtype) {
  if (const FloatFormat* format = small_format(dtype)) return std::ldexp(1.0, 1 - format->bias);
  if (dtype == DType::float64) return std::numeric_limits<double>::min();
  const bool single = dtype == DType::float32 || dtype == DType::tf32;
  return single ? static_cast<double>(std::numeric_limits<float>::min()) : 0.0;
}

namespace detail {
template <class T>
double load_as(const void* base, std::int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(base) + index * std::int64_t{sizeof(T)}, sizeof(T));
  return static_cast<double>(value);
}
template <class T>
void store_as(void* base, std::int64_t index, T value) {
  std::memcpy(static_cast<char*>(base) + index * std::int64_t{sizeof(T)}, &value, sizeof(T));
}
template <class T>
T clamp_to(double value) {  // integers: nearest, saturating; NaN becomes 0
  if (std::isnan(value)) return 0;
  constexpr double kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  return static_cast<T>(std::nearbyint(std::min(std::max(value, kLow), kHigh)));
}
}  // namespace detail

// Element `index` of an array of `dtype`; 4-bit elements are packed low nibble first.
inline double load_element(DType dtype, const void* base, std::int64_t index) {
  const auto* bytes = static_cast<const std::uint8_t*>(base);
  switch (dtype) {
    case DType::float32:
    case DType::tf32:
      return detail::load_as<float>(base, index);
    case DType::float64:
      return detail::load_as<double>(base, index);
    case DType::int8:
      return detail::load_as<std::int8_t>(base, index);
    case DType::int32:
      return detail::load_as<std::int32_t>(base, index);
    case DType::bfloat16: {  // the upper half of a float
      std::uint16_t half;
      std::memcpy(&half, bytes + 2 * index, 2);
      return std::bit_cast<float>(std::uint32_t{half} << 16);
    }
    case DType::float16: {
      std::uint16_t half;
      std::memcpy(&half, bytes + 2 * index, 2);
      return decode_float(half, kFloat16);
    }
    case DType::mxfp4:
    case DType::nvfp4:
      return decode_float((bytes[index / 2] >> (4 * (index & 1))) & 0xFu, kE2m1);
    default:
      return decode_float(bytes[index], *small_format(dtype));
  }
}

inline void store_element(DType dtype, void* base, std::int64_t index, double value) {
  auto* bytes = static_cast<std::uint8_t*>(base);
  switch (dtype) {
    case DType::float32:
    case DType::tf32:
      return detail::store_as(base, index, static_cast<float>(value));
    case DType::float64:
      return detail::store_as(base, index, value);
    case DType::int8:
      return detail::store_as(base, index, detail::clamp_to<std::int8_t>(value));
    case DType::int32:
      return detail::store_as(base, index, detail::clamp_to<std::int32_t>(value));
    case DType::bfloat16:
    case DType::float16:
      return detail::store_as(
          base, index, static_cast<std::uint16_t>(encode_float(value, *small_format(dtype))));
    case DType::mxfp4:
    case DType::nvfp4: {
      const int shift = static_cast<int>(4 * (index & 1));
      const std::uint32_t kept = bytes[index / 2] & (0xF0u >> shift);
      bytes[index / 2] = static_cast<std::uint8_t>(kept | (encode_float(value, kE2m1) << shift));
      return;
    }
    default:
      bytes[index] = static_cast<std::uint8_t>(encode_float(value, *small_format(dtype)));
  }
}

}  // namespace gemmpeak
