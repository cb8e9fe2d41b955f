// The forward as data: a list of nodes over named slots, each a GEMM site or a small operation.
// Both executors (CPU here, a GPU's elsewhere) walk this list, so that a rewrite is made once and a
// site's node means the same everywhere. It knows no device and refuses to hold numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "substrate/spec.hpp"

namespace gemmpeak::substrate {

// Activations, row-major float32. The residual stream alternates between x and y, so that no site
// reads what it writes.
enum class Slot : std::uint8_t {
  none,
  x,            // tokens x d, holds the input before the first node
  y,            // tokens x d
  norm,         // tokens x d
  qkv,          // tokens x 3d
  attended,     // tokens x d
  hidden,       // tokens x feed_forward
  mean_hidden,  // 1 x feed_forward
  mean_y,       // 1 x d
  mean_x,       // 1 x d: what the head reads
};
inline constexpr int kSlotCount = 10;

enum class Op : std::uint8_t {
  normalize,   // out = LayerNorm(in), with the layer's scale and shift unless they are folded
  attention,   // out = softmax(q k) v, streaming over keys
  site,        // out = epilogue(in w^T + bias); `rows` is 1 where the site runs on a mean
  token_mean,  // out = mean over tokens of in
  head,        // logits = head(in)
};

struct Node {
  Op op = Op::site;
  int layer = 0;
  Site site = Site::qkv;  // for Op::site; for Op::normalize the site it feeds
  Slot in = Slot::none;
  Slot residual = Slot::none;
  Slot out = Slot::none;
  std::int64_t rows = 0;

  std::string str() const;  // "layer 3 w1"
};

struct GraphRewrites {
  // mean(y + w2 h + b) = mean(y) + w2 mean(h) + b: in the last layer only the mean is read, so w2
  // runs on one row instead of all tokens. Nothing else of that layer can go: every token's y and h
  // enter the means, and every token's y reads the attention over every token's k and v.
  bool prune_last = true;
};

struct Graph {
  TransformerSpec spec;
  std::vector<Node> nodes;
};

Graph build_graph(const TransformerSpec& spec, const GraphRewrites& rewrites);

struct SlotShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};
SlotShape slot_shape(const TransformerSpec& spec, Slot slot);

}  // namespace gemmpeak::substrate
