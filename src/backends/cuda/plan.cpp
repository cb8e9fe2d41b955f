#include "backends/cuda/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backends/cuda/views.hpp"

namespace gemmpeak::cuda {
namespace {

// Asked for beyond the default; cuBLASLt returns about 8 on a GPU.
constexpr int kMaxSuggestions = 16;
// Operands must start here: the widest access of any kernel (TMA and 128-bit loads).
constexpr std::uintptr_t kAlignment = 16;

cudaDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::bfloat16:
      return CUDA_R_16BF;
    case DType::float16:
      return CUDA_R_16F;
    case DType::float32:
    case DType::tf32:
      return CUDA_R_32F;
    case DType::float64:
      return CUDA_R_64F;
    case DType::int8:
      return CUDA_R_8I;
    case DType::int32:
      return CUDA_R_32I;
    case DType::float8_e5m2:
      return CUDA_R_8F_E5M2;
    case DType::mxfp4:
    case DType::nvfp4:
      return CUDA_R_4F_E2M1;
    case DType::float8_e4m3fn:
    case DType::float8_e4m3fnuz:
    case DType::mxfp8:
      return CUDA_R_8F_E4M3;
  }
  return CUDA_R_32F;
}

struct Arithmetic {
  cublasComputeType_t compute;
  cudaDataType_t scale;
};
Arithmetic arithmetic_of(DType dtype) {
  switch (dtype) {
    case DType::tf32:
      return {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F};
    case DType::float64:
      return {CUBLAS_COMPUTE_64F, CUDA_R_64F};
    case DType::int8:
      return {CUBLAS_COMPUTE_32I, CUDA_R_32I};
    default:
      return {CUBLAS_COMPUTE_32F, CUDA_R_32F};
  }
}

bool is_tensor_scaled(DType dtype) {
  return dtype == DType::float8_e4m3fn || dtype == DType::float8_e5m2;
}

// The type of the unused addend: an FP8 output takes a 16-bit one, and PyTorch gives half.
DType addend_type(DType output) { return is_tensor_scaled(output) ? DType::float16 : output; }

std::int64_t bytes_or_huge(DType dtype, std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t kHuge = INT64_MAX / 8;  // five of them still add up in 64 bits
  if (rows <= 0 || cols <= 0) return 0;
  if (rows > kHuge / 64 / cols) return kHuge;
  return dtype_bytes(dtype, rows * cols);
}

template <class T>
T algorithm_value(const cublasLtMatmulAlgo_t& algo,
                  cublasLtMatmulAlgoConfigAttributes_t attribute) {
  T value{};
  std::size_t written = 0;
  if (cublasLtMatmulAlgoConfigGetAttribute(&algo, attribute, &value, sizeof value, &written) !=
      CUBLAS_STATUS_SUCCESS)
    return T{};
  return value;
}

std::string algorithm_name(const cublasLtMatmulAlgo_t& algo) {
  return fmt::format("id{} tile{} stages{} splitk{} red{} swz{} custom{} inner{} cluster{}",
                     algorithm_value<std::int32_t>(algo, CUBLASLT_ALGO_CONFIG_ID),
                     algorithm_value<std::uint32_t>(algo, CUBLASLT_ALGO_CONFIG_TILE_ID),
                     algorithm_value<std::uint32_t>(algo, CUBLASLT_ALGO_CONFIG_STAGES_ID),
                     algorithm_value<std::int32_t>(algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM),
                     algorithm_value<std::uint32_t>(algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME),
                     algorithm_value<std::uint32_t>(algo, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING),
                     algorithm_value<std::uint32_t>(algo, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION),
                     algorithm_value<std::uint16_t>(algo, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID),
                     algorithm_value<std::uint16_t>(algo, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID));
}

