// Provider: one library's matrix products on the CPU. Implemented over oneDNN and OpenBLAS, used by
// the CPU device alone, which ranks the providers of a dtype. A plan of theirs runs on host
// pointers.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/device.hpp"

namespace gemmpeak::cpu {

class CpuPlan : public GemmPlan {
 public:
  CpuPlan(GemmProblem problem, Algorithm algorithm)
      : problem_(problem), algorithm_(std::move(algorithm)) {}
  const GemmProblem& problem() const override { return problem_; }
  const Algorithm& algorithm() const override { return algorithm_; }
  // The product, on the calling thread's OpenMP team; C is complete when it returns.
  virtual Result<void> run(const void* a, const void* b, void* c) const = 0;
  void set_default(bool is_default) { algorithm_.is_default = is_default; }

 private:
  GemmProblem problem_;
  Algorithm algorithm_;
};

class Provider {
 public:
  virtual ~Provider() = default;
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;
  // Static: from the library's version and the CPU, without running a product.
  virtual Capability capability(DType dtype) const = 0;
  virtual Result<std::unique_ptr<CpuPlan>> plan(const GemmProblem& problem) const = 0;
  // Sets the library's own thread count for the calling thread, where it keeps one.
  virtual void set_threads(int /*threads*/) const {}
  // A remark on how it threads, or nothing.
  virtual std::string threading() const { return {}; }
};

// The libraries this module was built with, the preferred one first. `cpu`: the CPU's name in words
// for reasons ("this CPU (avx2)").
std::vector<std::unique_ptr<Provider>> make_providers(const std::string& cpu);
std::unique_ptr<Provider> make_dnnl_provider(const std::string& cpu);
std::unique_ptr<Provider> make_openblas_provider();

}  // namespace gemmpeak::cpu
