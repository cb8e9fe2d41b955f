#include "backend/host_verify.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <string>
#include <vector>

#include "backend/host_convert.hpp"

namespace gemmpeak {
namespace {

// Elements are done in tiles of 8 x 8 over chunks of 1,024 of K: 128 KiB of doubles, inside the L2
// cache of any core, and 4 tiles for the smallest verification (16 x 16), so that threads have
// work.
constexpr std::int64_t kTile = 8;
constexpr std::int64_t kChunk = 1024;

// Where element (i, k) of A and (k, j) of B lie; see Layout.
struct Walk {
  std::int64_t outer;  // step of i or j
  std::int64_t inner;  // step of k
};
Walk walk_a(const GemmProblem& p) {
  const bool k_contiguous = p.layout == Layout::tn || p.layout == Layout::tt;
  return k_contiguous ? Walk{p.shape.k, 1} : Walk{1, p.shape.m};
}
Walk walk_b(const GemmProblem& p) {
  const bool k_contiguous = p.layout == Layout::tn || p.layout == Layout::nn;
  return k_contiguous ? Walk{p.shape.k, 1} : Walk{1, p.shape.n};
}

struct Tile {
  double sum[kTile][kTile] = {};
  double absolute[kTile][kTile] = {};
};

// Adds K elements k0..k0+count-1 of the lines given; panel_b is laid [k][kTile] for the inner loop.
void accumulate(Tile& tile, const std::vector<double>& panel_a, const std::vector<double>& panel_b,
                std::int64_t lines, std::int64_t count) {
  for (std::int64_t i = 0; i < lines; ++i) {
    double sum[kTile] = {}, absolute[kTile] = {};
    for (std::int64_t k = 0; k < count; ++k) {
      const double a = panel_a[static_cast<std::size_t>(i * kChunk + k)];
      const double* b = &panel_b[static_cast<std::size_t>(k * kTile)];
      for (std::int64_t j = 0; j < kTile; ++j) {
        const double product = a * b[j];
        sum[j] += product;
        absolute[j] += std::fabs(product);
      }
    }
    for (std::int64_t j = 0; j < kTile; ++j) {
      tile.sum[i][j] += sum[j];
      tile.absolute[i][j] += absolute[j];
    }
  }
}

Tile reference_tile(const GemmProblem& p, const HostOperands& operands,
                    std::span<const std::int64_t> rows, std::span<const std::int64_t> cols) {
  const Walk wa = walk_a(p), wb = walk_b(p);
  const DType b_dtype = operands.b_dtype.value_or(p.dtype);
  std::vector<double> panel_a(kTile * kChunk), panel_b(kTile * kChunk, 0.0);
  Tile tile;
  for (std::int64_t k0 = 0; k0 < p.shape.k; k0 += kChunk) {
    const std::int64_t count = std::min(kChunk, p.shape.k - k0);
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::int64_t k = 0; k < count; ++k)
        panel_a[i * kChunk + static_cast<std::size_t>(k)] =
            load_element(p.dtype, operands.a, rows[i] * wa.outer + (k0 + k) * wa.inner);
    for (std::size_t j = 0; j < cols.size(); ++j)
      for (std::int64_t k = 0; k < count; ++k)
        panel_b[static_cast<std::size_t>(k * kTile) + j] =
            load_element(b_dtype, operands.b, cols[j] * wb.outer + (k0 + k) * wb.inner);
    accumulate(tile, panel_a, panel_b, static_cast<std::int64_t>(rows.size()), count);
  }
  return tile;
}

void judge(VerifyCounts& counts, const Tolerance& tolerance, std::int64_t row, std::int64_t col,
           double got, double sum, double absolute) {
  double want = sum;
  if (tolerance.max_finite > 0) want = std::clamp(sum, -tolerance.max_finite, tolerance.max_finite);
  const double bound = tolerance.output_roundoff * std::fabs(want) +
                       tolerance.accumulation * absolute + tolerance.absolute;
  const double error = std::fabs(got - want);
  const bool finite = std::isfinite(got);
  double ratio = 0;
  if (!finite)
    ratio = kWorstRatio;
  else if (error > 0)
    ratio = bound > 0 ? std::min(error / bound, kWorstRatio) : kWorstRatio;
  ++counts.checked;
  if (!finite) ++counts.not_finite;
  if (!finite || error > bound) ++counts.bad;
  // The first in row order among equals, so that the answer does not depend on the threads.
  const bool before = row < counts.worst_row || (row == counts.worst_row && col < counts.worst_col);
  if (counts.worst_row < 0 || ratio > counts.worst_ratio ||
      (ratio == counts.worst_ratio && before)) {
    counts.worst_ratio = ratio;
    counts.worst_row = row;
    counts.worst_col = col;
    counts.worst_got = got;
    counts.worst_want = want;
  }
}

void merge(VerifyCounts& into, const VerifyCounts& part) {
  const bool before = part.worst_row < into.worst_row ||
                      (part.worst_row == into.worst_row && part.worst_col < into.worst_col);
  const bool worse =
      part.worst_row >= 0 && (into.worst_row < 0 || part.worst_ratio > into.worst_ratio ||
                              (part.worst_ratio == into.worst_ratio && before));
  const std::int64_t checked = into.checked + part.checked, bad = into.bad + part.bad;
  const std::int64_t not_finite = into.not_finite + part.not_finite;
  if (worse) into = part;
  into.checked = checked;
  into.bad = bad;
  into.not_finite = not_finite;
}

std::optional<Error> outside(std::span<const std::int64_t> lines, std::int64_t limit,
                             const char* what) {
  for (const std::int64_t line : lines)
    if (line < 0 || line >= limit)
      return error_text("verify: no " + std::string(what) + " " + std::to_string(line) + " of " +
                        std::to_string(limit));
  return std::nullopt;
}

}  // namespace

