// GemmProblem: everything that defines one matrix product apart from the algorithm that does it.
// Used by backends (plan), measure, find and tune; it is the key under which results are kept.
// It refuses nothing: a backend answers what it cannot do with an Outcome.
#pragma once

#include <optional>
#include <string_view>

#include "model/dtype.hpp"
#include "model/shape.hpp"

namespace gemmpeak {

// Storage of the operands, in BLAS letters for A then B as a column-major library sees them:
// tn is the reference's: A row-major M x K, B stored as its transpose N x K (K contiguous in both).
enum class Layout { tn, nt, nn, tt };

// What the operands hold. `normal` (standard normal, seeded) is the only one a headline may have.
enum class DataKind { normal, uniform, zeros, ones, ints };

struct GemmProblem {
  GemmShape shape;
  DType dtype = DType::bfloat16;
  DType output = DType::bfloat16;  // dtype_info(dtype).output unless asked otherwise
  Layout layout = Layout::tn;
  bool fast_accumulation = false;  // fp8 only
  bool operator==(const GemmProblem&) const = default;
};

std::string_view layout_name(Layout layout);
std::optional<Layout> parse_layout(std::string_view name);
std::string_view data_kind_name(DataKind kind);
std::optional<DataKind> parse_data_kind(std::string_view name);

// The reference's problem of this dtype and shape: TN, its table output, no fast accumulation.
GemmProblem reference_problem(DType dtype, GemmShape shape);

}  // namespace gemmpeak
