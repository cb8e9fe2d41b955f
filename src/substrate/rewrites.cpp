#include "substrate/rewrites.hpp"

#include <cmath>

#include "substrate/parallel.hpp"

namespace gemmpeak::substrate {
namespace {

template <class Real>
void fold_norm(std::vector<Real>& weights, std::vector<Real>& bias, std::vector<Real>& scale,
               std::vector<Real>& shift) {
  const std::size_t id = scale.size();
  for (std::size_t row = 0; row < bias.size(); ++row) {
    Real* w = weights.data() + row * id;
    double moved = static_cast<double>(bias[row]);
    for (std::size_t i = 0; i < id; ++i) {
      moved += static_cast<double>(w[i]) * static_cast<double>(shift[i]);
      w[i] *= scale[i];
    }
    bias[row] = static_cast<Real>(moved);
  }
  scale.assign(id, Real{1});
  shift.assign(id, Real{0});
}

}  // namespace

template <class Real>
void fold_norms(ModelWeights<Real>& model) {
  if (model.norm_folded) return;
  parallel_for(static_cast<std::int64_t>(model.layers.size()) * 2, [&](std::int64_t task) {
    LayerWeights<Real>& layer = model.layers[static_cast<std::size_t>(task / 2)];
    const bool first = task % 2 == 0;
    const std::size_t site = index_of(first ? Site::qkv : Site::w1);
    fold_norm(layer.weights[site], layer.bias[site], first ? layer.norm1_scale : layer.norm2_scale,
              first ? layer.norm1_shift : layer.norm2_shift);
  });
  model.norm_folded = true;
}

template <class Real>
void fold_attention_scale(ModelWeights<Real>& model) {
  if (model.attention_scale_folded) return;
  const auto scale = static_cast<Real>(1.0 / std::sqrt(static_cast<double>(model.spec.head_dim())));
  const auto d = static_cast<std::size_t>(model.spec.d);
  for (LayerWeights<Real>& layer : model.layers) {
    const std::size_t qkv = index_of(Site::qkv);
    for (std::size_t i = 0; i < d * d; ++i) layer.weights[qkv][i] *= scale;
    for (std::size_t i = 0; i < d; ++i) layer.bias[qkv][i] *= scale;
  }
  model.attention_scale_folded = true;
}

template void fold_norms<float>(ModelWeights<float>&);
template void fold_norms<double>(ModelWeights<double>&);
template void fold_attention_scale<float>(ModelWeights<float>&);
template void fold_attention_scale<double>(ModelWeights<double>&);

}  // namespace gemmpeak::substrate
