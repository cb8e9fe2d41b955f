#include "backends/cuda/verifier.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/plan.hpp"
#include "backends/cuda/views.hpp"

namespace gemmpeak::cuda {
namespace {

// Enough blocks to keep every multiprocessor busy; each block walks over the tiles.
constexpr std::int64_t kBlocksPerUnit = 4;

Result<void> check_indices(const char* name, std::span<const std::int64_t> indices,
                           std::int64_t limit) {
  for (const std::int64_t i : indices)
    if (i < 0 || i >= limit)
      return error_text(fmt::format("verify: {} {} is outside 0..{}", name, i, limit - 1));
  return {};
}

Result<MemoryHandle> upload(Core& core, std::span<const std::int64_t> values) {
  auto memory = device_memory(core, static_cast<std::int64_t>(values.size_bytes()));
  if (!memory) return memory.error();
  GEMMPEAK_CUDA(core, cudaMemcpyAsync(memory->get(), values.data(), values.size_bytes(),
                                      cudaMemcpyHostToDevice, core.service()));
  return memory;
}

VerifyOperand operand(DType dtype, const View& data, const View& scales, std::int64_t leading,
                      bool k_contiguous) {
  VerifyOperand o{};
  o.data = address_of(data);
  o.element = *element_of(dtype);
  o.stride_i = k_contiguous ? leading : 1;
  o.stride_k = k_contiguous ? 1 : leading;
  o.scale_block = dtype_info(dtype).scale_block;
  o.scales = o.scale_block > 0 ? static_cast<const std::uint8_t*>(address_of(scales)) : nullptr;
  o.scale_e8m0 = dtype != DType::nvfp4;
  return o;
}

VerifyCounts add_up(const std::vector<VerifyPartial>& partials) {
  VerifyCounts total;
  double worst = -1;
  for (const VerifyPartial& part : partials) {
    total.checked += static_cast<std::int64_t>(part.checked);
    total.bad += static_cast<std::int64_t>(part.bad);
    total.not_finite += static_cast<std::int64_t>(part.not_finite);
    if (!(part.worst_ratio > worst)) continue;
    worst = total.worst_ratio = part.worst_ratio;
    total.worst_row = part.worst_row;
    total.worst_col = part.worst_col;
    total.worst_got = part.worst_got;
    total.worst_want = part.worst_want;
  }
  return total;
}

}  // namespace

std::optional<Element> element_of(DType dtype) {
  switch (dtype) {
    case DType::bfloat16:
      return Element::bf16;
    case DType::float16:
      return Element::f16;
    case DType::float32:
    case DType::tf32:
      return Element::f32;
    case DType::float64:
      return Element::f64;
    case DType::int8:
      return Element::i8;
    case DType::int32:
      return Element::i32;
    case DType::float8_e4m3fn:
    case DType::mxfp8:
      return Element::e4m3;
    case DType::float8_e5m2:
      return Element::e5m2;
    case DType::mxfp4:
    case DType::nvfp4:
      return Element::e2m1;
    case DType::float8_e4m3fnuz:
      return std::nullopt;
  }
  return std::nullopt;
}

Result<VerifyCounts> verify_on(Core& core, const GemmProblem& problem, const Operands& operands,
                               std::span<const std::int64_t> rows,
                               std::span<const std::int64_t> cols, const Tolerance& tolerance) {
  const auto [m, n, k] = problem.shape;
  const DType b_type = operand_b_dtype(problem.dtype);
  if (!element_of(problem.dtype) || !element_of(problem.output))
    return error_text(fmt::format("no {} data on NVIDIA GPUs", dtype_name(problem.dtype)));
  GEMMPEAK_TRY(check_indices("row", rows, m));
  GEMMPEAK_TRY(check_indices("column", cols, n));
  GEMMPEAK_TRY(check_operands(operands, sizes_of(problem), 1));
  GEMMPEAK_TRY(core.quiesce());
  if (rows.empty() || cols.empty()) return VerifyCounts{};

  auto device_rows = upload(core, rows);
  if (!device_rows) return device_rows.error();
  auto device_cols = upload(core, cols);
  if (!device_cols) return device_cols.error();
  VerifyArguments arguments{};
  const bool a_k = problem.layout == Layout::tn || problem.layout == Layout::tt;
  const bool b_k = problem.layout == Layout::tn || problem.layout == Layout::nn;
  arguments.a = operand(problem.dtype, operands.a, operands.scale_a, a_k ? k : m, a_k);
  arguments.b = operand(b_type, operands.b, operands.scale_b, b_k ? k : n, b_k);
  arguments.c = address_of(operands.c);
  arguments.c_element = *element_of(problem.output);
  arguments.n = n;
  arguments.k = k;
  arguments.rows = static_cast<const std::int64_t*>(device_rows->get());
  arguments.row_count = static_cast<std::int64_t>(rows.size());
  arguments.cols = static_cast<const std::int64_t*>(device_cols->get());
  arguments.col_count = static_cast<std::int64_t>(cols.size());
  arguments.output_roundoff = tolerance.output_roundoff;
  arguments.accumulation = tolerance.accumulation;
  arguments.absolute = tolerance.absolute;
  arguments.max_finite = tolerance.max_finite;

  const auto tiles_of = [](std::size_t count) {
    return (static_cast<std::int64_t>(count) + kVerifyTile - 1) / kVerifyTile;
  };
  const std::int64_t blocks = std::min<std::int64_t>(tiles_of(rows.size()) * tiles_of(cols.size()),
                                                     core.units() * kBlocksPerUnit);
  std::vector<VerifyPartial> partials(static_cast<std::size_t>(blocks));
  const std::size_t bytes = partials.size() * sizeof(VerifyPartial);
  auto memory = device_memory(core, static_cast<std::int64_t>(bytes));
  if (!memory) return memory.error();
  GEMMPEAK_CUDA(core, launch_verify(arguments, static_cast<VerifyPartial*>(memory->get()),
                                    static_cast<int>(blocks), core.service()));
  GEMMPEAK_CUDA(core, cudaMemcpyAsync(partials.data(), memory->get(), bytes, cudaMemcpyDeviceToHost,
                                      core.service()));
  GEMMPEAK_TRY(core.finish());
  return add_up(partials);
}

}  // namespace gemmpeak::cuda
