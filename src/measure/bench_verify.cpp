// Verification (M7): the tolerance and its sources, the rows and columns that are checked, and the
// poison that shows what was not written.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/bench_core.hpp"

namespace gemmpeak {
namespace {

using measure::Core;
using measure::Ready;

// --- tolerance --------------------------------------------------------------------------------
// Rounding errors of a sum of K terms grow like sqrt(K) u with overwhelming probability (Higham and
// Mary, A new approach to probabilistic rounding error analysis, SIAM J. Sci. Comput. 41(5), 2019);
// the factor 2 covers the largest of all elements of C.
constexpr double kProbabilistic = 2;
// u of the accumulator. Tensor cores truncate where IEEE rounds to nearest: twice the unit (Fasi,
// Higham, Mikaitis, Pranesh, Numerical behavior of NVIDIA tensor cores, PeerJ CS 7:e330, 2021).
constexpr double kSingle = 0x1p-24;
constexpr double kTensorCore = 0x1p-23;
// The fp64 reference has rounding errors of the same kind: both sides are covered.
constexpr double kDouble = 2 * 0x1p-53;
// Block-scaled products: their accumulators are not documented; two bits are granted.
constexpr double kBlockScaled = 0x1p-21;
// TF32 keeps 10 significand bits of each operand: 2^-11 each if rounded, so 2 x 2^-11 of s.
constexpr double kTf32Operands = 2 * 0x1p-11;
// Hopper's fp8 products are summed with about 14 bits inside an instruction (DeepSeek-V3 technical
// report, section 3.3.2) and promoted to fp32 between them: 32 addends, each truncated at 2^-13 of
// the largest, whatever K is. With fast accumulation the partial sum itself lives in those 14 bits
// over K / 32 instructions.
constexpr double kFp8Instruction = 0x1p-10;
constexpr double kFp8Fast = 0x1p-13 / 32;

bool is_fp8(DType dtype) {
  return dtype == DType::float8_e4m3fn || dtype == DType::float8_e5m2 ||
         dtype == DType::float8_e4m3fnuz;
}

// Half the smallest subnormal of an output: what rounding near zero may cost.
double half_smallest(DType output) {
  switch (output) {
    case DType::float16:
      return 0x1p-25;
    case DType::float8_e4m3fn:
      return 0x1p-10;
    case DType::float8_e4m3fnuz:
      return 0x1p-11;
    case DType::float8_e5m2:
      return 0x1p-17;
    default:
      return 0x1p-126;  // bf16 and wider: devices may flush denormals
  }
}

double accumulation_bound(const GemmProblem& problem) {
  const double root = std::sqrt(static_cast<double>(problem.shape.k));
  if (is_fp8(problem.dtype))
    return kFp8Instruction +
           kProbabilistic * root * (problem.fast_accumulation ? kFp8Fast : kTensorCore);
  if (dtype_info(problem.dtype).scale_block > 0) return kProbabilistic * root * kBlockScaled;
  switch (problem.dtype) {
    case DType::float64:
      return kProbabilistic * root * kDouble;
    case DType::float32:
      return kProbabilistic * root * kSingle;
    case DType::tf32:
      return kTf32Operands + kProbabilistic * root * kTensorCore;
    default:
      return kProbabilistic * root * kTensorCore;
  }
}

std::string words_of(const GemmProblem& problem, const Tolerance& t) {
  if (problem.dtype == DType::int8) return "exact (integers)";
  std::string out = fmt::format("|c - r| <= {:.3g} |r| + {:.3g} sum|a||b| + {:.3g}",
                                t.output_roundoff, t.accumulation, t.absolute);
  out += fmt::format(": rounding to {}, ", dtype_name(problem.output));
  if (is_fp8(problem.dtype))
    out += problem.fast_accumulation ? "2^-10 + 2 sqrt(K) 2^-18 for fast fp8 accumulation"
                                     : "2^-10 + 2 sqrt(K) 2^-23 for fp8 accumulation";
  else if (dtype_info(problem.dtype).scale_block > 0)
    out += "2 sqrt(K) 2^-21 for accumulation";
  else if (problem.dtype == DType::float64)
    out += "2 sqrt(K) 2^-52 for accumulation";
  else if (problem.dtype == DType::float32)
    out += "2 sqrt(K) 2^-24 for accumulation";
  else if (problem.dtype == DType::tf32)
    out += "2^-10 for the operands and 2 sqrt(K) 2^-23 for accumulation";
  else
    out += "2 sqrt(K) 2^-23 for accumulation";
  if (t.max_finite > 0) out += fmt::format(", r clamped to +-{:g}", t.max_finite);
  return out;
}

// --- what is checked --------------------------------------------------------------------------
constexpr std::int64_t kStripeRows = 32;  // one row of each: no tile of 32 rows or more is missed
constexpr std::int64_t kLeastRows = 16;
constexpr std::int64_t kColumns = 16;
// The reference product costs 2 rows N K flop in float64. On a CPU that is bounded to about a
// second of one core; elsewhere to about a second of a plain float64 kernel.
constexpr double kCpuFlop = 4e9;
constexpr double kAcceleratorFlop = 2e12;

// splitmix64 (Steele, Lea, Flood 2014).
struct Random {
  std::uint64_t state;
  std::int64_t below(std::int64_t bound) {
    state += 0x9e3779b97f4a7c15ULL;
    std::uint64_t x = state;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    x ^= x >> 31;
    return static_cast<std::int64_t>(x % static_cast<std::uint64_t>(bound));
  }
};

// One index in each of `stripes` equal stripes of [0, size), and the last index.
std::vector<std::int64_t> one_in_each(std::int64_t size, std::int64_t stripes, Random& random) {
  std::vector<std::int64_t> out;
  stripes = std::clamp<std::int64_t>(stripes, 1, size);
  for (std::int64_t i = 0; i < stripes; ++i) {
    const std::int64_t from = size * i / stripes;
    const std::int64_t to = size * (i + 1) / stripes;
    out.push_back(from + random.below(to - from));
  }
  if (out.back() != size - 1) out.push_back(size - 1);
  return out;
}

std::vector<std::int64_t> all_of(std::int64_t size) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i) out[static_cast<std::size_t>(i)] = i;
  return out;
}

