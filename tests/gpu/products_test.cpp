// Products of every dtype, layout and suggestion against the float64 reference.
#include <set>

#include "gpu_support.hpp"

namespace gemmpeak::gpu_test {
namespace {

void expect_right(const GemmProblem& problem, const PlanRequest& request = {}) {
  SCOPED_TRACE(std::string(dtype_name(problem.dtype)) + " " + problem.shape.str() + " " +
               std::string(layout_name(problem.layout)) + " rank " + std::to_string(request.rank));
  const OperandSet set = make_operands(problem);
  auto plan = device().plan(problem, request);
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  SCOPED_TRACE((*plan)->algorithm().name);
  EXPECT_EQ((*plan)->algorithm().provider, "cublasLt");
  EXPECT_EQ((*plan)->algorithm().is_default, request.rank == 0);
  run_once(**plan, set.views);
  const VerifyCounts counts = verify_all(problem, set.views);
  EXPECT_EQ(counts.checked, problem.shape.m * problem.shape.n);
  EXPECT_EQ(counts.bad, 0) << describe(counts);
  EXPECT_EQ(counts.not_finite, 0) << describe(counts);
  if (problem.output == DType::int32) return;  // -1 is a value there
  auto unwritten = device().count_bytes_equal(set.views.c, problem.output,
                                              problem.shape.m * problem.shape.n, 0xff);
  ASSERT_TRUE(unwritten.ok()) << unwritten.error().message();
  EXPECT_EQ(*unwritten, 0);
}

TEST(GpuProducts, EverySupportedDtypeIsRightOnFourShapes) {
  int tried = 0;
  for (const DTypeInfo& row : dtype_table()) {
    if (!row.input || !device().capability(row.dtype).supported) continue;
    // The last three leave partial tiles in M, N and K.
    for (const GemmShape shape : {GemmShape{1024, 1024, 1024}, GemmShape{1000, 1040, 544},
                                  GemmShape{136, 272, 2080}, GemmShape{1032, 2064, 4128}})
      expect_right(reference_problem(row.dtype, shape));
    ++tried;
  }
  EXPECT_GE(tried, 6);  // bfloat16, float16, float32, tf32, float64, int8 on any Ampere or newer
}

TEST(GpuProducts, OddShapesRunInTheTypesThatTakeThem) {
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16})
    expect_right(reference_problem(dtype, {131, 257, 129}));
}

TEST(GpuProducts, EveryLayoutIsRight) {
  for (const DType dtype :
       {DType::bfloat16, DType::float16, DType::float32, DType::tf32, DType::float64})
    for (const Layout layout : {Layout::tn, Layout::nt, Layout::nn, Layout::tt}) {
      GemmProblem problem = reference_problem(dtype, {264, 520, 784});
      problem.layout = layout;
      expect_right(problem);
    }
}

TEST(GpuProducts, EverySuggestionIsRight) {
  for (const DType dtype : {DType::bfloat16, DType::float8_e4m3fn}) {
    if (!device().capability(dtype).supported) continue;
    const GemmProblem problem = reference_problem(dtype, {2048, 1536, 4096});
    auto count = device().suggestions(problem, PlanRequest{}.max_workspace_bytes);
    ASSERT_TRUE(count.ok()) << count.error().message();
    ASSERT_GE(*count, 1);
    std::set<std::string> names;
    for (int rank = 0; rank < *count; ++rank) {
      PlanRequest request;
      request.rank = rank;
      expect_right(problem, request);
      auto plan = device().plan(problem, request);
      ASSERT_TRUE(plan.ok());
      names.insert((*plan)->algorithm().name);
    }
    // Different where the default is also the first of the longer list, as cuBLASLt promises.
    EXPECT_EQ(static_cast<int>(names.size()), *count) << dtype_name(dtype);
    PlanRequest beyond;
    beyond.rank = *count;
    EXPECT_FALSE(device().plan(problem, beyond).ok());
  }
}

TEST(GpuProducts, TheWorkspaceLimitIsKept) {
  const GemmProblem problem = reference_problem(DType::bfloat16, {256, 256, 16384});
  PlanRequest none;
  none.max_workspace_bytes = 0;
  auto plan = device().plan(problem, none);
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  EXPECT_EQ((*plan)->algorithm().workspace_bytes, 0);
  expect_right(problem, none);
  expect_right(problem);
}

