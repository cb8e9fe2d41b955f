// OpenBLAS as a Provider: float64 and float32. It checks its arguments and then computes; there is
// no failure to report from a product.
#include <cblas.h>

#include <limits>

#include "backends/cpu/provider.hpp"

namespace gemmpeak::cpu {
namespace {

// Source: OPENBLAS_SEQUENTIAL, _THREAD and _OPENMP of cblas.h.
constexpr int kOwnThreads = 1;
constexpr int kSequential = 0;

struct Arguments {
  CBLAS_TRANSPOSE transpose_a, transpose_b;
  blasint m, n, k, lda, ldb, ldc;
};

// In row-major words: A is M x K as it lies where K is contiguous (not transposed), B is K x N as
// it lies where N is contiguous.
Arguments arguments_of(const GemmProblem& p) {
  const bool a_by_k = p.layout == Layout::tn || p.layout == Layout::tt;
  const bool b_by_k = p.layout == Layout::tn || p.layout == Layout::nn;
  const auto m = static_cast<blasint>(p.shape.m), n = static_cast<blasint>(p.shape.n);
  const auto k = static_cast<blasint>(p.shape.k);
  return {a_by_k ? CblasNoTrans : CblasTrans,
          b_by_k ? CblasTrans : CblasNoTrans,
          m,
          n,
          k,
          a_by_k ? k : m,
          b_by_k ? k : n,
          n};
}

class OpenblasPlan final : public CpuPlan {
 public:
  OpenblasPlan(const GemmProblem& problem, Algorithm algorithm)
      : CpuPlan(problem, std::move(algorithm)), arguments_(arguments_of(problem)) {}

  Result<void> run(const void* a, const void* b, void* c) const override {
    const Arguments& x = arguments_;
    if (problem().dtype == DType::float64)
      cblas_dgemm(CblasRowMajor, x.transpose_a, x.transpose_b, x.m, x.n, x.k, 1.0,
                  static_cast<const double*>(a), x.lda, static_cast<const double*>(b), x.ldb, 0.0,
                  static_cast<double*>(c), x.ldc);
    else
      cblas_sgemm(CblasRowMajor, x.transpose_a, x.transpose_b, x.m, x.n, x.k, 1.0F,
                  static_cast<const float*>(a), x.lda, static_cast<const float*>(b), x.ldb, 0.0F,
                  static_cast<float*>(c), x.ldc);
    return {};
  }

 private:
  Arguments arguments_;
};

class OpenblasProvider final : public Provider {
 public:
  std::string name() const override { return "OpenBLAS"; }
  std::string version() const override { return openblas_get_config(); }
  void set_threads(int threads) const override { openblas_set_num_threads(threads); }
  std::string threading() const override {
    switch (openblas_get_parallel()) {
      case kSequential:
        return "OpenBLAS was built without threads and uses one core";
      case kOwnThreads:
        return "OpenBLAS brings threads of its own, which are not pinned";
      default:
        return "";
    }
  }

  Capability capability(DType dtype) const override {
    if (dtype == DType::float32 || dtype == DType::float64) return {true, "", ""};
    return {false, "OpenBLAS has no " + std::string(dtype_name(dtype)) + " product", ""};
  }

  Result<std::unique_ptr<CpuPlan>> plan(const GemmProblem& p) const override {
    if (!capability(p.dtype).supported || p.output != p.dtype)
      return error_text("OpenBLAS has no product of " + std::string(dtype_name(p.dtype)) +
                        " into " + std::string(dtype_name(p.output)));
    constexpr std::int64_t kLargest = std::numeric_limits<blasint>::max();
    if (p.shape.m > kLargest || p.shape.n > kLargest || p.shape.k > kLargest)
      return error_text("OpenBLAS takes dimensions up to " + std::to_string(kLargest));
    const std::string kernel = p.dtype == DType::float64 ? "dgemm " : "sgemm ";
    Algorithm algorithm{"OpenBLAS", kernel + openblas_get_corename(), false, 0};
    return std::unique_ptr<CpuPlan>(std::make_unique<OpenblasPlan>(p, std::move(algorithm)));
  }
};

}  // namespace

std::unique_ptr<Provider> make_openblas_provider() { return std::make_unique<OpenblasProvider>(); }

}  // namespace gemmpeak::cpu
