// Plan: one product described to cuBLASLt once, with the algorithm its heuristic suggested at one
// rank. Used by device.cpp (makes it) and stream.cpp (queues it). It refuses problems that the
// library or the rules in capability.hpp do not take, each with one sentence.
#pragma once

#include <memory>

#include "backend/device.hpp"
#include "backends/cuda/core.hpp"

namespace gemmpeak::cuda {

class Plan final : public GemmPlan {
 public:
  // Fails without running anything. Grows the device's workspace to what the request allows.
  static Result<std::unique_ptr<GemmPlan>> make(std::shared_ptr<Core> core,
                                                const GemmProblem& problem,
                                                const PlanRequest& request);
  // How many ranks make() accepts.
  static Result<int> count(Core& core, const GemmProblem& problem,
                           std::int64_t max_workspace_bytes);

  const GemmProblem& problem() const override { return problem_; }
  const Algorithm& algorithm() const override { return algorithm_; }
  const Core* core() const { return core_.get(); }

  // Queues the product: no allocation, no heuristic, no description beyond the scales' addresses.
  Result<void> enqueue(const Operands& operands, cudaStream_t stream) const;

 private:
  using Description = Handle<cublasLtMatmulDesc_t, &cublasLtMatmulDescDestroy>;
  using MatrixLayout = Handle<cublasLtMatrixLayout_t, &cublasLtMatrixLayoutDestroy>;
  using Suggestion = cublasLtMatmulHeuristicResult_t;
  union Scalar {
    float f32;
    double f64;
    std::int32_t i32;
  };

  Plan(std::shared_ptr<Core> core, const GemmProblem& problem)
      : core_(std::move(core)), problem_(problem) {}
  Result<void> describe();
  Result<void> describe_scales();
  Result<std::vector<Suggestion>> suggest(int wanted, std::int64_t max_workspace_bytes);
  Result<void> choose(const Suggestion& suggestion, int rank);
  Result<void> set(cublasLtMatmulDescAttributes_t attribute, const void* value, std::size_t size);
  Error no_algorithm(cublasStatus_t status, std::int64_t max_workspace_bytes) const;
  Result<void> point_scales(const Operands& operands) const;

  std::shared_ptr<Core> core_;
  GemmProblem problem_;
  OperandSizes sizes_;
  Algorithm algorithm_;
  Description description_;
  // In the library's column-major view: its A is our B, its B our A, and D is C transposed.
  MatrixLayout left_;
  MatrixLayout right_;
  MatrixLayout addend_;
  MatrixLayout output_;
  Scalar alpha_{};
  Scalar beta_{};
  cublasLtMatmulAlgo_t chosen_{};
  // Addresses in the description now; another operand set may bring others.
  mutable const void* scale_left_ = nullptr;
  mutable const void* scale_right_ = nullptr;
};

// True bytes of one operand set, padding and block scales included.
OperandSizes sizes_of(const GemmProblem& problem);

}  // namespace gemmpeak::cuda
