// The forward's small operations on a CPU in float32: LayerNorm, streaming attention, means, head.
// Used by the CPU executor. They allocate nothing of size and refuse nothing.
#pragma once

#include <cstdint>

#include "model/transformer.hpp"

namespace gemmpeak::substrate {

// out = (in - mean) / sqrt(variance + eps), then scale and shift where they are not null.
void normalize_rows(const float* in, std::int64_t rows, std::int64_t d, double eps,
                    const float* scale, const float* shift, float* out);

// out[tokens, d] = softmax(scale q k^T) v for each head of qkv[tokens, 3d], keys streamed in blocks
// with a running maximum (no tokens x tokens matrix; partial blocks are not padded with work).
void flash_attention(const TransformerSpec& spec, const float* qkv, float scale, float* out);

// out[columns] = mean over rows.
void mean_rows(const float* in, std::int64_t rows, std::int64_t columns, float* out);

}  // namespace gemmpeak::substrate