// Second guard beside the environment's: the algorithm itself says what it multiplies. Nothing
// where it is what the dtype's name promises, or where the library does not say.
std::optional<std::string> foreign_arithmetic(const cublasLtMatmulAlgo_t& algo, DType dtype) {
  std::uint64_t wanted = 0;
  if (dtype == DType::float32) wanted = CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F;
  if (dtype == DType::float64) wanted = CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_64F;
  if (wanted == 0) return std::nullopt;
  std::uint64_t flags = 0;
  std::size_t written = 0;
  if (cublasLtMatmulAlgoCapGetAttribute(&algo, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &flags,
                                        sizeof flags, &written) != CUBLAS_STATUS_SUCCESS)
    return std::nullopt;
  const std::uint64_t inputs = flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_OP_INPUT_TYPE_MASK;
  if (inputs == 0 || (inputs & wanted) != 0) return std::nullopt;
  return fmt::format("the algorithm multiplies another type than {} (numerical flags {:#x})",
                     dtype_name(dtype), flags);
}

}  // namespace

OperandSizes sizes_of(const GemmProblem& problem) {
  const auto [m, n, k] = problem.shape;
  OperandSizes sizes;
  sizes.a = bytes_or_huge(problem.dtype, m, k);
  sizes.b = bytes_or_huge(operand_b_dtype(problem.dtype), n, k);
  sizes.c = bytes_or_huge(problem.output, m, n);
  sizes.scale_a = scale_bytes(problem.dtype, m, k);
  sizes.scale_b = scale_bytes(problem.dtype, n, k);
  return sizes;
}

Result<void> Plan::set(cublasLtMatmulDescAttributes_t attribute, const void* value,
                       std::size_t size) {
  const cublasStatus_t status =
      cublasLtMatmulDescSetAttribute(description_.get(), attribute, value, size);
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return core_->fail("cublasLtMatmulDescSetAttribute", status,
                     fmt::format("attribute {}", static_cast<int>(attribute)));
}

Result<void> Plan::describe() {
  const auto [m, n, k] = problem_.shape;
  const Arithmetic arithmetic = arithmetic_of(problem_.dtype);
  if (auto s = cublasLtMatmulDescCreate(description_.out(), arithmetic.compute, arithmetic.scale);
      s != CUBLAS_STATUS_SUCCESS)
    return core_->fail("cublasLtMatmulDescCreate", s);
  // Letters for A then B; the library's own A is our B. Stored row-major N x K it is its K x N:
  // 'T'.
  const bool a_is_k_contiguous = problem_.layout == Layout::tn || problem_.layout == Layout::tt;
  const bool b_is_k_contiguous = problem_.layout == Layout::tn || problem_.layout == Layout::nn;
  const cublasOperation_t left_op = b_is_k_contiguous ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t right_op = a_is_k_contiguous ? CUBLAS_OP_N : CUBLAS_OP_T;
  GEMMPEAK_TRY(set(CUBLASLT_MATMUL_DESC_TRANSA, &left_op, sizeof left_op));
  GEMMPEAK_TRY(set(CUBLASLT_MATMUL_DESC_TRANSB, &right_op, sizeof right_op));

  struct Matrix {
    MatrixLayout* handle;
    DType type;
    std::int64_t rows, cols;  // column-major, leading dimension = rows
  };
  const DType b_type = operand_b_dtype(problem_.dtype);
  const std::array<Matrix, 4> matrices{{
      {&left_, b_type, b_is_k_contiguous ? k : n, b_is_k_contiguous ? n : k},
      {&right_, problem_.dtype, a_is_k_contiguous ? k : m, a_is_k_contiguous ? m : k},
      {&addend_, addend_type(problem_.output), n, m},
      {&output_, problem_.output, n, m},
  }};
  for (const Matrix& x : matrices) {
    const cublasStatus_t status = cublasLtMatrixLayoutCreate(
        x.handle->out(), data_type(x.type), static_cast<std::uint64_t>(x.rows),
        static_cast<std::uint64_t>(x.cols), x.rows);
    if (status != CUBLAS_STATUS_SUCCESS) return core_->fail("cublasLtMatrixLayoutCreate", status);
  }
  switch (arithmetic.scale) {
    case CUDA_R_64F:
      alpha_.f64 = 1.0;
      beta_.f64 = 0.0;
      break;
    case CUDA_R_32I:
      alpha_.i32 = 1;
      beta_.i32 = 0;
      break;
    default:
      alpha_.f32 = 1.0f;
      beta_.f32 = 0.0f;
      break;
  }
  return describe_scales();
}

