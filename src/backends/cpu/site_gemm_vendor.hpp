// The vendors' ways to run the transformer's GEMM sites on a CPU, in float32: oneDNN's inner
// product and matmul with the epilogue as post-operations, and OpenBLAS' sgemm followed by the
// epilogue. Used by v16 and the search. It refuses a suggestion that was not built in.
#pragma once

#include <memory>

#include "backend/site_gemm.hpp"

namespace gemmpeak::cpu {

std::unique_ptr<SiteGemmVendor> make_site_gemm_vendor();

}  // namespace gemmpeak::cpu