Result<VerifyCounts> host_verify(const GemmProblem& problem, const HostOperands& operands,
                                 std::span<const std::int64_t> rows,
                                 std::span<const std::int64_t> cols, const Tolerance& tolerance,
                                 const ParallelFor& parallel) {
  if (auto error = outside(rows, problem.shape.m, "row")) return *error;
  if (auto error = outside(cols, problem.shape.n, "column")) return *error;
  const auto row_tiles = (static_cast<std::int64_t>(rows.size()) + kTile - 1) / kTile;
  const auto col_tiles = (static_cast<std::int64_t>(cols.size()) + kTile - 1) / kTile;
  VerifyCounts total;
  std::mutex mutex;
  parallel(row_tiles * col_tiles, [&](std::int64_t begin, std::int64_t end) {
    VerifyCounts part;
    for (std::int64_t t = begin; t < end; ++t) {
      const auto first_row = static_cast<std::size_t>(t / col_tiles * kTile);
      const auto first_col = static_cast<std::size_t>(t % col_tiles * kTile);
      const auto r = rows.subspan(first_row, std::min<std::size_t>(kTile, rows.size() - first_row));
      const auto c = cols.subspan(first_col, std::min<std::size_t>(kTile, cols.size() - first_col));
      const Tile tile = reference_tile(problem, operands, r, c);
      for (std::size_t i = 0; i < r.size(); ++i)
        for (std::size_t j = 0; j < c.size(); ++j)
          judge(part, tolerance, r[i], c[j],
                load_element(problem.output, operands.c, r[i] * problem.shape.n + c[j]),
                tile.sum[i][j], tile.absolute[i][j]);
    }
    const std::lock_guard lock(mutex);
    merge(total, part);
  });
  return total;
}

std::int64_t host_count_bytes_equal(const void* c, DType dtype, std::int64_t elements,
                                    std::uint8_t value, const ParallelFor& parallel) {
  const auto* bytes = static_cast<const std::uint8_t*>(c);
  const int bits = dtype_info(dtype).bits;
  const std::int64_t size = std::max(1, bits / 8), per_byte = bits == 4 ? 2 : 1;
  std::atomic<std::int64_t> total{0};
  parallel((elements + per_byte - 1) / per_byte, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t equal = 0;
    for (std::int64_t i = begin; i < end; ++i)
      equal += std::all_of(bytes + i * size, bytes + (i + 1) * size,
                           [value](std::uint8_t byte) { return byte == value; });
    total += equal;
  });
  return std::min(total.load() * per_byte, elements);
}

}  // namespace gemmpeak