Result<void> Plan::describe_scales() {
  const int block = dtype_info(problem_.dtype).scale_block;
  if (!is_tensor_scaled(problem_.dtype) && block == 0) return {};
  if (is_tensor_scaled(problem_.dtype)) {
    const std::int8_t fast = problem_.fast_accumulation ? 1 : 0;
    GEMMPEAK_TRY(set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast));
  } else {
    const std::int32_t mode = problem_.dtype == DType::nvfp4
                                  ? CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3
                                  : CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0;
    GEMMPEAK_TRY(set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, &mode, sizeof mode));
    GEMMPEAK_TRY(set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, &mode, sizeof mode));
  }
  // The heuristic looks at these addresses' alignment; block scales get their own when queued.
  scale_left_ = scale_right_ = core_->one();
  GEMMPEAK_TRY(set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &scale_left_, sizeof scale_left_));
  return set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &scale_right_, sizeof scale_right_);
}

Error Plan::no_algorithm(cublasStatus_t status, std::int64_t max_workspace_bytes) const {
  return core_->fail(
      "cublasLtMatmulAlgoGetHeuristic", status,
      fmt::format("cuBLASLt has no algorithm for {} {} ({}, {} output) within {} bytes "
                  "of workspace",
                  dtype_name(problem_.dtype), problem_.shape.str(), layout_name(problem_.layout),
                  dtype_name(problem_.output), max_workspace_bytes));
}

Result<std::vector<Plan::Suggestion>> Plan::suggest(int wanted, std::int64_t max_workspace_bytes) {
  Handle<cublasLtMatmulPreference_t, &cublasLtMatmulPreferenceDestroy> preference;
  if (auto s = cublasLtMatmulPreferenceCreate(preference.out()); s != CUBLAS_STATUS_SUCCESS)
    return core_->fail("cublasLtMatmulPreferenceCreate", s);
  // Alignments stay at the library's default of 256 bytes: what cudaMalloc gives, and PyTorch's.
  const std::uint64_t workspace =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, max_workspace_bytes));
  if (auto s = cublasLtMatmulPreferenceSetAttribute(
          preference.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
      s != CUBLAS_STATUS_SUCCESS)
    return core_->fail("cublasLtMatmulPreferenceSetAttribute", s);
  std::vector<Suggestion> found(static_cast<std::size_t>(wanted));
  int returned = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      core_->library(), description_.get(), left_.get(), right_.get(), addend_.get(), output_.get(),
      preference.get(), wanted, found.data(), &returned);
  if (status != CUBLAS_STATUS_SUCCESS) return no_algorithm(status, max_workspace_bytes);
  found.resize(static_cast<std::size_t>(std::clamp(returned, 0, wanted)));
  std::erase_if(found, [](const Suggestion& s) { return s.state != CUBLAS_STATUS_SUCCESS; });
  if (found.empty()) return no_algorithm(CUBLAS_STATUS_NOT_SUPPORTED, max_workspace_bytes);
  return found;
}

Result<void> Plan::choose(const Suggestion& suggestion, int rank) {
  if (auto foreign = foreign_arithmetic(suggestion.algo, problem_.dtype))
    return Error{"cublasLtMatmulAlgoGetHeuristic", 0, *foreign};
  chosen_ = suggestion.algo;
  algorithm_.provider = "cublasLt";
  algorithm_.name = algorithm_name(chosen_);
  if (problem_.fast_accumulation) algorithm_.name += " fast-accumulation";
  if (operand_b_dtype(problem_.dtype) != problem_.dtype)
    algorithm_.name += fmt::format(" B={}", dtype_name(operand_b_dtype(problem_.dtype)));
  algorithm_.is_default = rank == 0;
  algorithm_.workspace_bytes = static_cast<std::int64_t>(suggestion.workspaceSize);
  return {};
}

