// Products are right, and verification catches the ways in which they could be wrong. A simulated
// device does no arithmetic: there the tests of planted faults are skipped.
#include <cmath>

#include "contract.hpp"

namespace gemmpeak::contract {
namespace {

// One test a dtype; those the device refuses are skipped with its reason.
class NumericContract : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    const Capability can = device().capability(GetParam());
    if (!can.supported) GTEST_SKIP() << can.reason;
  }
  // A verified product of whole numbers, C poisoned before.
  void run_exact(Work& work) {
    CONTRACT_OK(work.fill(DataKind::ints, 7));
    CONTRACT_OK(work.poison(foreign_byte(work.problem.output)));
    CONTRACT_OK(work.run());
  }
};

#define CONTRACT_NEEDS_ARITHMETIC() \
  if (simulated()) GTEST_SKIP() << "a simulated device does no arithmetic"

std::string dtype_test_name(const testing::TestParamInfo<DType>& info) {
  return std::string(dtype_name(info.param));
}
std::vector<DType> input_dtypes() {
  std::vector<DType> out;
  for (const DTypeInfo& row : dtype_table())
    if (row.input) out.push_back(row.dtype);
  return out;
}
INSTANTIATE_TEST_SUITE_P(EachDtype, NumericContract, testing::ValuesIn(input_dtypes()),
                         dtype_test_name);

TEST_P(NumericContract, WholeNumbersMultiplyExactly) {
  auto work = make_work(reference_problem(GetParam(), kShape));
  CONTRACT_OK(work);
  run_exact(*work);
  auto counts = work->verify(exact_tolerance(work->problem));
  CONTRACT_OK(counts);
  EXPECT_EQ(counts->checked, kShape.m * kShape.n);
  EXPECT_EQ(counts->bad, 0) << counts->worst_row << "," << counts->worst_col << " got "
                            << counts->worst_got << " want " << counts->worst_want;
  EXPECT_EQ(counts->not_finite, 0);
}

TEST_P(NumericContract, NormalDataMultipliesWithinRoundingAtEveryRank) {
  const GemmProblem problem = reference_problem(GetParam(), kShape);
  auto work = make_work(problem);
  CONTRACT_OK(work);
  CONTRACT_OK(work->fill(DataKind::normal, 11));
  auto ranks = device().suggestions(problem, PlanRequest{}.max_workspace_bytes);
  CONTRACT_OK(ranks);
  for (int rank = 0; rank < *ranks; ++rank) {
    auto plan = device().plan(problem, {.rank = rank});
    CONTRACT_OK(plan);
    work->plan = std::move(plan).value();
    CONTRACT_OK(work->poison(foreign_byte(problem.output)));
    CONTRACT_OK(work->run());
    auto counts = work->verify(loose_tolerance(problem));
    CONTRACT_OK(counts);
    EXPECT_EQ(counts->bad, 0) << work->plan->algorithm().name << ": got " << counts->worst_got
                              << " want " << counts->worst_want;
  }
}

TEST_P(NumericContract, TheSameSeedGivesTheSameDataAndAnotherSeedOther) {
  CONTRACT_NEEDS_ARITHMETIC();
  auto work = make_work(reference_problem(GetParam(), kShape));
  CONTRACT_OK(work);
  const Tolerance tolerance = loose_tolerance(work->problem);
  CONTRACT_OK(work->fill(DataKind::normal, 3));
  CONTRACT_OK(work->run());
  CONTRACT_OK(work->fill(DataKind::ones, 3));  // overwritten, then made again
  CONTRACT_OK(work->fill(DataKind::normal, 3));
  auto same = work->verify(tolerance);
  CONTRACT_OK(same);
  EXPECT_EQ(same->bad, 0);
  CONTRACT_OK(work->fill(DataKind::normal, 4));
  auto other = work->verify(tolerance);
  CONTRACT_OK(other);
  EXPECT_GT(other->bad, other->checked / 2);
}

