// The forward as data: a list of nodes over named slots, each a GEMM site or a small operation.
// Both executors (CPU here, a GPU's elsewhere) walk this list, so that a rewrite is made once and a
// site's node means the same everywhere. It knows no device and refuses to hold numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/transformer.hpp"

namespace gemmpeak {

// Activations, row-major float32. The residual stream alternates between x and y, so that no site
// reads what it writes.
enum class Slot : std::uint8_t {
  none,
  x,            // tokens x d, holds the input before the first node
  y,            // tokens x d
  norm,         // tokens x d
  qkv,          // tokens x 3d
  attended,     // tokens x d
  product,      // tokens x max(3d, feed_forward): a site_product before its epilogue
  hidden,       // tokens x feed_forward
  mean_hidden,  // 1 x feed_forward
  mean_y,       // 1 x d
  mean_x,       // 1 x d: what the head reads
};
inline constexpr int kSlotCount = 11;

enum class ForwardOp : std::uint8_t {
  normalize,          // out = LayerNorm(in), with the layer's scale and shift unless folded
  attention,          // out = softmax(q k) v, streaming over keys
  attention_unfused,  // the same through a stored matrix of scores
  site,               // out = epilogue(in w^T + bias); `rows` is 1 where it runs on a mean
  site_product,       // out = in w^T alone; an `epilogue` node follows
  epilogue,           // out = epilogue(in + bias) of `site`, one element at a time
  token_mean,         // out = mean over tokens of in
  head,               // logits = head(in)
};

// The arithmetic of a site's product. `native` is the executor's own (CPU: float32, GPU: TF32 with
// operands rounded to nearest).
enum class SitePrecision : std::uint8_t { native, bf16 };

struct ForwardNode {
  ForwardOp op = ForwardOp::site;
  int layer = 0;
  Site site = Site::qkv;  // for ForwardOp::site; for ForwardOp::normalize the site it feeds
  Slot in = Slot::none;
  Slot residual = Slot::none;
  Slot out = Slot::none;
  std::int64_t rows = 0;
  SitePrecision precision = SitePrecision::native;

  std::string str() const;  // "layer 3 w1"
};

struct GraphRewrites {
  // mean(y + w2 h + b) = mean(y) + w2 mean(h) + b: in the last layer only the mean is read, so w2
  // runs on one row instead of all tokens. Nothing else of that layer can go: every token's y and h
  // enter the means, and every token's y reads the attention over every token's k and v.
  bool prune_last = true;
};

struct ForwardGraph {
  TransformerSpec spec;
  std::vector<ForwardNode> nodes;
};

ForwardGraph build_graph(const TransformerSpec& spec, const GraphRewrites& rewrites);

struct SlotShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};
SlotShape slot_shape(const TransformerSpec& spec, Slot slot);

}  // namespace gemmpeak
