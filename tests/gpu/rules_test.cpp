// Rules of the CUDA backend that need no device: capabilities, refusals, scale layout, clocks.
#include <gtest/gtest.h>

#include <set>

#include "backends/cuda/capability.hpp"
#include "backends/cuda/clock.hpp"

namespace gemmpeak::cuda {
namespace {

constexpr ComputeCapability kAmpere{8, 0};
constexpr ComputeCapability kHopper{9, 0};
constexpr ComputeCapability kBlackwell{10, 0};

Capability on(ComputeCapability cc, DType dtype, const Environment& environment = {}) {
  return dtype_capability(dtype, cc, "NVIDIA X", environment);
}

TEST(CudaCapability, HopperRunsFp8ButNoBlockScales) {
  EXPECT_TRUE(on(kHopper, DType::float8_e4m3fn).supported);
  const Capability mx = on(kHopper, DType::mxfp8);
  EXPECT_FALSE(mx.supported);
  EXPECT_NE(mx.reason.find("compute capability 9.0"), std::string::npos);
  EXPECT_NE(mx.hint.find("Blackwell"), std::string::npos);
  EXPECT_FALSE(on(kHopper, DType::nvfp4).supported);
}

TEST(CudaCapability, BlackwellRunsMxfp8AndNvfp4ButNeverMxfp4) {
  EXPECT_TRUE(on(kBlackwell, DType::mxfp8).supported);
  EXPECT_TRUE(on(kBlackwell, DType::nvfp4).supported);
  EXPECT_FALSE(on(kBlackwell, DType::mxfp4).supported);
}

TEST(CudaCapability, AmpereHasNoFp8) { EXPECT_FALSE(on(kAmpere, DType::float8_e4m3fn).supported); }

TEST(CudaCapability, EveryRefusalHasReasonAndHint) {
  for (const ComputeCapability cc : {ComputeCapability{7, 5}, kAmpere, kHopper, kBlackwell})
    for (const DTypeInfo& row : dtype_table())
      if (const Capability answer = on(cc, row.dtype); !answer.supported) {
        EXPECT_FALSE(answer.reason.empty()) << row.name;
        EXPECT_FALSE(answer.hint.empty()) << row.name;
      }
}

TEST(CudaCapability, EmulationNeverRunsUnderANativeName) {
  EXPECT_FALSE(on(kHopper, DType::float32, {{"NVIDIA_TF32_OVERRIDE", "1"}}).supported);
  EXPECT_TRUE(on(kHopper, DType::float32, {{"NVIDIA_TF32_OVERRIDE", "0"}}).supported);
  EXPECT_FALSE(on(kHopper, DType::tf32, {{"NVIDIA_TF32_OVERRIDE", "0"}}).supported);
  EXPECT_FALSE(
      on(kBlackwell, DType::float32, {{"CUBLAS_EMULATE_SINGLE_PRECISION", "1"}}).supported);
  EXPECT_TRUE(on(kBlackwell, DType::float32, {{"CUBLAS_EMULATE_SINGLE_PRECISION", "0"}}).supported);
  EXPECT_FALSE(on(kHopper, DType::float64, {{"CUBLAS_EMULATE_DOUBLE_PRECISION", "1"}}).supported);
  EXPECT_FALSE(on(kHopper, DType::float64, {{"CUBLAS_EMULATION_STRATEGY", "eager"}}).supported);
  EXPECT_TRUE(on(kHopper, DType::bfloat16, {{"CUBLAS_EMULATION_STRATEGY", "eager"}}).supported);
}

TEST(CudaCapability, EveryVariableThatRefusesIsAmongTheNamesAsked) {
  const auto list = environment_names();
  const std::set<std::string> names(list.begin(), list.end());
  for (const char* name : {"NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION",
                           "CUBLAS_EMULATE_DOUBLE_PRECISION", "CUBLAS_EMULATION_STRATEGY"})
    EXPECT_EQ(names.count(name), 1u) << name;
}

TEST(CudaRates, MatchThePublishedPeaks) {
  // TFLOPS of the datasheet = flop per SM and clock x SMs x GHz / 1000, within rounding of the
  // sheet.
  const auto tflops = [](ComputeCapability cc, DType dtype, int units, double ghz) {
    return flop_per_clock(cc).at(dtype) * units * ghz * 1e-3;
  };
  EXPECT_NEAR(tflops(kAmpere, DType::bfloat16, 108, 1.410), 312.0, 0.5);
  EXPECT_NEAR(tflops(kAmpere, DType::float64, 108, 1.410), 19.5, 0.1);
  EXPECT_NEAR(tflops(kHopper, DType::bfloat16, 132, 1.830), 989.4, 0.5);
  EXPECT_NEAR(tflops(kHopper, DType::float8_e4m3fn, 132, 1.830), 1978.9, 1.0);
  EXPECT_NEAR(tflops(kHopper, DType::tf32, 132, 1.830), 494.7, 0.5);
  EXPECT_NEAR(tflops(kHopper, DType::float64, 132, 1.980), 66.9, 0.1);
  EXPECT_NEAR(tflops(kHopper, DType::float32, 132, 1.980), 66.9, 0.1);
  EXPECT_NEAR(tflops(kBlackwell, DType::bfloat16, 148, 1.85), 2250.0, 20.0);
  EXPECT_EQ(flop_per_clock({8, 9}).count(DType::bfloat16), 0u);  // differs between products
}

TEST(CudaRefusal, NamesTheRuleOfFp8) {
  const auto bad_k =
      problem_refusal(reference_problem(DType::float8_e4m3fn, {256, 256, 24}), kHopper);
  ASSERT_TRUE(bad_k);
  EXPECT_NE(bad_k->find("K of 16"), std::string::npos) << *bad_k;
  EXPECT_FALSE(problem_refusal(reference_problem(DType::float8_e4m3fn, {255, 256, 32}), kHopper));
  GemmProblem other = reference_problem(DType::float8_e4m3fn, {256, 256, 256});
  other.layout = Layout::nn;
  EXPECT_TRUE(problem_refusal(other, kHopper));
  EXPECT_FALSE(problem_refusal(other, kBlackwell));
}

TEST(CudaRefusal, TakesDimensionsUpTo31BitsAndNoneBelowOne) {
  EXPECT_FALSE(problem_refusal(reference_problem(DType::bfloat16, {2147483647, 1, 1}), kHopper));
  EXPECT_TRUE(problem_refusal(reference_problem(DType::bfloat16, {2147483648LL, 1, 1}), kHopper));
  EXPECT_TRUE(problem_refusal(reference_problem(DType::bfloat16, {0, 1, 1}), kHopper));
}

TEST(CudaRefusal, FastAccumulationIsForFp8Only) {
  GemmProblem problem = reference_problem(DType::bfloat16, {64, 64, 64});
  problem.fast_accumulation = true;
  EXPECT_TRUE(problem_refusal(problem, kHopper));
}

TEST(CudaScales, ArePaddedTo128RowsAnd4Blocks) {
  EXPECT_EQ(scale_bytes(DType::mxfp8, 128, 128), 512);
  EXPECT_EQ(scale_bytes(DType::mxfp8, 129, 160), 256 * 8);
  EXPECT_EQ(scale_bytes(DType::nvfp4, 1, 64), 512);
  EXPECT_EQ(scale_bytes(DType::bfloat16, 128, 128), 0);
}

TEST(CudaScales, EveryPositionIsUsedOnce) {
  constexpr std::int64_t kRows = 256;
  constexpr std::int64_t kBlocks = 8;
  std::set<std::int64_t> seen;
  for (std::int64_t row = 0; row < kRows; ++row)
    for (std::int64_t block = 0; block < kBlocks; ++block)
      seen.insert(scale_position(row, block, kBlocks));
  EXPECT_EQ(static_cast<std::int64_t>(seen.size()), kRows * kBlocks);
  EXPECT_EQ(*seen.rbegin(), kRows * kBlocks - 1);
  EXPECT_EQ(scale_position(33, 2, kBlocks), 16 + 4 + 2);
}

TEST(CudaClock, IsTheMedianOfEachMultiprocessorsOwnCounters) {
  // SM 0 started 5 s ago, SM 1 just now; SM 2 stands still and SM 3 is in one stamp only.
  const std::vector<StampRecord> from{{0, 0, 9'000'000, 1000}, {1, 0, 0, 1010}, {2, 0, 5, 1000}};
  const std::vector<StampRecord> to{{0, 0, 10'500'000, 1'001'000},
                                    {1, 0, 1'500'000, 1'001'010},
                                    {2, 0, 5, 1'001'000},
                                    {3, 0, 7, 9}};
  const DeviceClock clock = clock_from(from, to, 32);
  EXPECT_NEAR(clock.mhz, 1500.0, 1e-9);
  EXPECT_NEAR(clock.window_s, 1e-3, 1e-12);
  EXPECT_TRUE(clock.precise);
  EXPECT_FALSE(clock_from(from, to, 1024).precise);  // under 1,000 steps of 1,024 ns
}

TEST(CudaClock, IsZeroWithoutACommonMultiprocessor) {
  EXPECT_EQ(clock_from({{0, 0, 1, 1}}, {{1, 0, 9, 9}}, 32).mhz, 0.0);
}

}  // namespace
}  // namespace gemmpeak::cuda
