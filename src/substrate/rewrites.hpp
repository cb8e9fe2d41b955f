// The exact rewrites of the weights: same function, fewer operations. Used before an executor is
// built, and switchable for the search's semantic tier. Each is exact in real arithmetic; what is
// left is one rounding of the new weights. The rewrites of the graph (last-layer pruning) are in
// graph.hpp.
#pragma once

#include "substrate/weights.hpp"

namespace gemmpeak::substrate {

// W (n * scale + shift) + b = (W diag(scale)) n + (W shift + b): the two norms' scale and shift
// move into qkv and w1. Does nothing when already done.
template <class Real>
void fold_norms(ModelWeights<Real>& model);

// softmax(q k / sqrt(h)): 1/sqrt(h) moves into q's rows and bias (exactly, when h is a power of 4).
template <class Real>
void fold_attention_scale(ModelWeights<Real>& model);

}  // namespace gemmpeak::substrate