// Row sums of standard normal A against ones: mean 0 and variance K, seen through the verifier,
// which reports |C| / bound. With bound = 6 sqrt(K) no row may fail, with 0.01 sqrt(K) nearly all
// must.
TEST_P(NumericContract, NormalDataIsNeitherZeroNorWild) {
  CONTRACT_NEEDS_ARITHMETIC();
  if (dtype_info(GetParam()).bits == 4) GTEST_SKIP() << "fp4 data are random bytes";
  auto work = make_work(reference_problem(GetParam(), kShape));
  CONTRACT_OK(work);
  CONTRACT_OK(device().fill(work->operands.a, GetParam(), DataKind::normal, 5));
  CONTRACT_OK(device().fill(work->operands.b, GetParam(), DataKind::ones, 5));
  CONTRACT_OK(work->run());
  CONTRACT_OK(device().fill(work->operands.a, GetParam(), DataKind::zeros, 5));
  Tolerance wide;
  wide.absolute = 6 * std::sqrt(static_cast<double>(kShape.k));
  auto counts = work->verify(wide);
  CONTRACT_OK(counts);
  EXPECT_EQ(counts->bad, 0) << counts->worst_got;
  Tolerance narrow;
  narrow.absolute = 0.01 * std::sqrt(static_cast<double>(kShape.k));
  counts = work->verify(narrow);
  CONTRACT_OK(counts);
  EXPECT_GT(counts->bad, counts->checked * 9 / 10);
}

TEST_P(NumericContract, OneWrongElementIsFoundAndNamed) {
  CONTRACT_NEEDS_ARITHMETIC();
  auto work = make_work(reference_problem(GetParam(), kShape));
  CONTRACT_OK(work);
  run_exact(*work);
  CONTRACT_OK(
      work->stream->enqueue_set(work->c_part(200, 301, 1), foreign_byte(work->problem.output)));
  CONTRACT_OK(work->stream->synchronize());
  auto counts = work->verify(exact_tolerance(work->problem));
  CONTRACT_OK(counts);
  EXPECT_EQ(counts->bad, 1);
  EXPECT_EQ(counts->worst_row, 200);
  EXPECT_EQ(counts->worst_col, 301);
  const std::int64_t row = 199, col = 301;  // one element that is right
  auto next = device().verify(work->problem, work->operands, {&row, 1}, {&col, 1},
                              exact_tolerance(work->problem));
  CONTRACT_OK(next);
  EXPECT_EQ(next->checked, 1);
  EXPECT_EQ(next->bad, 0);
}

TEST_P(NumericContract, AWrongTileIsCountedElementByElement) {
  CONTRACT_NEEDS_ARITHMETIC();
  auto work = make_work(reference_problem(GetParam(), kShape));
  CONTRACT_OK(work);
  run_exact(*work);
  for (std::int64_t row = 240; row < 256; ++row)
    CONTRACT_OK(
        work->stream->enqueue_set(work->c_part(row, 368, 16), foreign_byte(work->problem.output)));
  CONTRACT_OK(work->stream->synchronize());
  auto counts = work->verify(exact_tolerance(work->problem));
  CONTRACT_OK(counts);
  EXPECT_EQ(counts->bad, 256);
}

TEST_P(NumericContract, NanFailsWhateverTheTolerance) {
  CONTRACT_NEEDS_ARITHMETIC();
  auto work = make_work(reference_problem(GetParam(), kShape));
  CONTRACT_OK(work);
  if (is_integer(work->problem.output)) GTEST_SKIP() << "integers have no NaN";
  run_exact(*work);
  CONTRACT_OK(work->stream->enqueue_set(work->c_part(0, 0, 1), nan_byte(work->problem.output)));
  CONTRACT_OK(work->stream->synchronize());
  auto counts = work->verify({.output_roundoff = 1e30, .accumulation = 1e30, .absolute = 1e30});
  CONTRACT_OK(counts);
  EXPECT_EQ(counts->not_finite, 1);
  EXPECT_EQ(counts->bad, 1);
}

TEST_P(NumericContract, ADroppedLastBlockOfKIsFoundNearlyEverywhere) {
  CONTRACT_NEEDS_ARITHMETIC();
  auto work = make_work(reference_problem(GetParam(), kShape));
  CONTRACT_OK(work);
  CONTRACT_OK(work->fill(DataKind::ints, 7));
  // The product of an A whose last 64 columns are zero, judged against the whole A.
  auto kept = device().allocate(work->sizes.a);
  CONTRACT_OK(kept);
  const View whole{kept->get(), 0, work->sizes.a};
  CONTRACT_OK(work->stream->enqueue_copy(whole, work->operands.a));
  for (std::int64_t row = 0; row < kShape.m; ++row) {
    const std::int64_t from = dtype_bytes(GetParam(), row * kShape.k + kShape.k - 64);
    CONTRACT_OK(work->stream->enqueue_set({work->a.get(), from, dtype_bytes(GetParam(), 64)}, 0));
  }
  CONTRACT_OK(work->stream->enqueue_gemm(*work->plan, work->operands));
  CONTRACT_OK(work->stream->enqueue_copy(work->operands.a, whole));
  CONTRACT_OK(work->stream->synchronize());
  auto counts = work->verify(exact_tolerance(work->problem));
  CONTRACT_OK(counts);
  EXPECT_GT(counts->bad, counts->checked / 2);
}

