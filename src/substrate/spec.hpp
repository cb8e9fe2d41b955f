// Reading and checking a TransformerSpec: the project's own model file or a Hugging Face
// config.json. Used by the substrate and the programs over it. It refuses models whose mathematics
// differs from the substrate's (other activations, head counts that do not divide the width)
// instead of running something similar.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "model/transformer.hpp"

namespace gemmpeak::substrate {

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
