// M7: planted faults are caught, right results pass, in every type's own arithmetic.
#include <gtest/gtest.h>

#include <limits>

#include "host_device.hpp"
#include "measure/bench.hpp"

namespace gemmpeak {
namespace {

using testing::HostDevice;

constexpr GemmShape kShape{96, 80, 256};

VerifyRecord verified(HostDevice& device, DType dtype, GemmShape shape = kShape,
                      DataKind data = DataKind::normal) {
  BenchSettings settings;
  settings.dtype = dtype;
  settings.output = dtype_info(dtype).output;
  settings.data = data;
  settings.flush_bytes = 1 << 16;
  Bench bench(device, nullptr, settings, nullptr);
  return bench.verify(shape);
}

class EveryType : public ::testing::TestWithParam<DType> {};

TEST_P(EveryType, RightResultPasses) {
  HostDevice device;
  const VerifyRecord record = verified(device, GetParam());
  EXPECT_TRUE(record.outcome.ok()) << record.outcome.reason << " " << record.bound;
  EXPECT_EQ(record.bad, 0);
  EXPECT_EQ(record.unwritten, 0);
  EXPECT_LE(record.worst_ratio, 1.0);
  // At least 16 rows of all columns, and all rows of at least 16 columns.
  EXPECT_GE(record.checked, 16 * kShape.n + 16 * kShape.m);
}

TEST_P(EveryType, OneWrongTileIsCaught) {
  HostDevice device;
  device.world.plant = [](std::int64_t row, std::int64_t col, double value) {
    const bool tile = row >= 32 && row < 64 && col >= 16 && col < 32;
    return std::optional<double>(tile ? -value + 3 : value);
  };
  const VerifyRecord record = verified(device, GetParam());
  EXPECT_EQ(record.outcome.state, OutcomeState::wrong_result);
  EXPECT_GT(record.bad, 0);
  EXPECT_EQ(record.unwritten, 0);
}

TEST_P(EveryType, OneUnwrittenTileIsCountedExactly) {
  HostDevice device;
  device.world.plant = [](std::int64_t row, std::int64_t col, double value) {
    const bool tile = row >= 64 && col >= 64;
    return tile ? std::nullopt : std::optional<double>(value);
  };
  const VerifyRecord record = verified(device, GetParam());
  EXPECT_EQ(record.outcome.state, OutcomeState::wrong_result);
  EXPECT_EQ(record.unwritten, 32 * 16);
  EXPECT_NE(record.outcome.reason.find("never written"), std::string::npos);
}

TEST_P(EveryType, DroppedLastBlockOfKIsCaught) {
  HostDevice device;
  device.world.k_used = kShape.k - 32;
  const VerifyRecord record = verified(device, GetParam());
  EXPECT_EQ(record.outcome.state, OutcomeState::wrong_result);
  // Nearly every element is off by a sum of 32 products.
  EXPECT_GT(record.bad, record.checked / 8);
}

INSTANTIATE_TEST_SUITE_P(Types, EveryType,
                         ::testing::Values(DType::bfloat16, DType::float16, DType::float32,
                                           DType::tf32, DType::float64, DType::int8,
                                           DType::float8_e4m3fn, DType::float8_e4m3fnuz),
                         [](const auto& param) { return std::string(dtype_name(param.param)); });

TEST(Verify, NanIsNeverRight) {
  HostDevice device;
  device.world.plant = [](std::int64_t row, std::int64_t col, double value) {
    return std::optional<double>(row == 95 && col == 79 ? std::numeric_limits<double>::quiet_NaN()
                                                        : value);
  };
  // The last element is in both the last row and the last column checked.
  const VerifyRecord record = verified(device, DType::float32);
  EXPECT_EQ(record.outcome.state, OutcomeState::wrong_result);
  EXPECT_EQ(record.bad, 2);
}

TEST(Verify, SaturatedFp8OutputIsRight) {
  // 2048 products of ones: 2048 is stored as 448, the largest finite value.
  HostDevice device;
  EXPECT_TRUE(verified(device, DType::float8_e4m3fn, {32, 32, 2048}, DataKind::ones).outcome.ok());
  device.world.plant = [](std::int64_t, std::int64_t, double) {
    return std::optional<double>(208);
  };
  EXPECT_FALSE(verified(device, DType::float8_e4m3fn, {32, 32, 2048}, DataKind::ones).outcome.ok());
}

TEST(Verify, RoundedOperandsDoNotPassAsFloat32) {
  // What TF32 does to a float32 product: operands lose 13 bits.
  HostDevice device;
  device.world.plant = [](std::int64_t row, std::int64_t col, double value) {
    return std::optional<double>(value + ((row + col) % 7 - 3) * 3e-4 * std::sqrt(4096.0));
  };
  EXPECT_EQ(verified(device, DType::float32, {32, 32, 4096}).outcome.state,
            OutcomeState::wrong_result);
  EXPECT_TRUE(verified(device, DType::tf32, {32, 32, 4096}).outcome.ok());
}

TEST(Verify, OneDroppedBlockOfALongKIsCaughtInBf16) {
  HostDevice device;
  EXPECT_TRUE(verified(device, DType::bfloat16, {32, 32, 16384}).outcome.ok());
  device.world.k_used = 16384 - 64;
  EXPECT_EQ(verified(device, DType::bfloat16, {32, 32, 16384}).outcome.state,
            OutcomeState::wrong_result);
}

TEST(Verify, SmallMatricesAreCheckedWhole) {
  HostDevice device;
  const VerifyRecord record = verified(device, DType::bfloat16, {3, 5, 7});
  EXPECT_TRUE(record.outcome.ok()) << record.outcome.reason;
  EXPECT_EQ(record.checked, 2 * 3 * 5);
}

TEST(Tolerance, IsExactForIntegersAndStatesItself) {
  std::string words;
  const Tolerance t = verification_tolerance(reference_problem(DType::int8, kShape), &words);
  EXPECT_EQ(t.output_roundoff + t.accumulation + t.absolute, 0);
  EXPECT_EQ(words, "exact (integers)");
  const Tolerance b = verification_tolerance(reference_problem(DType::bfloat16, kShape), &words);
  EXPECT_DOUBLE_EQ(b.output_roundoff, 0x1p-8);
  EXPECT_DOUBLE_EQ(b.accumulation, 2 * 16 * 0x1p-23);
  EXPECT_NE(words.find("sqrt(K)"), std::string::npos);
}

TEST(Tolerance, FastAccumulationIsAllowedMore) {
  GemmProblem problem = reference_problem(DType::float8_e4m3fn, {1, 1, 16384});
  const double slow = verification_tolerance(problem, nullptr).accumulation;
  problem.fast_accumulation = true;
  EXPECT_GT(verification_tolerance(problem, nullptr).accumulation, slow);
  EXPECT_DOUBLE_EQ(verification_tolerance(problem, nullptr).max_finite, 448);
}

}  // namespace
}  // namespace gemmpeak
