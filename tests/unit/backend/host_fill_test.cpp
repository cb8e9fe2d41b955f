#include "backend/host_fill.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "backend/host_convert.hpp"

namespace gemmpeak {
namespace {

constexpr std::int64_t kCount = 20001;  // odd: the last pair is half used

std::vector<std::uint8_t> filled(DType dtype, DataKind kind, std::uint64_t seed,
                                 const ParallelFor& parallel = run_serially) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(dtype_bytes(dtype, kCount)) + 8, 0xEE);
  host_fill(bytes.data(), kCount, dtype, kind, seed, parallel);
  return bytes;
}

// Three uneven parts, the last first.
void in_parts(std::int64_t count, const RangeBody& body) {
  body(count / 2, count);
  body(0, count / 7);
  body(count / 7, count / 2);
}

TEST(HostFill, DataDependOnKindSeedAndPositionAndNotOnTheThreads) {
  for (const DTypeInfo& row : dtype_table()) {
    const auto first = filled(row.dtype, DataKind::normal, 1);
    EXPECT_EQ(first, filled(row.dtype, DataKind::normal, 1)) << row.name;
    EXPECT_EQ(first, filled(row.dtype, DataKind::normal, 1, in_parts)) << row.name;
    EXPECT_NE(first, filled(row.dtype, DataKind::normal, 2)) << row.name;
  }
}

TEST(HostFill, NothingIsWrittenPastTheElements) {
  for (const DTypeInfo& row : dtype_table())
    for (const DataKind kind : {DataKind::normal, DataKind::zeros, DataKind::ones}) {
      const auto bytes = filled(row.dtype, kind, 1);
      for (std::size_t i = bytes.size() - 8; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], 0xEE);
    }
}

TEST(HostFill, NormalDataAreStandardNormal) {
  for (const DType dtype :
       {DType::float32, DType::float64, DType::bfloat16, DType::float16, DType::float8_e4m3fn,
        DType::float8_e5m2, DType::float8_e4m3fnuz, DType::int8}) {
    const auto bytes = filled(dtype, DataKind::normal, 42);
    double sum = 0, squares = 0, fourth = 0, neighbours = 0, before = 0;
    for (std::int64_t i = 0; i < kCount; ++i) {
      const double x = load_element(dtype, bytes.data(), i);
      sum += x;
      squares += x * x;
      fourth += x * x * x * x;
      neighbours += x * before;
      before = x;
    }
    const double n = static_cast<double>(kCount);
    // Five standard errors; rounding to whole numbers adds 1/12 to the variance.
    EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(n)) << dtype_name(dtype);
    EXPECT_NEAR(squares / n, dtype == DType::int8 ? 1 + 1.0 / 12 : 1, 0.06) << dtype_name(dtype);
    EXPECT_NEAR(neighbours / n, 0, 5.5 / std::sqrt(n)) << dtype_name(dtype);
    EXPECT_NEAR(fourth / n, 3, 0.7) << dtype_name(dtype);
  }
}

TEST(HostFill, NoDenormalIsEverStored) {
  for (const DTypeInfo& row : dtype_table()) {
    if (row.bits == 4) continue;  // random bytes by definition
    for (const DataKind kind : {DataKind::normal, DataKind::uniform}) {
      const auto bytes = filled(row.dtype, kind, 9);
      for (std::int64_t i = 0; i < kCount; ++i) {
        const double x = std::fabs(load_element(row.dtype, bytes.data(), i));
        ASSERT_TRUE(x == 0 || x >= smallest_normal(row.dtype)) << row.name << " " << x;
        ASSERT_TRUE(std::isfinite(x)) << row.name;
      }
    }
  }
}

TEST(HostFill, UniformDataStayInTheirIntervalAndFillIt) {
  for (const DType dtype : {DType::float32, DType::float64, DType::int8}) {
    const double half_width = dtype == DType::int8 ? 64 : 1;
    const auto bytes = filled(dtype, DataKind::uniform, 3);
    double low = 0, high = 0, squares = 0;
    for (std::int64_t i = 0; i < kCount; ++i) {
      const double x = load_element(dtype, bytes.data(), i) / half_width;
      low = std::min(low, x);
      high = std::max(high, x);
      squares += x * x;
    }
    EXPECT_GE(low, -1);
    EXPECT_LT(high, 1);
    EXPECT_NEAR(squares / static_cast<double>(kCount), 1.0 / 3, 0.02);
  }
}

TEST(HostFill, IntsAreTheSevenWholeNumbersFromMinusThreeToThree) {
  for (const DTypeInfo& row : dtype_table()) {
    if (row.bits == 4) continue;
    const auto bytes = filled(row.dtype, DataKind::ints, 3);
    std::set<double> seen;
    for (std::int64_t i = 0; i < kCount; ++i) seen.insert(load_element(row.dtype, bytes.data(), i));
    EXPECT_EQ(seen, (std::set<double>{-3, -2, -1, 0, 1, 2, 3})) << row.name;
  }
}

TEST(HostFill, OnesAreOneAndZerosAreZeroBytes) {
  for (const DTypeInfo& row : dtype_table()) {
    const auto zeros = filled(row.dtype, DataKind::zeros, 3);
    for (std::size_t i = 0; i + 8 < zeros.size(); ++i) ASSERT_EQ(zeros[i], 0) << row.name;
    if (row.bits == 4) continue;
    const auto ones = filled(row.dtype, DataKind::ones, 3);
    for (std::int64_t i = 0; i < kCount; ++i)
      ASSERT_EQ(load_element(row.dtype, ones.data(), i), 1) << row.name;
  }
}

}  // namespace
}  // namespace gemmpeak
