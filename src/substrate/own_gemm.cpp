#include "substrate/own_gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/clones.hpp"
#include "base/float_math.hpp"
#include "substrate/parallel.hpp"

namespace gemmpeak::substrate {
namespace {

// The register block: 4 tokens x 16 outputs, 8 vectors of 8 floats, which hides the latency of FMA
// (4 cycles at 2 a cycle) within the 16 registers of AVX2.
constexpr int kRows = 4;
constexpr int kColumns = 16;
constexpr int kPadding = 4;  // the inputs' copy has rows of bk + 4, see tile_shared_bytes
typedef float Vec8 __attribute__((vector_size(32)));
// The same at any address of floats.
typedef float LooseVec8 __attribute__((vector_size(32), aligned(4), may_alias));

// The largest bm (bk + 4) and bm bn of the list.
constexpr int kMaxInputs = 64 * (32 + kPadding);
constexpr int kMaxOutputs = 64 * 128;

[[gnu::always_inline]] inline LooseVec8* loose(float* p) { return reinterpret_cast<LooseVec8*>(p); }
[[gnu::always_inline]] inline const LooseVec8* loose(const float* p) {
  return reinterpret_cast<const LooseVec8*>(p);
}

// Two vectors of one row's sums. Named and not an array, so that they stay in registers.
struct RowSums {
  Vec8 left;
  Vec8 right;

  [[gnu::always_inline]] void load(const float* acc) {
    left = loose(acc)[0];
    right = loose(acc)[1];
  }
  [[gnu::always_inline]] void store(float* acc) const {
    loose(acc)[0] = left;
    loose(acc)[1] = right;
  }
  [[gnu::always_inline]] void add(float x, const Vec8& w_left, const Vec8& w_right) {
    left += w_left * x;
    right += w_right * x;
  }
};

// acc[bm][bn] += inputs[bm][bk + 4] weights[bk][bn].
GEMMPEAK_CLONES void tile_step(const float* inputs, const float* weights, float* acc, int bm,
                               int bn, int bk) {
  const int row = bk + kPadding;
  for (int n = 0; n < bn; n += kColumns) {
    for (int m = 0; m < bm; m += kRows) {
      const float* x = inputs + m * row;
      const float* w = weights + n;
      float* to = acc + m * bn + n;
      RowSums s0, s1, s2, s3;
      s0.load(to);
      s1.load(to + bn);
      s2.load(to + 2 * bn);
      s3.load(to + 3 * bn);
      for (int k = 0; k < bk; ++k, w += bn) {
        const Vec8 left = loose(w)[0];
        const Vec8 right = loose(w)[1];
        s0.add(x[k], left, right);
        s1.add(x[row + k], left, right);
        s2.add(x[2 * row + k], left, right);
        s3.add(x[3 * row + k], left, right);
      }
      s0.store(to);
      s1.store(to + bn);
      s2.store(to + 2 * bn);
      s3.store(to + 3 * bn);
    }
  }
}

// The one place where partial sums become outputs: slices of K are added, then bias, then the
// epilogue. `sum` has `slices` rows of n, `stride` apart.
GEMMPEAK_CLONES void finish_row(const float* sum, std::int64_t stride, int slices,
                                const float* bias, const float* residual, Epilogue epilogue,
                                float* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = sum[i];
  for (int s = 1; s < slices; ++s) {
    for (std::int64_t i = 0; i < n; ++i) out[i] += sum[s * stride + i];
  }
  switch (epilogue) {
    case Epilogue::bias:
      for (std::int64_t i = 0; i < n; ++i) out[i] += bias[i];
      break;
    case Epilogue::bias_residual:
      for (std::int64_t i = 0; i < n; ++i) out[i] += bias[i] + residual[i];
      break;
    case Epilogue::bias_gelu:
      for (std::int64_t i = 0; i < n; ++i) out[i] = gelu_tanh(out[i] + bias[i]);
      break;
  }
}

class OwnGemm final : public SiteGemm {
 public:
  OwnGemm(const SiteGemmDesc& desc, const TileConfig& tile, int split)
      : desc_(desc), tile_(tile), split_(split) {
    pack_weights();
    if (split_ > 1) {
      partial_.resize(static_cast<std::size_t>(split_ * desc_.tokens * desc_.od));
    }
  }

  void run(const float* in, const float* residual, float* out) override {
    const std::int64_t row_tiles = desc_.tokens / tile_.bm;
    const std::int64_t tasks = row_tiles * (desc_.od / tile_.bn) * split_;
    // Neighbouring tasks share their weights, which are the larger operand.
    parallel_for(tasks, [&](std::int64_t task) {
      const std::int64_t rest = task / row_tiles;
      run_tile(task % row_tiles, rest / split_, rest % split_, in, residual, out);
    });
    if (split_ == 1) return;
    parallel_for(desc_.tokens, [&](std::int64_t t) {
      const std::int64_t at = t * desc_.od;
      finish_row(partial_.data() + at, desc_.tokens * desc_.od, split_, desc_.bias,
                 residual ? residual + at : nullptr, desc_.epilogue, out + at, desc_.od);
    });
  }

