// The device code of the transformer forward as launches: the project's own TF32 GEMM for the sites
// and the small operations around it. Used by this backend's forward alone. Pointers are device
// memory, row-major float32; every launch is asynchronous on `stream`, captures into a graph, and
// returns what the launch said. It refuses to allocate or synchronise.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "model/tile_configs.hpp"
#include "model/transformer.hpp"

namespace gemmpeak::cuda {

// The hardware drops the low 13 bits of TF32 operands; whoever writes an operand rounds it first
// (to nearest, cvt.rna): weights once when they are loaded, activations in the epilogue of what
// produces them. `round_out` asks for that.

// out[tokens, od] = epilogue(in[tokens, id] weights[od, id]^T + bias[od])
struct SiteArguments {
  const float* in = nullptr;
  const float* weights = nullptr;
  const float* bias = nullptr;
  const float* residual = nullptr;  // null unless the epilogue reads it
  float* out = nullptr;
  std::int64_t tokens = 0;
  std::int64_t od = 0;
  std::int64_t id = 0;
  Epilogue epilogue = Epilogue::bias;
  bool round_out = false;
  void* workspace = nullptr;  // own_site_workspace_bytes(), zero before the first run
};

// Split-K partials and arrival counters; 0 where none are needed. A run leaves the counters zero.
std::int64_t own_site_workspace_bytes(const TileConfig& tile, int split, std::int64_t tokens,
                                      std::int64_t od);
// Dynamic shared memory of one block.
int own_site_shared_bytes(const TileConfig& tile);
// Raises the shared-memory limits of the current device's kernels; once per device, not captured.
cudaError_t prepare_own_sites();
// Shapes that tile_refusal() refuses give cudaErrorInvalidValue.
cudaError_t launch_own_site(const SiteArguments& site, const TileConfig& tile, int split,
                            cudaStream_t stream);
// The same for one row (the pruned last w2), any od and id.
cudaError_t launch_row_site(const SiteArguments& site, cudaStream_t stream);
// out = epilogue(product + bias) element by element, after an unfused product.
cudaError_t launch_epilogue(const SiteArguments& site, const float* product, cudaStream_t stream);

// out = LayerNorm(in) over rows of `columns`; scale and shift null where they are folded.
cudaError_t launch_normalize(const float* in, std::int64_t rows, std::int64_t columns, float eps,
                             const float* scale, const float* shift, bool round_out, float* out,
                             cudaStream_t stream);

struct AttentionArguments {
  const float* qkv = nullptr;  // tokens x 3d: q, k, v, each heads x head_dim
  float* out = nullptr;        // tokens x d
  std::int64_t tokens = 0;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;  // a multiple of 8, at most 128
  float scale = 1.0f;
  bool round_out = false;
};
// Streaming over keys with a running maximum and sum; no scores in memory.
cudaError_t launch_attention(const AttentionArguments& attention, cudaStream_t stream);
// Through `scores` (heads x tokens x tokens) in three launches: the rewrite's counterpart.
cudaError_t launch_attention_unfused(const AttentionArguments& attention, float* scores,
                                     cudaStream_t stream);

// out[columns] = mean over rows
cudaError_t launch_token_mean(const float* in, std::int64_t rows, std::int64_t columns,
                              bool round_out, float* out, cudaStream_t stream);
// out[logits] = weights[logits, d] in[d] + bias
cudaError_t launch_head(const float* in, std::int64_t d, const float* weights, const float* bias,
                        int logits, float* out, cudaStream_t stream);

cudaError_t launch_round_tf32(const float* in, std::int64_t count, float* out, cudaStream_t stream);
cudaError_t launch_to_bf16(const float* in, std::int64_t count, void* out, cudaStream_t stream);
cudaError_t launch_fill_nan(float* out, std::int64_t count, cudaStream_t stream);
// Reads `bytes` (a multiple of 16) once with every unit; writes one word to `sink`.
cudaError_t launch_read(const void* in, std::int64_t bytes, float* sink, cudaStream_t stream);
cudaError_t launch_empty(cudaStream_t stream);
// Writes the device's global timer (nanoseconds) to `out`.
cudaError_t launch_stamp(std::uint64_t* out, cudaStream_t stream);

}  // namespace gemmpeak::cuda
