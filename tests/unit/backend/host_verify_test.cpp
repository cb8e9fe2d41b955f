#include "backend/host_verify.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "backend/host_convert.hpp"
#include "backend/host_fill.hpp"

namespace gemmpeak {
namespace {

std::vector<std::int64_t> all(std::int64_t count) {
  std::vector<std::int64_t> lines(static_cast<std::size_t>(count));
  std::iota(lines.begin(), lines.end(), 0);
  return lines;
}

// A product of `ints` data, done by the plainest loop there is.
struct Product {
  explicit Product(const GemmProblem& p) : problem(p) {
    const auto [m, n, k] = p.shape;
    a.resize(static_cast<std::size_t>(dtype_bytes(p.dtype, m * k)));
    b.resize(static_cast<std::size_t>(dtype_bytes(p.dtype, n * k)));
    c.resize(static_cast<std::size_t>(dtype_bytes(p.output, m * n)));
    host_fill(a.data(), m * k, p.dtype, DataKind::ints, 1);
    host_fill(b.data(), n * k, p.dtype, DataKind::ints, 2);
    const bool a_by_k = p.layout == Layout::tn || p.layout == Layout::tt;
    const bool b_by_k = p.layout == Layout::tn || p.layout == Layout::nn;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l)
          sum += load_element(p.dtype, a.data(), a_by_k ? i * k + l : l * m + i) *
                 load_element(p.dtype, b.data(), b_by_k ? j * k + l : l * n + j);
        store_element(p.output, c.data(), i * n + j, sum);
      }
  }
  Result<VerifyCounts> verify(const Tolerance& tolerance,
                              const ParallelFor& parallel = run_serially) const {
    return host_verify(problem, {a.data(), b.data(), c.data(), {}}, all(problem.shape.m),
                       all(problem.shape.n), tolerance, parallel);
  }
  void set(std::int64_t row, std::int64_t col, double value) {
    store_element(problem.output, c.data(), row * problem.shape.n + col, value);
  }
  GemmProblem problem;
  std::vector<std::uint8_t> a, b, c;
};

Tolerance rounding_of(const GemmProblem& p) {
  const DTypeInfo& out = dtype_info(p.output);
  const bool saturates = out.bits == 8 && p.output != DType::int8;
  return {out.bits < 32 ? out.unit_roundoff : 0, 0, 0, saturates ? out.max_finite : 0};
}

TEST(HostVerify, RightProductsPassInEveryDtypeAndLayout) {
  for (const DTypeInfo& row : dtype_table())
    for (const Layout layout : {Layout::tn, Layout::nt, Layout::nn, Layout::tt}) {
      if (!row.input) continue;
      GemmProblem problem = reference_problem(row.dtype, {19, 22, 96});
      problem.layout = layout;
      const auto counts = Product(problem).verify(rounding_of(problem)).value();
      EXPECT_EQ(counts.checked, 19 * 22);
      EXPECT_EQ(counts.bad, 0) << row.name << " " << layout_name(layout);
    }
}

TEST(HostVerify, ASumOverManyChunksOfKIsWhole) {
  const auto counts = Product(reference_problem(DType::float64, {2, 3, 2500})).verify({}).value();
  EXPECT_EQ(counts.bad, 0);
}

TEST(HostVerify, OneWrongElementIsNamedWithWhatItShouldBe) {
  Product product(reference_problem(DType::float32, {33, 40, 64}));
  const double want = load_element(DType::float32, product.c.data(), 31 * 40 + 17);
  product.set(31, 17, want + 1);
  const auto counts = product.verify({.absolute = 0.25}).value();
  EXPECT_EQ(counts.bad, 1);
  EXPECT_EQ(counts.worst_row, 31);
  EXPECT_EQ(counts.worst_col, 17);
  EXPECT_EQ(counts.worst_got, want + 1);
  EXPECT_EQ(counts.worst_want, want);
  EXPECT_DOUBLE_EQ(counts.worst_ratio, 4);
}

TEST(HostVerify, TheBoundIsRoundoffPlusAccumulationPlusAbsolute) {
  GemmProblem problem = reference_problem(DType::float32, {1, 1, 4});
  Product product(problem);
  const float a[] = {1, -2, 3, 1}, b[] = {2, 1, 1, 5};  // r = 8, s = 12
  std::memcpy(product.a.data(), a, sizeof a);
  std::memcpy(product.b.data(), b, sizeof b);
  const Tolerance tolerance{.output_roundoff = 0.125, .accumulation = 0.25, .absolute = 0.5};
  product.set(0, 0, 8 + 1 + 3 + 0.5);  // exactly the bound
  EXPECT_EQ(product.verify(tolerance)->bad, 0);
  product.set(0, 0, 8 + 1 + 3 + 0.5 + 0.001);
  EXPECT_EQ(product.verify(tolerance)->bad, 1);
}