TEST(GpuProducts, Fp8RunsWithFastAccumulationAndSaysSo) {
  if (!device().capability(DType::float8_e4m3fn).supported) GTEST_SKIP() << "no FP8 here";
  GemmProblem problem = reference_problem(DType::float8_e4m3fn, {512, 768, 1024});
  problem.fast_accumulation = true;
  expect_right(problem);
  auto plan = device().plan(problem, {});
  ASSERT_TRUE(plan.ok());
  EXPECT_NE((*plan)->algorithm().name.find("fast-accumulation"), std::string::npos);
}

TEST(GpuProducts, Fp8OutputsOfEveryKindAreRight) {
  if (!device().capability(DType::float8_e4m3fn).supported) GTEST_SKIP() << "no FP8 here";
  for (const DType output :
       {DType::float8_e4m3fn, DType::bfloat16, DType::float16, DType::float32}) {
    GemmProblem problem = reference_problem(DType::float8_e4m3fn, {512, 768, 1024});
    problem.output = output;
    expect_right(problem);
  }
}

TEST(GpuProducts, SaturatedFp8OutputsAreFiniteAndRight) {
  if (!device().capability(DType::float8_e4m3fn).supported) GTEST_SKIP() << "no FP8 here";
  const GemmProblem problem = reference_problem(DType::float8_e4m3fn, {256, 256, 1024});
  const OperandSet set = make_operands(problem, DataKind::ones);  // every sum is 1024 > 448
  auto plan = device().plan(problem, {});
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  run_once(**plan, set.views);
  const VerifyCounts counts = verify_all(problem, set.views);
  EXPECT_EQ(counts.bad, 0) << describe(counts);
}

TEST(GpuProducts, Float32IsNotTf32) {
  // The bound that float32 keeps is broken by TF32 on the same data: the test can tell them apart.
  const GemmShape shape{512, 512, 2048};
  const GemmProblem single = reference_problem(DType::float32, shape);
  const GemmProblem tensor = reference_problem(DType::tf32, shape);
  const OperandSet set = make_operands(single);
  for (const GemmProblem& problem : {single, tensor}) {
    auto plan = device().plan(problem, {});
    ASSERT_TRUE(plan.ok()) << plan.error().message();
    run_once(**plan, set.views);
    const VerifyCounts counts = verify_all(single, set.views);
    if (problem.dtype == DType::float32) {
      EXPECT_EQ(counts.bad, 0) << describe(counts);
    } else {
      EXPECT_GT(counts.bad, 0) << describe(counts);
    }
  }
}

// Operands and results of more than 2^31 elements: 32-bit indices would wrap.
void expect_right_when_huge(GemmShape shape) {
  const GemmProblem problem = reference_problem(DType::bfloat16, shape);
  const std::int64_t needed = device().operand_sizes(problem).total();
  auto memory = device().memory();
  ASSERT_TRUE(memory.ok());
  if (needed + (1LL << 30) > memory->free_bytes) GTEST_SKIP() << needed << " bytes do not fit";
  const OperandSet set = make_operands(problem);
  auto plan = device().plan(problem, {});
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  run_once(**plan, set.views);
  auto counts = device().verify(problem, set.views, spread(shape.m, 96), spread(shape.n, 96),
                                tolerance_for(problem));
  ASSERT_TRUE(counts.ok()) << counts.error().message();
  EXPECT_EQ(counts->bad, 0) << describe(*counts);
  auto unwritten = device().count_bytes_equal(set.views.c, problem.output, shape.m * shape.n, 0xff);
  ASSERT_TRUE(unwritten.ok());
  EXPECT_EQ(*unwritten, 0);
}

TEST(GpuProducts, MoreThan31BitsOfResultsAreRight) { expect_right_when_huge({65536, 32896, 64}); }
TEST(GpuProducts, MoreThan31BitsOfOperandAreRight) { expect_right_when_huge({1048832, 256, 2080}); }

}  // namespace
}  // namespace gemmpeak::gpu_test
