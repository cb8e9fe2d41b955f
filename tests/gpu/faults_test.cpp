// Planted faults are caught, each in its own way; a faulting kernel marks the device dead.
#include <cstdlib>

#include "gpu_support.hpp"

namespace gemmpeak::gpu_test {
namespace {

class GpuFaults : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (!device().capability(GetParam()).supported) GTEST_SKIP() << "not on this device";
    problem_ = reference_problem(GetParam(), {512, 768, 1024});
    set_ = make_operands(problem_);
    auto plan = device().plan(problem_, {});
    ASSERT_TRUE(plan.ok()) << plan.error().message();
    plan_ = std::move(*plan);
    auto stream = device().make_stream();
    ASSERT_TRUE(stream.ok());
    stream_ = std::move(*stream);
    run_once(*plan_, set_.views);
    ASSERT_EQ(verify_all(problem_, set_.views).bad, 0);
  }
  std::int64_t element_bytes() const { return dtype_info(problem_.output).bits / 8; }
  // Overwrites `count` neighbouring elements of one row of C.
  void spoil(std::int64_t row, std::int64_t col, std::int64_t count, std::uint8_t value) {
    View target = set_.views.c;
    target.offset = (row * problem_.shape.n + col) * element_bytes();
    target.bytes = count * element_bytes();
    ASSERT_TRUE(stream_->enqueue_set(target, value).ok());
    ASSERT_TRUE(stream_->synchronize().ok());
  }

  GemmProblem problem_;
  OperandSet set_;
  std::unique_ptr<GemmPlan> plan_;
  std::unique_ptr<Stream> stream_;
};

TEST_P(GpuFaults, OneWrongElementIsFoundAndNamed) {
  spoil(317, 641, 1, 0x41);  // a positive number in every output type
  // 0x41.. may by chance be near the right value: then it is no fault. Take the larger of two.
  VerifyCounts counts = verify_all(problem_, set_.views);
  if (counts.bad == 0) {
    spoil(317, 641, 1, 0xc1);
    counts = verify_all(problem_, set_.views);
  }
  EXPECT_EQ(counts.bad, 1) << describe(counts);
  EXPECT_EQ(counts.worst_row, 317);
  EXPECT_EQ(counts.worst_col, 641);
}

TEST_P(GpuFaults, ANotANumberFails) {
  if (problem_.output == DType::int32) GTEST_SKIP() << "integers have none";
  spoil(3, 5, 1, 0xff);
  const VerifyCounts counts = verify_all(problem_, set_.views);
  EXPECT_EQ(counts.bad, 1);
  EXPECT_EQ(counts.not_finite, 1);
}

TEST_P(GpuFaults, AnUnwrittenTileIsCountedElementByElement) {
  for (std::int64_t row = 256; row < 384; ++row) spoil(row, 512, 256, 0xa5);
  auto found = device().count_bytes_equal(set_.views.c, problem_.output,
                                          problem_.shape.m * problem_.shape.n, 0xa5);
  ASSERT_TRUE(found.ok()) << found.error().message();
  EXPECT_GE(*found, 128 * 256);
  EXPECT_LE(*found, 128 * 256 + (element_bytes() == 1 ? 128 * 1024 : 16));  // FP8: 0xa5 is a value
  if (problem_.output != DType::float8_e4m3fn) {
    EXPECT_GT(verify_all(problem_, set_.views).bad, 128 * 256 / 2);
  }
}

TEST_P(GpuFaults, ADroppedLastBlockOfKIsFound) {
  // The product of A with its last 64 columns zeroed, judged against the whole A.
  Operands cut = set_.views;
  const auto copy = make_buffer(cut.a.bytes);
  ASSERT_TRUE(stream_->enqueue_copy(whole(copy), cut.a).ok());
  const std::int64_t row_bytes = dtype_bytes(problem_.dtype, problem_.shape.k);
  const std::int64_t cut_bytes = dtype_bytes(problem_.dtype, 64);
  for (std::int64_t row = 0; row < problem_.shape.m; ++row)
    ASSERT_TRUE(
        stream_->enqueue_set({copy.get(), (row + 1) * row_bytes - cut_bytes, cut_bytes}, 0).ok());
  ASSERT_TRUE(stream_->synchronize().ok());
  cut.a = whole(copy);
  run_once(*plan_, cut);
  const VerifyCounts counts = verify_all(problem_, set_.views);
  EXPECT_GT(counts.bad, counts.checked / 2) << describe(counts);
}

std::string name_of(const testing::TestParamInfo<DType>& info) {
  return std::string(dtype_name(info.param));
}
INSTANTIATE_TEST_SUITE_P(Dtypes, GpuFaults,
                         testing::Values(DType::bfloat16, DType::float16, DType::float32,
                                         DType::float64, DType::int8, DType::float8_e4m3fn),
                         name_of);

// A buffer that the device never gave: its address is not mapped.
class WildBuffer final : public Buffer {
 public:
  std::int64_t bytes() const override { return 1 << 20; }
  void* address() const override { return reinterpret_cast<void*>(0x10000); }
};

// Runs in a process of its own: the fault poisons the context for good.
[[noreturn]] void fault_and_report() {
  const WildBuffer wild;
  const View view{&wild, 0, wild.bytes()};
  if (device().dead()) std::exit(2);
  const auto buffer = make_buffer(1 << 20);
  if (device().fill(view, DType::float32, DataKind::ones, 1).ok()) std::exit(3);
  if (!device().dead()) std::exit(4);
  if (device().allocate(1 << 20).ok()) std::exit(5);
  if (device().fill(whole(buffer), DType::float32, DataKind::ones, 1).ok()) std::exit(6);
  const auto later = device().memory();
  if (later.ok() || later.error().message().find("lost") == std::string::npos) std::exit(7);
  std::_Exit(0);
}

TEST(GpuDeath, AFaultingKernelMarksTheDeviceDeadForAllLaterCalls) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(fault_and_report(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace gemmpeak::gpu_test
