// SiteGemm: one GEMM of the transformer with its epilogue, out[T, od] = epilogue(in[T, id] w[od,
// id]^T
// + bias), behind one interface. The substrate's executors call it; vendors (src/backends/cpu) and
// the substrate's own kernels implement it. It refuses to allocate or to convert weights while
// running: all of that happens in make().
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "model/transformer.hpp"

namespace gemmpeak {

// Row-major float32 throughout. `weights` (od x id) and `bias` (od) are the executing device's
// memory and outlive the SiteGemm.
struct SiteGemmDesc {
  std::int64_t od = 0;
  std::int64_t id = 0;
  std::int64_t tokens = 0;
  const float* weights = nullptr;
  const float* bias = nullptr;
  Epilogue epilogue = Epilogue::bias;
};

class SiteGemm {
 public:
  virtual ~SiteGemm() = default;
  // in[tokens, id], residual[tokens, od] (null unless the epilogue reads it), out[tokens, od].
  // The three never overlap.
  virtual void run(const float* in, const float* residual, float* out) = 0;
};

// A vendor library's ways to run a site. Suggestion 0 is its default (impl -1), 1 is impl -2, ...
class SiteGemmVendor {
 public:
  virtual ~SiteGemmVendor() = default;
  virtual int suggestions() const = 0;
  virtual std::string describe(int suggestion) const = 0;
  virtual Result<std::unique_ptr<SiteGemm>> make(const SiteGemmDesc& desc, int suggestion) = 0;
};

}  // namespace gemmpeak
