// ModelWeights: the numbers of one encoder and its input, and how they are made from a seed. Used
// by the reference forward, the rewrites and the executors. Real is float for what runs and double
// where a rewrite is judged. It refuses to hold a head: see head.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/transformer.hpp"

namespace gemmpeak::substrate {

template <class Real>
struct LayerWeights {
  std::vector<Real> norm1_scale, norm1_shift;  // before qkv, d each
  std::vector<Real> norm2_scale, norm2_shift;  // before w1
  std::array<std::vector<Real>, 4> weights;    // by Site, od x id row-major
  std::array<std::vector<Real>, 4> bias;       // by Site, od
};

template <class Real>
struct ModelWeights {
  TransformerSpec spec;
  // Set by the rewrites (rewrites.hpp): normalisation has no scale and shift any more, and the rows
  // of q carry 1/sqrt(head_dim).
  bool norm_folded = false;
  bool attention_scale_folded = false;
  std::vector<LayerWeights<Real>> layers;
  std::vector<Real> input;  // tokens x d: the embedded sequence
};

// The seed behind the built-in weights and the head's calibration.
inline constexpr std::uint64_t kBuiltInSeed = 1;

// Weights and input drawn from `seed` alone, the same bits on every machine.
ModelWeights<float> seeded_weights(const TransformerSpec& spec, std::uint64_t seed);
std::vector<float> seeded_input(const TransformerSpec& spec, std::uint64_t seed);
// logits x d directions for a head, each element about standard normal.
std::vector<double> seeded_head_directions(const TransformerSpec& spec, std::uint64_t seed);

ModelWeights<double> to_double(const ModelWeights<float>& weights);

}  // namespace gemmpeak::substrate
