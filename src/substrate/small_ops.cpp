#include "substrate/small_ops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/clones.hpp"
#include "base/float_math.hpp"
#include "substrate/parallel.hpp"

namespace gemmpeak::substrate {
namespace {

constexpr int kLanes = 8;  // partial sums side by side, one AVX2 register

template <class Term>
[[gnu::always_inline]] inline float lane_sum(std::int64_t count, const Term& term) {
  float lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lanes[l] += term(i + l);
  }
  for (; i < count; ++i) lanes[0] += term(i);
  float sum = 0.0f;
  for (float lane : lanes) sum += lane;
  return sum;
}

GEMMPEAK_CLONES void normalize_row(const float* in, std::int64_t d, float eps, const float* scale,
                                   const float* shift, float* out) {
  const float count = static_cast<float>(d);
  const float mean = lane_sum(d, [=](std::int64_t i) { return in[i]; }) / count;
  const float variance =
      lane_sum(d, [=](std::int64_t i) { return (in[i] - mean) * (in[i] - mean); }) / count;
  const float inverse = 1.0f / std::sqrt(variance + eps);
  if (scale == nullptr) {
    for (std::int64_t i = 0; i < d; ++i) out[i] = (in[i] - mean) * inverse;
  } else {
    for (std::int64_t i = 0; i < d; ++i) out[i] = (in[i] - mean) * inverse * scale[i] + shift[i];
  }
}

// Blocks of queries a task takes and of keys it streams; 32 keys of 64 floats and their transposed
// copy stay in the L1 cache.
constexpr std::int64_t kBlock = 32;

struct KeyBlock {
  const float* keys = nullptr;    // [head_dim][kBlock], transposed
  const float* values = nullptr;  // rows `stride` apart
  std::int64_t stride = 0;
  std::int64_t count = 0;
};

// One query against one block of keys: running maximum `top`, running sum `total`, unnormalised
// out.
GEMMPEAK_CLONES void attend(const float* query, float scale, std::int64_t width,
                            const KeyBlock& block, float& top, float& total, float* out) {
  float scores[kBlock] = {};
  for (std::int64_t c = 0; c < width; ++c) {
    const float q = query[c] * scale;
    for (std::int64_t j = 0; j < kBlock; ++j) scores[j] += q * block.keys[c * kBlock + j];
  }
  float new_top = top;
  for (std::int64_t j = 0; j < block.count; ++j) {
    // The comparison that lets NaN through, so that it reaches the logits.
    if (!(scores[j] <= new_top)) new_top = scores[j];
  }
  const float keep = fast_exp(top - new_top);
  for (std::int64_t j = 0; j < kBlock; ++j) scores[j] = fast_exp(scores[j] - new_top);
  total *= keep;
  for (std::int64_t c = 0; c < width; ++c) out[c] *= keep;
  for (std::int64_t j = 0; j < block.count; ++j) {
    total += scores[j];
    const float* value = block.values + j * block.stride;
    for (std::int64_t c = 0; c < width; ++c) out[c] += scores[j] * value[c];
  }
  top = new_top;
}

// All queries first..last of one head.
void attend_block(const TransformerSpec& spec, const float* qkv, float scale, std::int64_t head,
                  std::int64_t first, std::int64_t last, float* out) {
  const std::int64_t width = spec.head_dim();
  const std::int64_t d = spec.d;
  const std::int64_t stride = 3 * d;
  const auto queries = static_cast<std::size_t>(last - first);
  std::vector<float> keys(static_cast<std::size_t>(width * kBlock), 0.0f);
  std::vector<float> sums(queries * static_cast<std::size_t>(width), 0.0f);
  float top[kBlock];
  float total[kBlock] = {};
  std::fill_n(top, kBlock, -std::numeric_limits<float>::max());
  for (std::int64_t key = 0; key < spec.tokens; key += kBlock) {
    const std::int64_t count = std::min<std::int64_t>(kBlock, spec.tokens - key);
    const float* from = qkv + key * stride + head * width;
    for (std::int64_t j = 0; j < count; ++j) {
      for (std::int64_t c = 0; c < width; ++c) {
        keys[static_cast<std::size_t>(c * kBlock + j)] = from[j * stride + d + c];
      }
    }
    const KeyBlock block{keys.data(), from + 2 * d, stride, count};
    for (std::int64_t q = 0; q < last - first; ++q) {
      attend(qkv + (first + q) * stride + head * width, scale, width, block, top[q], total[q],
             sums.data() + q * width);
    }
  }
  for (std::int64_t q = 0; q < last - first; ++q) {
    float* to = out + (first + q) * d + head * width;
    for (std::int64_t c = 0; c < width; ++c) {
      to[c] = sums[static_cast<std::size_t>(q * width + c)] / total[q];
    }
  }
}

}  // namespace

void normalize_rows(const float* in, std::int64_t rows, std::int64_t d, double eps,
                    const float* scale, const float* shift, float* out) {
  constexpr std::int64_t kRowsPerTask = 16;
  parallel_for((rows + kRowsPerTask - 1) / kRowsPerTask, [&](std::int64_t task) {
    const std::int64_t last = std::min(rows, (task + 1) * kRowsPerTask);
    for (std::int64_t row = task * kRowsPerTask; row < last; ++row) {
      normalize_row(in + row * d, d, static_cast<float>(eps), scale, shift, out + row * d);
    }
  });
}

void flash_attention(const TransformerSpec& spec, const float* qkv, float scale, float* out) {
  const std::int64_t blocks = (spec.tokens + kBlock - 1) / kBlock;
  parallel_for(spec.heads * blocks, [&](std::int64_t task) {
    const std::int64_t first = task % blocks * kBlock;
    attend_block(spec, qkv, scale, task / blocks, first,
                 std::min<std::int64_t>(first + kBlock, spec.tokens), out);
  });
}

void mean_rows(const float* in, std::int64_t rows, std::int64_t columns, float* out) {
  std::fill_n(out, columns, 0.0f);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < columns; ++i) out[i] += in[row * columns + i];
  }
  for (std::int64_t i = 0; i < columns; ++i) out[i] /= static_cast<float>(rows);
}

}  // namespace gemmpeak::substrate
