// The encoder's weights by name, from either of two naming schemes.
#include <fmt/format.h>

#include "substrate/safetensors.hpp"

namespace gemmpeak::substrate {
namespace {

// Where a layer's parts are called what; %-free: the prefix carries the layer's number.
struct Names {
  std::string prefix;  // before the layer's number
  const char* norm1;
  const char* norm2;
  std::array<std::vector<const char*>, 4> sites;  // by Site; several are joined along od
};

Names own_names() { return {"layers.", "norm1", "norm2", {{{"qkv"}, {"wo"}, {"w1"}, {"w2"}}}}; }

Names vit_names(const std::string& prefix) {
  return {prefix,
          "layernorm_before",
          "layernorm_after",
          {{{"attention.attention.query", "attention.attention.key", "attention.attention.value"},
            {"attention.output.dense"},
            {"intermediate.dense"},
            {"output.dense"}}}};
}

Names names_of(const SafeTensors& file) {
  for (const char* prefix : {"vit.encoder.layer.", "encoder.layer."}) {
    if (file.has(fmt::format("{}0.layernorm_before.weight", prefix))) return vit_names(prefix);
  }
  return own_names();
}

// Appends a tensor to `to`.
Result<void> append(const SafeTensors& file, const std::string& name,
                    const std::vector<std::int64_t>& shape, std::vector<float>& to) {
  auto values = file.floats(name, shape);
  if (!values) return values.error();
  to.insert(to.end(), values->begin(), values->end());
  return {};
}

Result<void> load_layer(const TransformerSpec& spec, const SafeTensors& file, const Names& names,
                        int index, LayerWeights<float>& layer) {
  const std::string at = fmt::format("{}{}.", names.prefix, index);
  const std::int64_t d = spec.d;
  GEMMPEAK_TRY(append(file, at + names.norm1 + ".weight", {d}, layer.norm1_scale));
  GEMMPEAK_TRY(append(file, at + names.norm1 + ".bias", {d}, layer.norm1_shift));
  GEMMPEAK_TRY(append(file, at + names.norm2 + ".weight", {d}, layer.norm2_scale));
  GEMMPEAK_TRY(append(file, at + names.norm2 + ".bias", {d}, layer.norm2_shift));
  for (Site site : kSites) {
    const SiteShape shape = site_shape(spec, site);
    const auto& parts = names.sites[index_of(site)];
    const std::int64_t od = shape.od / static_cast<std::int64_t>(parts.size());
    for (const char* part : parts) {
      GEMMPEAK_TRY(
          append(file, at + part + ".weight", {od, shape.id}, layer.weights[index_of(site)]));
      GEMMPEAK_TRY(append(file, at + part + ".bias", {od}, layer.bias[index_of(site)]));
    }
  }
  return {};
}

Result<Head> load_head(const TransformerSpec& spec, const SafeTensors& file) {
  const auto weights = file.floats("head.weight", {spec.logits, spec.d});
  if (!weights) return weights.error();
  const auto bias = file.floats("head.bias", {spec.logits});
  if (!bias) return bias.error();
  return Head{{weights->begin(), weights->end()}, {bias->begin(), bias->end()}};
}

}  // namespace

Result<LoadedModel> load_model(const TransformerSpec& spec, const SafeTensors& file) {
  LoadedModel model;
  model.weights.spec = spec;
  const Names names = names_of(file);
  for (int l = 0; l < spec.layers; ++l) {
    GEMMPEAK_TRY(load_layer(spec, file, names, l, model.weights.layers.emplace_back()));
  }
  if (file.has("input")) {
    auto input = file.floats("input", {spec.tokens, spec.d});
    if (!input) return input.error();
    model.weights.input = std::move(*input);
  } else {
    model.weights.input = seeded_input(spec, kBuiltInSeed);
  }
  if (file.has("head.weight")) {
    auto head = load_head(spec, file);
    if (!head) return head.error();
    model.head = std::move(*head);
  }
  return model;
}

}  // namespace gemmpeak::substrate
