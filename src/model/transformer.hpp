// TransformerSpec and Site: the dimensions of the encoder under the tactic search and its four GEMM
// sites, as plain values. Used by the substrate, the backends that run it, and the search. Reading
// a model file is the substrate's (substrate/spec.hpp). It refuses nothing: check_spec does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gemmpeak {

enum class Epilogue : std::uint8_t {
  bias,           // z = product + bias
  bias_residual,  // z + residual
  bias_gelu,      // tanh GELU of z
};

constexpr std::string_view epilogue_name(Epilogue epilogue) {
  constexpr std::array<std::string_view, 3> kNames{"bias", "bias+residual", "bias+gelu_tanh"};
  return kNames[static_cast<std::size_t>(epilogue)];
}

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

// out[tokens, od] = epilogue(in[tokens, id] weights[od, id]^T + bias[od])
struct SiteShape {
  std::int64_t od = 0;  // output features
  std::int64_t id = 0;  // input features
  std::int64_t tokens = 0;
  Epilogue epilogue = Epilogue::bias;

  bool operator==(const SiteShape&) const = default;
  double flop() const {
    return 2.0 * static_cast<double>(od) * static_cast<double>(id) * static_cast<double>(tokens);
  }
};
SiteShape site_shape(const TransformerSpec& spec, Site site);

}  // namespace gemmpeak
