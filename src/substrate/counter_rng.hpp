// Counter-based random numbers: value number i of stream s depends on nothing but (seed, s, i), so
// that weights can be made in any order, by any number of threads, on a CPU or a GPU, bit for bit.
// Used for the built-in weights and inputs. It refuses to be cryptographic.
#pragma once

#include <cstdint>

namespace gemmpeak::substrate {

// SplitMix64's finaliser (Steele, Lea, Flood 2014): a bijection of 64 bits with full avalanche.
constexpr std::uint64_t mix64(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

constexpr std::uint64_t stream_key(std::uint64_t seed, std::uint64_t stream) {
  return mix64(mix64(seed + 0x9E3779B97F4A7C15ull) + stream * 0xD1342543DE82EF95ull);
}

// Nearly normal, mean 0 and variance 1: the sum of four 16-bit uniforms (Irwin-Hall), which needs
// no library function and is therefore the same everywhere. |value| < 3.47.
constexpr float counter_normal(std::uint64_t key, std::uint64_t index) {
  const std::uint64_t bits = mix64(key + index * 0x9E3779B97F4A7C15ull);
  const auto sum = static_cast<std::int32_t>((bits & 0xFFFF) + ((bits >> 16) & 0xFFFF) +
                                             ((bits >> 32) & 0xFFFF) + (bits >> 48));
  // Four uniforms on 0..65535 have mean 131070 and variance 4 (65536^2 - 1) / 12.
  return static_cast<float>(sum - 131070) * (1.0f / 37837.2271f);
}

}  // namespace gemmpeak::substrate