 private:
  // packed_[od / bn][id / bk][bk][bn]: what a task reads, in the order it reads it.
  void pack_weights() {
    packed_.resize(static_cast<std::size_t>(desc_.od * desc_.id));
    const std::int64_t id = desc_.id;
    parallel_for(desc_.od / tile_.bn, [&](std::int64_t panel) {
      float* to = packed_.data() + panel * tile_.bn * id;
      const float* from = desc_.weights + panel * tile_.bn * id;
      for (int n = 0; n < tile_.bn; ++n) {
        for (std::int64_t k = 0; k < id; ++k) to[k * tile_.bn + n] = from[n * id + k];
      }
    });
  }

  void run_tile(std::int64_t row_tile, std::int64_t column_tile, std::int64_t slice,
                const float* in, const float* residual, float* out) {
    alignas(64) float inputs[kMaxInputs];
    alignas(64) float acc[kMaxOutputs];
    const auto [bm, bn, bk, stages] = tile_;
    std::fill_n(acc, bm * bn, 0.0f);
    const std::int64_t steps = desc_.id / split_ / bk;
    const std::int64_t first_k = slice * steps * bk;
    const float* weights = packed_.data() + column_tile * bn * desc_.id + first_k * bn;
    for (std::int64_t step = 0; step < steps; ++step, weights += bk * bn) {
      if (step + stages - 1 < steps) prefetch(weights + (stages - 1) * bk * bn);
      const float* x = in + row_tile * bm * desc_.id + first_k + step * bk;
      for (int m = 0; m < bm; ++m) {
        std::memcpy(inputs + m * (bk + kPadding), x + m * desc_.id,
                    static_cast<std::size_t>(bk) * sizeof(float));
      }
      tile_step(inputs, weights, acc, bm, bn, bk);
    }
    store(acc, row_tile, column_tile, slice, residual, out);
  }

  void prefetch(const float* weights) const {
    constexpr int kLineFloats = 16;
    for (int i = 0; i < tile_.bk * tile_.bn; i += kLineFloats) {
      __builtin_prefetch(weights + i, 0, 2);
    }
  }

  void store(const float* acc, std::int64_t row_tile, std::int64_t column_tile, std::int64_t slice,
             const float* residual, float* out) {
    for (int m = 0; m < tile_.bm; ++m) {
      const std::int64_t at = (row_tile * tile_.bm + m) * desc_.od + column_tile * tile_.bn;
      const float* row = acc + m * tile_.bn;
      if (split_ > 1) {
        std::memcpy(partial_.data() + slice * desc_.tokens * desc_.od + at, row,
                    static_cast<std::size_t>(tile_.bn) * sizeof(float));
        continue;
      }
      finish_row(row, 0, 1, desc_.bias + column_tile * tile_.bn, residual ? residual + at : nullptr,
                 desc_.epilogue, out + at, tile_.bn);
    }
  }

  SiteGemmDesc desc_;
  TileConfig tile_;
  int split_;
  std::vector<float> packed_;
  std::vector<float> partial_;  // [split][tokens][od]
};

// sums[i] = in . weights row first + i.
GEMMPEAK_CLONES void dot_rows(const float* in, const float* weights, std::int64_t id,
                              std::int64_t first, std::int64_t count, float* sums) {
  constexpr int kLanes = 8;
  for (std::int64_t i = 0; i < count; ++i) {
    const float* w = weights + (first + i) * id;
    float lanes[kLanes] = {};
    std::int64_t k = 0;
    for (; k + kLanes <= id; k += kLanes) {
      for (int l = 0; l < kLanes; ++l) lanes[l] += in[k + l] * w[k + l];
    }
    for (; k < id; ++k) lanes[0] += in[k] * w[k];
    sums[i] = 0.0f;
    for (float lane : lanes) sums[i] += lane;
  }
}

class RowGemm final : public SiteGemm {
 public:
  explicit RowGemm(const SiteGemmDesc& desc) : desc_(desc) {}

  void run(const float* in, const float* residual, float* out) override {
    constexpr std::int64_t kChunk = 64;
    const std::int64_t chunks = (desc_.od + kChunk - 1) / kChunk;
    parallel_for(desc_.tokens * chunks, [&](std::int64_t task) {
      const std::int64_t t = task / chunks;
      const std::int64_t first = task % chunks * kChunk;
      const std::int64_t count = std::min(kChunk, desc_.od - first);
      const std::int64_t at = t * desc_.od + first;
      float sums[kChunk];
      dot_rows(in + t * desc_.id, desc_.weights, desc_.id, first, count, sums);
      finish_row(sums, 0, 1, desc_.bias + first, residual ? residual + at : nullptr, desc_.epilogue,
                 out + at, count);
    });
  }

 private:
  SiteGemmDesc desc_;
};

}  // namespace

Result<std::unique_ptr<SiteGemm>> make_own_gemm(const SiteGemmDesc& desc, const TileConfig& tile,
                                                int split) {
  if (auto refusal = tile_refusal(tile, split, desc.od, desc.id, desc.tokens)) {
    return error_text(fmt::format("tile {}: {}", tile.str(), *refusal));
  }
  GEMMPEAK_CHECK(tile.bm * (tile.bk + kPadding) <= kMaxInputs && tile.bm * tile.bn <= kMaxOutputs &&
                     tile.bm % kRows == 0 && tile.bn % kColumns == 0,
                 "the tile list outgrew the CPU kernel's buffers");
  return std::unique_ptr<SiteGemm>(std::make_unique<OwnGemm>(desc, tile, split));
}

std::unique_ptr<SiteGemm> make_row_gemm(const SiteGemmDesc& desc) {
  return std::make_unique<RowGemm>(desc);
}

}  // namespace gemmpeak::substrate