TEST(HostVerify, NotFiniteFailsWhateverTheBound) {
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    Product product(reference_problem(DType::bfloat16, {16, 16, 32}));
    product.set(3, 4, value);
    const auto counts = product.verify({1e30, 1e30, 1e30, 0}).value();
    EXPECT_EQ(counts.bad, 1);
    EXPECT_EQ(counts.not_finite, 1);
    EXPECT_EQ(counts.worst_row, 3);
    EXPECT_EQ(counts.worst_ratio, kWorstRatio);
  }
}

TEST(HostVerify, SaturatingOutputsAreJudgedAgainstTheClampedSum) {
  const GemmProblem problem = reference_problem(DType::float8_e4m3fn, {1, 1, 128});
  Product product(problem);
  host_fill(product.a.data(), 128, problem.dtype, DataKind::ones, 0);
  for (int k = 0; k < 128; ++k) store_element(problem.dtype, product.b.data(), k, 8);
  product.set(0, 0, 448);  // the sum is 1024
  EXPECT_EQ(product.verify({0x1p-4, 0, 0, 448})->bad, 0);
  EXPECT_EQ(product.verify({0x1p-4, 0, 0, 0})->bad, 1);
}

TEST(HostVerify, TheAnswerDoesNotDependOnHowTheWorkIsSplit) {
  Product product(reference_problem(DType::float32, {50, 50, 64}));
  for (const int i : {5, 20, 44}) product.set(i, i, 1e6);
  const ParallelFor backwards = [](std::int64_t count, const RangeBody& body) {
    for (std::int64_t i = count; i-- > 0;) body(i, i + 1);
  };
  const auto one = product.verify({}).value(), other = product.verify({}, backwards).value();
  EXPECT_EQ(one.bad, 3);
  EXPECT_EQ(other.bad, 3);
  EXPECT_EQ(one.checked, other.checked);
  EXPECT_EQ(one.worst_row, 5);
  EXPECT_EQ(other.worst_row, 5);
}

TEST(HostVerify, MixedEightBitTypesAreReadByTheirOwnFormats) {
  GemmProblem problem = reference_problem(DType::float8_e5m2, {4, 4, 64});
  problem.output = DType::float32;
  Product product(problem);
  host_fill(product.b.data(), 4 * 64, DType::float8_e4m3fn, DataKind::ints, 2);
  const auto lines = all(4);
  EXPECT_EQ(
      host_verify(problem,
                  {product.a.data(), product.b.data(), product.c.data(), DType::float8_e4m3fn},
                  lines, lines, {})
          ->bad,
      0);
  EXPECT_GT(product.verify({})->bad, 0);
}

TEST(HostVerify, LinesOutsideOfCAreAnError) {
  const Product product(reference_problem(DType::float32, {4, 5, 6}));
  const HostOperands operands{product.a.data(), product.b.data(), product.c.data(), {}};
  const std::int64_t inside = 0, row = 4, col = 5, negative = -1;
  EXPECT_FALSE(host_verify(product.problem, operands, {&row, 1}, {&inside, 1}, {}).ok());
  EXPECT_FALSE(host_verify(product.problem, operands, {&inside, 1}, {&col, 1}, {}).ok());
  EXPECT_FALSE(host_verify(product.problem, operands, {&negative, 1}, {&inside, 1}, {}).ok());
}

TEST(HostVerify, PoisonCountsWholeElementsOnly) {
  std::vector<std::uint8_t> c(64, 0xA5);
  EXPECT_EQ(host_count_bytes_equal(c.data(), DType::float32, 16, 0xA5), 16);
  c[5] = 0;  // half of a poisoned element is no poisoned element
  EXPECT_EQ(host_count_bytes_equal(c.data(), DType::float32, 16, 0xA5), 15);
  EXPECT_EQ(host_count_bytes_equal(c.data(), DType::float64, 8, 0xA5), 7);
  EXPECT_EQ(host_count_bytes_equal(c.data(), DType::float8_e4m3fn, 64, 0xA5), 63);
  EXPECT_EQ(host_count_bytes_equal(c.data(), DType::float32, 0, 0xA5), 0);
}

}  // namespace
}  // namespace gemmpeak
