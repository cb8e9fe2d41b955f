// What fill() writes: the right distribution, no denormals, the same again for the same seed.
#include <algorithm>
#include <cmath>

#include "gpu_support.hpp"

namespace gemmpeak::gpu_test {
namespace {

std::vector<float> filled(DType dtype, DataKind kind, std::uint64_t seed, std::int64_t elements) {
  const auto buffer = make_buffer(dtype_bytes(dtype, elements));
  const auto done = device().fill(whole(buffer), dtype, kind, seed);
  EXPECT_TRUE(done.ok()) << done.error().message();
  std::vector<float> out;
  if (dtype == DType::float32) return download_as<float>(whole(buffer));
  if (dtype == DType::float64) {
    for (const double x : download_as<double>(whole(buffer))) out.push_back(static_cast<float>(x));
  } else if (dtype == DType::bfloat16) {
    for (const std::uint16_t bits : download_as<std::uint16_t>(whole(buffer))) {
      const std::uint32_t word = static_cast<std::uint32_t>(bits) << 16;
      float value;
      std::memcpy(&value, &word, sizeof value);
      out.push_back(value);
    }
  } else if (dtype == DType::int8) {
    for (const std::int8_t x : download_as<std::int8_t>(whole(buffer))) out.push_back(x);
  }
  return out;
}

constexpr std::int64_t kMany = 1 << 20;

TEST(GpuFill, NormalHasMeanZeroAndVarianceOne) {
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
    const auto values = filled(dtype, DataKind::normal, 7, kMany);
    ASSERT_EQ(static_cast<std::int64_t>(values.size()), kMany);
    double sum = 0, squares = 0, beyond_two = 0;
    for (const double x : values) {
      sum += x;
      squares += x * x;
      beyond_two += std::fabs(x) > 2 ? 1 : 0;
    }
    EXPECT_NEAR(sum / kMany, 0.0, 0.005) << dtype_name(dtype);  // five standard errors
    EXPECT_NEAR(squares / kMany, 1.0, 0.01) << dtype_name(dtype);
    EXPECT_NEAR(beyond_two / kMany, 0.0455, 0.002) << dtype_name(dtype);
  }
}

TEST(GpuFill, NeighboursAndSeedsAreIndependent) {
  const auto one = filled(DType::float32, DataKind::normal, 1, kMany);
  const auto two = filled(DType::float32, DataKind::normal, 2, kMany);
  double neighbours = 0, seeds = 0;
  for (std::size_t i = 0; i + 1 < one.size(); ++i) {
    neighbours += static_cast<double>(one[i]) * one[i + 1];
    seeds += static_cast<double>(one[i]) * two[i];
  }
  EXPECT_NEAR(neighbours / kMany, 0.0, 0.006);
  EXPECT_NEAR(seeds / kMany, 0.0, 0.006);
}

TEST(GpuFill, TheSameSeedGivesTheSameBytesWhateverTheLength) {
  const auto shorter = filled(DType::float32, DataKind::normal, 3, 1000);
  const auto longer = filled(DType::float32, DataKind::normal, 3, kMany);
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), longer.begin()));
}

TEST(GpuFill, KindsHoldWhatTheyPromise) {
  for (const float x : filled(DType::float32, DataKind::uniform, 5, kMany))
    ASSERT_TRUE(x >= -1.0f && x <= 1.0f) << x;
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::int8}) {
    for (const float x : filled(dtype, DataKind::ones, 5, 4096)) ASSERT_EQ(x, 1.0f);
    for (const float x : filled(dtype, DataKind::zeros, 5, 4096)) ASSERT_EQ(x, 0.0f);
    const auto ints = filled(dtype, DataKind::ints, 5, 4096);
    for (const float x : ints) ASSERT_TRUE(x == std::rint(x) && std::fabs(x) <= 3.0f) << x;
    EXPECT_EQ(*std::min_element(ints.begin(), ints.end()), -3.0f);
    EXPECT_EQ(*std::max_element(ints.begin(), ints.end()), 3.0f);
  }
}

TEST(GpuFill, NarrowFormatsHoldNoDenormalsAndNoNaN) {
  const auto buffer = make_buffer(kMany);
  const auto expect_clean = [&](DType dtype, int mantissa_bits, DataKind kind) {
    ASSERT_TRUE(device().fill(whole(buffer), dtype, kind, 11).ok());
    for (const std::uint8_t byte : download(whole(buffer))) {
      const int exponent = (byte & 0x7f) >> mantissa_bits;
      const int mantissa = byte & ((1 << mantissa_bits) - 1);
      ASSERT_FALSE(exponent == 0 && mantissa != 0) << int{byte};
      ASSERT_FALSE(dtype == DType::float8_e4m3fn ? (byte & 0x7f) == 0x7f : exponent == 31)
          << int{byte};
    }
  };
  for (const DataKind kind : {DataKind::normal, DataKind::uniform, DataKind::ints}) {
    expect_clean(DType::float8_e4m3fn, 3, kind);
    expect_clean(DType::float8_e5m2, 2, kind);
  }
  ASSERT_TRUE(device().fill(whole(buffer), DType::float16, DataKind::normal, 11).ok());
  for (const std::uint16_t bits : download_as<std::uint16_t>(whole(buffer)))
    ASSERT_FALSE((bits & 0x7c00) == 0 && (bits & 0x3ff) != 0) << bits;
}

TEST(GpuFill, Fp4GetsAllBytes) {
  const auto buffer = make_buffer(1 << 16);
  ASSERT_TRUE(device().fill(whole(buffer), DType::nvfp4, DataKind::normal, 1).ok());
  std::vector<int> seen(256, 0);
  for (const std::uint8_t byte : download(whole(buffer))) ++seen[byte];
  for (const int count : seen) EXPECT_NEAR(count, 256, 100);  // 6 standard deviations
}

TEST(GpuFill, UnitScalesAreOneInTheirFormats) {
  const auto buffer = make_buffer(512);
  const auto all = [&](DType dtype, std::uint8_t wanted) {
    ASSERT_TRUE(device().fill_unit_scales(whole(buffer), dtype).ok());
    for (const std::uint8_t byte : download(whole(buffer))) ASSERT_EQ(byte, wanted);
  };
  all(DType::mxfp8, 127);   // e8m0: 2^(127 - 127)
  all(DType::nvfp4, 0x38);  // e4m3: 2^(7 - 7)
  ASSERT_TRUE(device().fill_unit_scales(whole(buffer), DType::float8_e4m3fn).ok());
  for (const float x : download_as<float>(whole(buffer))) ASSERT_EQ(x, 1.0f);
}

}  // namespace
}  // namespace gemmpeak::gpu_test