Result<std::unique_ptr<GemmPlan>> Plan::make(std::shared_ptr<Core> core, const GemmProblem& problem,
                                             const PlanRequest& request) {
  GEMMPEAK_TRY(core->enter());
  if (auto refusal = problem_refusal(problem, core->cc())) return error_text(*refusal);
  if (request.rank < 0) return error_text("a plan's rank cannot be negative");
  std::unique_ptr<Plan> plan(new Plan(core, problem));
  plan->sizes_ = sizes_of(problem);
  GEMMPEAK_TRY(plan->describe());
  // Rank 0 asks for one, as PyTorch does: it is the library's default by definition.
  auto found = plan->suggest(request.rank == 0 ? 1 : kMaxSuggestions, request.max_workspace_bytes);
  if (!found) return found.error();
  if (request.rank >= static_cast<int>(found->size()))
    return error_text(fmt::format("cuBLASLt suggests {} algorithms for {} {}, there is no rank {}",
                                  found->size(), dtype_name(problem.dtype), problem.shape.str(),
                                  request.rank));
  GEMMPEAK_TRY(plan->choose((*found)[static_cast<std::size_t>(request.rank)], request.rank));
  // To the request's limit at once, needed or not: later plans are made while products are queued,
  // and must not allocate then.
  GEMMPEAK_TRY(core->grow_workspace(
      std::max(request.max_workspace_bytes, plan->algorithm_.workspace_bytes)));
  return std::unique_ptr<GemmPlan>(std::move(plan));
}

Result<int> Plan::count(Core& core, const GemmProblem& problem, std::int64_t max_workspace_bytes) {
  GEMMPEAK_TRY(core.enter());
  if (auto refusal = problem_refusal(problem, core.cc())) return error_text(*refusal);
  // A borrowed Core: the plan lives in this call only.
  Plan plan(std::shared_ptr<Core>(&core, [](Core*) {}), problem);
  GEMMPEAK_TRY(plan.describe());
  auto found = plan.suggest(kMaxSuggestions, max_workspace_bytes);
  if (!found) return found.error();
  return static_cast<int>(found->size());
}

Result<void> Plan::point_scales(const Operands& operands) const {
  // The library's A is our B.
  const void* left = address_of(operands.scale_b);
  const void* right = address_of(operands.scale_a);
  const auto point = [&](cublasLtMatmulDescAttributes_t attribute, const void* to,
                         const void*& now) -> Result<void> {
    if (to == now) return {};
    const cublasStatus_t status =
        cublasLtMatmulDescSetAttribute(description_.get(), attribute, &to, sizeof to);
    if (status != CUBLAS_STATUS_SUCCESS)
      return core_->fail("cublasLtMatmulDescSetAttribute", status, "scale address");
    now = to;
    return {};
  };
  GEMMPEAK_TRY(point(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, left, scale_left_));
  return point(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, right, scale_right_);
}

Result<void> Plan::enqueue(const Operands& operands, cudaStream_t stream) const {
  GEMMPEAK_TRY(check_operands(operands, sizes_, kAlignment));
  if (sizes_.scale_a > 0) GEMMPEAK_TRY(point_scales(operands));
  void* const c = address_of(operands.c);
  // beta is 0. Where the addend's type differs from the output's (FP8), the same address for both
  // would be an in-place product of two types, which the library refuses (INVALID_VALUE).
  const void* const addend = addend_type(problem_.output) == problem_.output ? c : nullptr;
  const cublasStatus_t status = cublasLtMatmul(
      core_->library(), description_.get(), &alpha_, address_of(operands.b), left_.get(),
      address_of(operands.a), right_.get(), &beta_, addend, addend_.get(), c, output_.get(), &chosen_,
      core_->workspace(), static_cast<std::size_t>(algorithm_.workspace_bytes), stream);
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return core_->fail("cublasLtMatmul", status,
                     fmt::format("{} {} by {}", dtype_name(problem_.dtype), problem_.shape.str(),
                                 algorithm_.name));
}

}  // namespace gemmpeak::cuda
