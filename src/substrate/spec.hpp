// TransformerSpec: the dimensions of the encoder under the tactic search, its four GEMM sites, and
// how both follow from a JSON file. Used by everything in the substrate and by the search's
// generator. It refuses models whose mathematics differs from the substrate's (other activations,
// head counts that do not divide the width) instead of running something similar.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "backend/site_gemm.hpp"
#include "base/result.hpp"

namespace gemmpeak::substrate {

// A pre-LayerNorm encoder: x += wo attention(qkv norm1(x)); x += w2 gelu_tanh(w1 norm2(x)); the
// logits are a linear map of the mean over tokens.
struct TransformerSpec {
  std::string name = "encoder-12x768";
  int layers = 12;
  int d = 768;
  int heads = 12;
  int feed_forward = 3072;
  int tokens = 128;
  int logits = 2;
  double norm_eps = 1e-5;  // PyTorch's LayerNorm default

  bool operator==(const TransformerSpec&) const = default;
  int head_dim() const { return d / heads; }
};

enum class Site : std::uint8_t { qkv, wo, w1, w2 };
inline constexpr std::array<Site, 4> kSites{Site::qkv, Site::wo, Site::w1, Site::w2};

constexpr std::size_t index_of(Site site) { return static_cast<std::size_t>(site); }
constexpr std::string_view site_name(Site site) {
  constexpr std::array<std::string_view, 4> kNames{"qkv", "wo", "w1", "w2"};
  return kNames[index_of(site)];
}

struct SiteShape {
  std::int64_t od = 0;  // output features
  std::int64_t id = 0;  // input features
  std::int64_t tokens = 0;
  Epilogue epilogue = Epilogue::bias;
};
SiteShape site_shape(const TransformerSpec& spec, Site site);

// An error that names the first impossible dimension.
Result<void> check_spec(const TransformerSpec& spec);

// Reads either the project's own model file (layers, d, heads, feed_forward, tokens, logits,
// norm_eps) or a Hugging Face config.json (hidden_size, num_hidden_layers, num_attention_heads,
// intermediate_size, layer_norm_eps, hidden_act, num_labels); the latter has no sequence length, so
// `default_tokens` is taken.
Result<TransformerSpec> parse_spec(std::string_view json_text, int default_tokens = 128);
Result<TransformerSpec> read_spec(const std::string& path, int default_tokens = 128);

// The project's own model file for `spec`.
std::string spec_json(const TransformerSpec& spec);

}  // namespace gemmpeak::substrate
