#include "substrate/weights.hpp"

#include <cmath>

#include "substrate/counter_rng.hpp"
#include "substrate/parallel.hpp"

namespace gemmpeak::substrate {
namespace {

// Gains of the seeded weights: a site's weights have standard deviation gain / sqrt(id).
// q and k at 1.4 give attention logits a deviation of about 2, so that attention selects and a
// fault in k shows; the others keep the residual stream's growth to about a half of its variance a
// layer.
constexpr float kQueryKeyGain = 1.4f;
constexpr float kGain = 1.0f;
// Biases, and the spread of the norms' scales around 1 and shifts around 0: large enough that a
// forgotten one is an error and not noise.
constexpr float kSpread = 0.1f;

// Streams of the random numbers, 16 a layer: the four sites' weights, their biases, the norms.
enum Stream : std::uint64_t { kWeights = 0, kBias = 4, kNorms = 8, kPerLayer = 16 };
constexpr std::uint64_t kInputStream = 1ull << 32;
constexpr std::uint64_t kHeadStream = kInputStream + 1;

std::vector<float> normals(std::uint64_t key, std::int64_t count, float mean, float deviation) {
  std::vector<float> out(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    out[static_cast<std::size_t>(i)] =
        mean + deviation * counter_normal(key, static_cast<std::uint64_t>(i));
  }
  return out;
}

float gain_of(Site site, std::int64_t row, int d) {
  return site == Site::qkv && row < 2 * d ? kQueryKeyGain : kGain;
}

void fill_weights(std::vector<float>& out, const TransformerSpec& spec, Site site,
                  std::uint64_t key) {
  const SiteShape shape = site_shape(spec, site);
  const float unit = 1.0f / std::sqrt(static_cast<float>(shape.id));
  for (std::int64_t row = 0; row < shape.od; ++row) {
    const float deviation = gain_of(site, row, spec.d) * unit;
    const auto first = static_cast<std::uint64_t>(row * shape.id);
    for (std::uint64_t i = first; i < first + static_cast<std::uint64_t>(shape.id); ++i) {
      out[i] = deviation * counter_normal(key, i);
    }
  }
}

void fill_layer_vectors(LayerWeights<float>& layer, const TransformerSpec& spec, std::uint64_t seed,
                        std::uint64_t first_stream) {
  for (Site site : kSites) {
    layer.bias[index_of(site)] = normals(stream_key(seed, first_stream + kBias + index_of(site)),
                                         site_shape(spec, site).od, 0.0f, kSpread);
  }
  std::vector<float>* norms[] = {&layer.norm1_scale, &layer.norm1_shift, &layer.norm2_scale,
                                 &layer.norm2_shift};
  for (std::uint64_t i = 0; i < 4; ++i) {
    *norms[i] = normals(stream_key(seed, first_stream + kNorms + i), spec.d,
                        i % 2 == 0 ? 1.0f : 0.0f, kSpread);
  }
}

template <class To, class From>
std::vector<To> converted(const std::vector<From>& from) {
  return std::vector<To>(from.begin(), from.end());
}

}  // namespace

std::vector<float> seeded_input(const TransformerSpec& spec, std::uint64_t seed) {
  return normals(stream_key(seed, kInputStream), std::int64_t{spec.tokens} * spec.d, 0.0f, 1.0f);
}

std::vector<double> seeded_head_directions(const TransformerSpec& spec, std::uint64_t seed) {
  return converted<double>(
      normals(stream_key(seed, kHeadStream), std::int64_t{spec.logits} * spec.d, 0.0f, 1.0f));
}

ModelWeights<float> seeded_weights(const TransformerSpec& spec, std::uint64_t seed) {
  ModelWeights<float> model;
  model.spec = spec;
  model.input = seeded_input(spec, seed);
  model.layers.resize(static_cast<std::size_t>(spec.layers));
  parallel_for(std::int64_t{spec.layers} * 4, [&](std::int64_t task) {
    const auto l = static_cast<std::size_t>(task / 4);
    const Site site = kSites[static_cast<std::size_t>(task % 4)];
    const SiteShape shape = site_shape(spec, site);
    auto& weights = model.layers[l].weights[index_of(site)];
    weights.resize(static_cast<std::size_t>(shape.od * shape.id));
    fill_weights(weights, spec, site, stream_key(seed, l * kPerLayer + kWeights + index_of(site)));
    if (site == Site::qkv) fill_layer_vectors(model.layers[l], spec, seed, l * kPerLayer);
  });
  return model;
}

ModelWeights<double> to_double(const ModelWeights<float>& weights) {
  ModelWeights<double> out;
  out.spec = weights.spec;
  out.norm_folded = weights.norm_folded;
  out.attention_scale_folded = weights.attention_scale_folded;
  out.input = converted<double>(weights.input);
  for (const LayerWeights<float>& from : weights.layers) {
    LayerWeights<double>& to = out.layers.emplace_back();
    to.norm1_scale = converted<double>(from.norm1_scale);
    to.norm1_shift = converted<double>(from.norm1_shift);
    to.norm2_scale = converted<double>(from.norm2_scale);
    to.norm2_shift = converted<double>(from.norm2_shift);
    for (std::size_t s = 0; s < 4; ++s) {
      to.weights[s] = converted<double>(from.weights[s]);
      to.bias[s] = converted<double>(from.bias[s]);
    }
  }
  return out;
}

}  // namespace gemmpeak::substrate
