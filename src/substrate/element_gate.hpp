// The element gate: a site's output, element by element, against double precision of the same
// inputs. Used after every new candidate and by tests. |error| <= c u (sum |a||b| + |bias| + ...),
// and finite; comparisons are written so that NaN fails. It refuses to average anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backend/site_gemm.hpp"
#include "model/forward_graph.hpp"

namespace gemmpeak::substrate {

class CpuForward;

// A missing tile is off by about 1.5 / sqrt(K) of sum |a||b|, 0.028 at K 3072: far beyond both
// rules.
struct GateRule {
  double unit_roundoff = 0.0;  // u of the operands as the kernel reads them
  double factor = 0.0;         // c
};
// Errors of K additions in float32 add like a random walk: 7 u sum |a||b| was the worst of a
// million elements at K 768 and 3072.
inline constexpr GateRule kFloat32Rule{0x1p-24, 24.0};
// Operands rounded to nearest TF32 (10 explicit bits) are off by at most 2^-11 each; the rest is
// accumulation.
inline constexpr GateRule kTf32Rule{0x1p-11, 2.1};

struct GateVerdict {
  double worst_ratio = 0.0;     // largest |error| / bound; infinite when not finite
  std::int64_t failures = 0;    // elements over their bound
  std::int64_t first_row = -1;  // of the first failure
  std::int64_t first_column = -1;
  bool passed() const { return failures == 0; }
  std::string str() const;
};

GateVerdict check_site(const SiteGemmDesc& desc, const float* in, const float* residual,
                       const float* out, const GateRule& rule);

// The same for node `node` of a forward that has just run it.
GateVerdict check_node(const CpuForward& forward, std::size_t node, const GateRule& rule);

}  // namespace gemmpeak::substrate
