#include "substrate/product_fp64.hpp"

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

#include "base/clones.hpp"

namespace gemmpeak::substrate {
namespace {

// The inner block: kRows weights' rows by kTokens tokens, 8 vectors of four doubles, which is what
// the 16 registers of AVX2 hold together with their operands.
constexpr std::int64_t kRows = 4;
constexpr std::int64_t kTokens = 8;
typedef double Vec4 __attribute__((vector_size(32), aligned(8), may_alias));

// acc[r][t] = sum over k of rows[k][r] panel[k][t]. The sums are named, so that they stay in
// registers.
GEMMPEAK_CLONES void block_product(const double* rows, const double* panel, std::int64_t id,
                                   double* acc) {
  const Vec4 zero = {};
  Vec4 s00 = zero, s01 = zero, s10 = zero, s11 = zero;
  Vec4 s20 = zero, s21 = zero, s30 = zero, s31 = zero;
  for (std::int64_t k = 0; k < id; ++k, rows += kRows, panel += kTokens) {
    const Vec4 x0 = reinterpret_cast<const Vec4*>(panel)[0];
    const Vec4 x1 = reinterpret_cast<const Vec4*>(panel)[1];
    s00 += x0 * rows[0];
    s01 += x1 * rows[0];
    s10 += x0 * rows[1];
    s11 += x1 * rows[1];
    s20 += x0 * rows[2];
    s21 += x1 * rows[2];
    s30 += x0 * rows[3];
    s31 += x1 * rows[3];
  }
  Vec4* to = reinterpret_cast<Vec4*>(acc);  // auto would drop the type's alignment
  to[0] = s00, to[1] = s01, to[2] = s10, to[3] = s11;
  to[4] = s20, to[5] = s21, to[6] = s30, to[7] = s31;
}

// panels[t / kTokens][k][t % kTokens] = in[t][k], missing tokens as zero.
std::vector<double> pack_tokens(const double* in, std::int64_t tokens, std::int64_t id,
                                bool absolute) {
  const std::int64_t panels = (tokens + kTokens - 1) / kTokens;
  std::vector<double> out(static_cast<std::size_t>(panels * id * kTokens), 0.0);
  for (std::int64_t t = 0; t < tokens; ++t) {
    double* panel = out.data() + (t / kTokens) * id * kTokens + t % kTokens;
    for (std::int64_t k = 0; k < id; ++k) {
      const double value = in[t * id + k];
      panel[k * kTokens] = absolute ? std::fabs(value) : value;
    }
  }
  return out;
}

template <class Real>
void some_rows(const std::vector<double>& panels, const Real* weights, std::int64_t tokens,
               std::int64_t id, std::int64_t od, bool absolute, std::int64_t first,
               std::int64_t last, double* out) {
  std::vector<double> rows(static_cast<std::size_t>(id * kRows));
  double acc[kRows * kTokens];
  for (std::int64_t row = first; row < last; row += kRows) {
    const std::int64_t count = std::min(kRows, last - row);
    std::fill(rows.begin(), rows.end(), 0.0);
    for (std::int64_t r = 0; r < count; ++r) {
      for (std::int64_t k = 0; k < id; ++k) {
        const double w = static_cast<double>(weights[(row + r) * id + k]);
        rows[static_cast<std::size_t>(k * kRows + r)] = absolute ? std::fabs(w) : w;
      }
    }
    for (std::int64_t t = 0; t < tokens; t += kTokens) {
      block_product(rows.data(), panels.data() + t * id, id, acc);
      for (std::int64_t r = 0; r < count; ++r) {
        for (std::int64_t i = 0; i < std::min(kTokens, tokens - t); ++i) {
          out[(t + i) * od + row + r] = acc[r * kTokens + i];
        }
      }
    }
  }
}

}  // namespace

template <class Real>
void product_fp64(const double* in, const Real* weights, std::int64_t tokens, std::int64_t id,
                  std::int64_t od, ProductKind kind, double* out) {
  const bool absolute = kind == ProductKind::absolute;
  const std::vector<double> panels = pack_tokens(in, tokens, id, absolute);
  const auto threads = static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()));
  const std::int64_t share = ((od + threads - 1) / threads + kRows - 1) / kRows * kRows;
  std::vector<std::thread> team;
  for (std::int64_t first = 0; first < od; first += share) {
    const std::int64_t last = std::min(od, first + share);
    team.emplace_back([&panels, weights, tokens, id, od, absolute, first, last, out] {
      some_rows(panels, weights, tokens, id, od, absolute, first, last, out);
    });
  }
  for (std::thread& thread : team) thread.join();
}

template void product_fp64<float>(const double*, const float*, std::int64_t, std::int64_t,
                                  std::int64_t, ProductKind, double*);
template void product_fp64<double>(const double*, const double*, std::int64_t, std::int64_t,
                                   std::int64_t, ProductKind, double*);

}  // namespace gemmpeak::substrate
