#include "contract.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gemmpeak::contract {

std::vector<DType> supported_dtypes() {
  std::vector<DType> out;
  for (const DTypeInfo& row : dtype_table())
    if (row.input && device().capability(row.dtype).supported) out.push_back(row.dtype);
  return out;
}

namespace {
Result<View> allocate(std::unique_ptr<Buffer>& buffer, std::int64_t bytes) {
  if (bytes == 0) return View{};
  auto made = device().allocate(bytes);
  if (!made) return made.error();
  buffer = std::move(made).value();
  return View{buffer.get(), 0, bytes};
}
}  // namespace

Result<Work> make_work(const GemmProblem& problem) {
  Work work;
  work.problem = problem;
  work.sizes = device().operand_sizes(problem);
  const std::pair<std::unique_ptr<Buffer>*, View*> parts[] = {
      {&work.a, &work.operands.a},
      {&work.b, &work.operands.b},
      {&work.c, &work.operands.c},
      {&work.scale_a, &work.operands.scale_a},
      {&work.scale_b, &work.operands.scale_b}};
  const std::int64_t sizes[] = {work.sizes.a, work.sizes.b, work.sizes.c, work.sizes.scale_a,
                                work.sizes.scale_b};
  for (int i = 0; i < 5; ++i) {
    auto view = allocate(*parts[i].first, sizes[i]);
    if (!view) return view.error();
    *parts[i].second = *view;
  }
  for (const View& scale : {work.operands.scale_a, work.operands.scale_b})
    if (scale.bytes > 0) GEMMPEAK_TRY(device().fill_unit_scales(scale, problem.dtype));
  auto plan = device().plan(problem, {});
  if (!plan) return plan.error();
  work.plan = std::move(plan).value();
  auto stream = device().make_stream();
  if (!stream) return stream.error();
  work.stream = std::move(stream).value();
  GEMMPEAK_TRY(work.stream->reserve(8, 0));
  return work;
}

Result<void> Work::fill(DataKind kind, std::uint64_t seed) {
  GEMMPEAK_TRY(device().fill(operands.a, problem.dtype, kind, seed));
  // No library has a product of two e5m2 matrices: B is e4m3fn then (docs/measuring.md).
  const DType b = problem.dtype == DType::float8_e5m2 ? DType::float8_e4m3fn : problem.dtype;
  return device().fill(operands.b, b, kind, seed + 1);
}

Result<void> Work::poison(std::uint8_t value) {
  GEMMPEAK_TRY(stream->enqueue_set(operands.c, value));
  return stream->synchronize();
}

Result<void> Work::run() {
  GEMMPEAK_TRY(stream->enqueue_gemm(*plan, operands));
  return stream->synchronize();
}

Result<VerifyCounts> Work::verify(const Tolerance& tolerance) const {
  return device().verify(problem, operands, rows(), cols(), tolerance);
}

Result<std::int64_t> Work::count_equal(std::uint8_t value) const {
  return device().count_bytes_equal(operands.c, problem.output, problem.shape.m * problem.shape.n,
                                    value);
}

bool is_integer(DType dtype) { return dtype == DType::int8 || dtype == DType::int32; }

namespace {
bool is_wide(DType output) {
  return output == DType::float32 || output == DType::float64 || is_integer(output);
}
double saturates_at(DType output) {
  return dtype_info(output).bits == 8 && !is_integer(output) ? dtype_info(output).max_finite : 0;
}
}  // namespace

Tolerance exact_tolerance(const GemmProblem& problem) {
  Tolerance tolerance;
  tolerance.output_roundoff =
      is_wide(problem.output) ? 0 : dtype_info(problem.output).unit_roundoff;
  tolerance.max_finite = saturates_at(problem.output);
  return tolerance;
}

Tolerance loose_tolerance(const GemmProblem& problem) {
  Tolerance tolerance = exact_tolerance(problem);
  const bool small = dtype_info(problem.dtype).bits <= 8;
  // tf32 drops 13 bits of each factor; 8-bit tensor cores keep about 13 bits of a partial sum
  // (arXiv:2412.19437, 3.3.2).
  double step = problem.dtype == DType::float64 ? 0x1p-53 : small ? 0x1p-13 : 0x1p-24;
  if (problem.dtype == DType::tf32) step = 0x1p-10 / static_cast<double>(problem.shape.k);
  tolerance.accumulation = step * static_cast<double>(problem.shape.k);
  if (is_integer(problem.output)) return tolerance = {};
  // Results under the smallest normal of an 8-bit output are rounded to its last denormal place.
  if (problem.output == DType::float8_e5m2)
    tolerance.absolute = 0x1p-17;
  else if (dtype_info(problem.output).bits == 8)
    tolerance.absolute = 0x1p-10;
  return tolerance;
}

std::uint8_t foreign_byte(DType output) {
  switch (output) {  // the 8-bit formats' largest finite values
    case DType::float8_e4m3fn:
      return 0x7E;
    case DType::float8_e5m2:
      return 0x7B;
    case DType::float8_e4m3fnuz:
      return 0x7F;
    default:
      return 0x55;  // 1.5e13 in bfloat16, 85 in float16's exponent, 1.4e9 in int32
  }
}

std::uint8_t nan_byte(DType output) { return output == DType::float8_e4m3fnuz ? 0x80 : 0xFF; }

}  // namespace gemmpeak::contract
