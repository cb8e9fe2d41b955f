#include "backend/host_fill.hpp"

#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>

#include "backend/host_convert.hpp"

namespace gemmpeak {
namespace {

// splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014): a counter
// and a mixing function, so that any position can be computed alone.
constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ULL;
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

// Two values of one kind from 64 random bits.
template <class Real>
std::pair<Real, Real> make_pair_of(DataKind kind, bool integer, std::uint64_t h) {
  const auto low = static_cast<std::uint32_t>(h), high = static_cast<std::uint32_t>(h >> 32);
  switch (kind) {
    case DataKind::normal: {  // Box-Muller; u in (0, 1], so that the logarithm is finite
      // float: 24 bits are all that a float tells apart below 1.
      constexpr int kDrop = sizeof(Real) == 4 ? 8 : 0;
      const Real unit = std::ldexp(Real{1}, kDrop - 32);
      const Real u = (static_cast<Real>(low >> kDrop) + Real(0.5)) * unit;
      const Real angle = 2 * std::numbers::pi_v<Real> * static_cast<Real>(high >> kDrop) * unit;
      const Real radius = std::sqrt(-2 * std::log(u));
      return {radius * std::cos(angle), radius * std::sin(angle)};
    }
    case DataKind::uniform: {
      const auto one = [integer](std::uint32_t r) {
        const auto whole = static_cast<std::int32_t>(r >> 8);  // 24 bits
        if (integer) return static_cast<Real>((whole >> 17) - 64);
        return static_cast<Real>(whole) * Real(0x1p-23) - Real(1);
      };
      return {one(low), one(high)};
    }
    case DataKind::ints: {
      const auto one = [](std::uint32_t r) {  // 7 values out of 2^32 without a division
        return static_cast<Real>(static_cast<int>((std::uint64_t{r} * 7) >> 32) - 3);
      };
      return {one(low), one(high)};
    }
    case DataKind::ones:
      return {Real(1), Real(1)};
    case DataKind::zeros:
      break;
  }
  return {Real(0), Real(0)};
}

template <class Real, class Store>
void fill_with(std::int64_t elements, DType dtype, DataKind kind, std::uint64_t seed,
               const ParallelFor& parallel, Store store) {
  const bool integer = dtype == DType::int8 || dtype == DType::int32;
  const auto smallest = static_cast<Real>(smallest_normal(dtype));
  const std::uint64_t start = mix(seed + kGolden * (1 + static_cast<std::uint64_t>(kind)));
  parallel((elements + 1) / 2, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t pair = begin; pair < end; ++pair) {
      const std::uint64_t h = mix(start + kGolden * static_cast<std::uint64_t>(pair));
      auto [first, second] = make_pair_of<Real>(kind, integer, h);
      if (std::fabs(first) < smallest) first = 0;
      if (std::fabs(second) < smallest) second = 0;
      store(2 * pair, first);
      if (2 * pair + 1 < elements) store(2 * pair + 1, second);
    }
  });
}

void fill_random_bytes(std::uint8_t* bytes, std::int64_t count, std::uint64_t seed,
                       const ParallelFor& parallel) {
  parallel((count + 7) / 8, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint64_t h = mix(mix(seed) + kGolden * static_cast<std::uint64_t>(i));
      std::memcpy(bytes + 8 * i, &h,
                  static_cast<std::size_t>(std::min<std::int64_t>(8, count - 8 * i)));
    }
  });
}

// Round to nearest even by integer arithmetic; x is finite.
std::uint16_t bfloat16_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace

void host_fill(void* base, std::int64_t elements, DType dtype, DataKind kind, std::uint64_t seed,
               const ParallelFor& parallel) {
  if (elements <= 0) return;
  auto* bytes = static_cast<std::uint8_t*>(base);
  const std::int64_t size = dtype_bytes(dtype, elements);
  if (kind == DataKind::zeros) {
    parallel(size, [bytes](std::int64_t begin, std::int64_t end) {
      std::memset(bytes + begin, 0, static_cast<std::size_t>(end - begin));
    });
    return;
  }
  if (dtype_info(dtype).bits == 4) return fill_random_bytes(bytes, size, seed, parallel);
  switch (dtype) {
    case DType::float32:
    case DType::tf32:
      return fill_with<float>(
          elements, dtype, kind, seed, parallel,
          [base](std::int64_t i, float x) { static_cast<float*>(base)[i] = x; });
    case DType::float64:
      return fill_with<double>(
          elements, dtype, kind, seed, parallel,
          [base](std::int64_t i, double x) { static_cast<double*>(base)[i] = x; });
    case DType::bfloat16:
      return fill_with<float>(elements, dtype, kind, seed, parallel,
                              [base](std::int64_t i, float x) {
                                static_cast<std::uint16_t*>(base)[i] = bfloat16_of(x);
                              });
    default:
      return fill_with<float>(
          elements, dtype, kind, seed, parallel,
          [base, dtype](std::int64_t i, float x) { store_element(dtype, base, i, x); });
  }
}

}  // namespace gemmpeak