TEST_P(NumericContract, PoisonIsGoneAfterAProductAndAnUnwrittenTileIsCounted) {
  auto work = make_work(reference_problem(GetParam(), kShape));
  CONTRACT_OK(work);
  // An unlikely whole number in wide types; in 8 bits any byte may be a result, so NaN is the
  // poison.
  const std::uint8_t poison =
      dtype_info(work->problem.output).bits == 8 ? nan_byte(work->problem.output) : 0xA5;
  CONTRACT_OK(work->fill(DataKind::ints, 7));
  CONTRACT_OK(work->poison(poison));
  auto all = work->count_equal(poison);
  CONTRACT_OK(all);
  EXPECT_EQ(*all, kShape.m * kShape.n);
  CONTRACT_OK(work->run());
  auto none = work->count_equal(poison);
  CONTRACT_OK(none);
  EXPECT_EQ(*none, 0);
  CONTRACT_NEEDS_ARITHMETIC();
  for (std::int64_t row = 16; row < 32; ++row)
    CONTRACT_OK(work->stream->enqueue_set(work->c_part(row, 32, 16), poison));
  CONTRACT_OK(work->stream->synchronize());
  auto tile = work->count_equal(poison);
  CONTRACT_OK(tile);
  EXPECT_EQ(*tile, 256);
}

TEST_P(NumericContract, OddShapesAreRightOrRefusedWithAReason) {
  for (const GemmShape shape :
       {GemmShape{1, 1, 1}, {17, 33, 65}, {1, 257, 64}, {257, 1, 64}, {64, 64, 1}, {3, 5, 4096}}) {
    const GemmProblem problem = reference_problem(GetParam(), shape);
    auto work = make_work(problem);
    if (!work) {
      EXPECT_FALSE(work.error().message().empty()) << shape.str();
      EXPECT_FALSE(device().dead()) << shape.str();
      continue;
    }
    CONTRACT_OK(work->fill(DataKind::ints, 9));
    CONTRACT_OK(work->run());
    auto counts = work->verify(exact_tolerance(problem));
    CONTRACT_OK(counts);
    EXPECT_EQ(counts->checked, shape.m * shape.n) << shape.str();
    EXPECT_EQ(counts->bad, 0) << shape.str() << ": got " << counts->worst_got << " want "
                              << counts->worst_want;
  }
}

TEST_P(NumericContract, EveryLayoutIsRightOrRefusedWithAReason) {
  for (const Layout layout : {Layout::nt, Layout::nn, Layout::tt}) {
    GemmProblem problem = reference_problem(GetParam(), kShape);
    problem.layout = layout;
    auto work = make_work(problem);
    if (!work) {
      EXPECT_FALSE(work.error().message().empty()) << layout_name(layout);
      continue;
    }
    CONTRACT_OK(work->fill(DataKind::ints, 9));
    CONTRACT_OK(work->run());
    auto counts = work->verify(exact_tolerance(problem));
    CONTRACT_OK(counts);
    EXPECT_EQ(counts->bad, 0) << layout_name(layout);
  }
}

TEST_P(NumericContract, OnePlanServesManyOperandSets) {
  const GemmProblem problem = reference_problem(GetParam(), kShape);
  auto first = make_work(problem), second = make_work(problem);
  CONTRACT_OK(first);
  CONTRACT_OK(second);
  CONTRACT_OK(first->fill(DataKind::ints, 1));
  CONTRACT_OK(second->fill(DataKind::ints, 2));
  for (int round = 0; round < 2; ++round) {
    CONTRACT_OK(first->stream->enqueue_gemm(*first->plan, first->operands));
    CONTRACT_OK(first->stream->enqueue_gemm(*first->plan, second->operands));
  }
  CONTRACT_OK(first->stream->synchronize());
  for (const Work* work : {&*first, &*second}) {
    auto counts = work->verify(exact_tolerance(problem));
    CONTRACT_OK(counts);
    EXPECT_EQ(counts->bad, 0);
  }
}

TEST_P(NumericContract, VerifyRefusesRowsAndColumnsOutsideOfC) {
  CONTRACT_NEEDS_ARITHMETIC();
  auto work = make_work(reference_problem(GetParam(), kShape));
  CONTRACT_OK(work);
  CONTRACT_OK(work->fill(DataKind::ones, 1));
  CONTRACT_OK(work->run());
  const std::int64_t inside = 0, outside = kShape.n;
  EXPECT_FALSE(
      device().verify(work->problem, work->operands, {&inside, 1}, {&outside, 1}, {}).ok());
}

}  // namespace
}  // namespace gemmpeak::contract