std::int64_t row_stripes(const GemmShape& shape, DeviceKind kind) {
  const double each = 2.0 * static_cast<double>(shape.n) * static_cast<double>(shape.k);
  const double most = (kind == DeviceKind::cpu ? kCpuFlop : kAcceleratorFlop) / each;
  const std::int64_t wanted = std::max(kLeastRows, (shape.m + kStripeRows - 1) / kStripeRows);
  return std::max(kLeastRows, std::min(wanted, static_cast<std::int64_t>(std::min(most, 1e9))));
}

// --- poison -----------------------------------------------------------------------------------
// A byte pattern that no written element has. All ones is a NaN in every float format but e4m3fnuz,
// whose only NaN is 0x80. Integers have no such value, so two patterns are used in two runs: an
// element that the product leaves alone keeps both.
std::vector<std::uint8_t> poisons(DType output) {
  if (dtype_info(output).max_finite == 0) return {0xA5, 0x5A};
  if (output == DType::float8_e4m3fnuz) return {0x80};
  return {0xFF};
}

Result<std::int64_t> count_unwritten(Core& core, const Ready& ready) {
  const GemmProblem& problem = ready.plan->problem();
  const std::int64_t elements = ready.shape.m * ready.shape.n;
  std::int64_t unwritten = elements;
  for (const std::uint8_t poison : poisons(problem.output)) {
    GEMMPEAK_TRY(core.stream->enqueue_set(ready.operands.c, poison));
    GEMMPEAK_TRY(core.stream->enqueue_gemm(*ready.plan, ready.operands));
    GEMMPEAK_TRY(core.stream->synchronize());
    const auto left =
        core.device.count_bytes_equal(ready.operands.c, problem.output, elements, poison);
    if (!left) return left.error();
    unwritten = std::min(unwritten, *left);
  }
  return unwritten;
}

void add(VerifyRecord& out, const VerifyCounts& counts) {
  const std::int64_t bad = std::max(counts.bad, counts.not_finite);
  if (bad > 0 && (out.outcome.ok() || counts.worst_ratio > out.worst_ratio))
    out.outcome = {
        OutcomeState::wrong_result,
        fmt::format("the worst element, row {} column {}, is {:g} where {:g} is due",
                    counts.worst_row, counts.worst_col, counts.worst_got, counts.worst_want)};
  out.checked += counts.checked;
  out.bad += bad;
  out.worst_ratio = std::max(out.worst_ratio, counts.worst_ratio);
}

Result<void> check(Core& core, const Ready& ready, const Tolerance& tolerance, VerifyRecord& out) {
  const auto unwritten = count_unwritten(core, ready);
  if (!unwritten) return unwritten.error();
  out.unwritten = *unwritten;
  const GemmProblem& problem = ready.plan->problem();
  const GemmShape& shape = ready.shape;
  Random random{core.settings.seed ^
                static_cast<std::uint64_t>(shape.m * 1000003 + shape.n * 1009 + shape.k)};
  const auto rows = one_in_each(shape.m, row_stripes(shape, core.device.info().kind), random);
  const auto columns = one_in_each(shape.n, kColumns, random);
  const auto striped =
      core.device.verify(problem, ready.operands, rows, all_of(shape.n), tolerance);
  if (!striped) return striped.error();
  add(out, *striped);
  const auto upright =
      core.device.verify(problem, ready.operands, all_of(shape.m), columns, tolerance);
  if (!upright) return upright.error();
  add(out, *upright);
  return {};
}

}  // namespace

Tolerance verification_tolerance(const GemmProblem& problem, std::string* words) {
  Tolerance out;
  if (problem.dtype != DType::int8) {
    out.output_roundoff = dtype_info(problem.output).unit_roundoff;
    out.accumulation = accumulation_bound(problem);
    out.absolute = half_smallest(problem.output);
    if (is_fp8(problem.output)) out.max_finite = dtype_info(problem.output).max_finite;
  }
  if (words != nullptr) *words = words_of(problem, out);
  return out;
}

VerifyRecord Bench::verify(GemmShape shape, int rank) {
  Core& core = state_->core;
  VerifyRecord out;
  out.shape = shape;
  const Tolerance tolerance = verification_tolerance(problem(shape), &out.bound);
  const Ready ready = core.ready(shape, rank, 1, false);
  out.algorithm = ready.algorithm;
  out.outcome = ready.outcome;
  if (!out.outcome.ok()) return out;
  if (const auto checked = check(core, ready, tolerance, out); !checked) {
    out.outcome = measure::outcome_of(checked.error());
    return out;
  }
  if (out.bad > 0)
    out.outcome.reason = fmt::format("{} of {} elements checked are wrong; {}", out.bad,
                                     out.checked, out.outcome.reason);
  if (out.unwritten > 0)
    out.outcome = {OutcomeState::wrong_result,
                   fmt::format("{} elements of C were never written{}{}", out.unwritten,
                               out.bad > 0 ? "; " : "", out.outcome.reason)};
  return out;
}

}  // namespace gemmpeak
