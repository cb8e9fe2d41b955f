#include "substrate/spec.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/json.hpp"

namespace gemmpeak::substrate {
namespace {

// Beyond this a dimension is a mistake, and products of three stay within 64 bits.
constexpr int kMaxDimension = 1 << 20;

struct IntField {
  const char* name;
  int TransformerSpec::*member;
  bool required;
};

constexpr IntField kOwnFields[] = {
    {"layers", &TransformerSpec::layers, true},
    {"d", &TransformerSpec::d, true},
    {"heads", &TransformerSpec::heads, true},
    {"feed_forward", &TransformerSpec::feed_forward, true},
    {"tokens", &TransformerSpec::tokens, true},
    {"logits", &TransformerSpec::logits, false},
};

constexpr IntField kHuggingFaceFields[] = {
    {"num_hidden_layers", &TransformerSpec::layers, true},
    {"hidden_size", &TransformerSpec::d, true},
    {"num_attention_heads", &TransformerSpec::heads, true},
    {"intermediate_size", &TransformerSpec::feed_forward, true},
    {"num_labels", &TransformerSpec::logits, false},
};

Result<void> read_int(const Json& object, const IntField& field, TransformerSpec& spec) {
  const auto found = object.find(field.name);
  if (found == object.end() || found->is_null()) {
    if (!field.required) return {};
    return error_text(fmt::format("model: \"{}\" is missing", field.name));
  }
  if (!found->is_number_integer()) {
    return error_text(fmt::format("model: \"{}\" is not a whole number", field.name));
  }
  const auto value = found->get<std::int64_t>();
  if (value < 1 || value > kMaxDimension) {
    return error_text(
        fmt::format("model: \"{}\" is {}, outside 1..{}", field.name, value, kMaxDimension));
  }
  spec.*field.member = static_cast<int>(value);
  return {};
}

Result<void> read_text(const Json& object, const char* name, std::string& out) {
  const auto found = object.find(name);
  if (found == object.end()) return {};
  if (!found->is_string()) return error_text(fmt::format("model: \"{}\" is not text", name));
  out = found->get<std::string>();
  return {};
}

Result<void> read_eps(const Json& object, const char* name, double& out) {
  const auto found = object.find(name);
  if (found == object.end()) return {};
  if (!found->is_number()) return error_text(fmt::format("model: \"{}\" is not a number", name));
  out = found->get<double>();
  return {};
}

// The erf form is accepted because the substrate computes the tanh form everywhere, as the vendors'
// fused epilogues do; the two forms differ by less than 5e-4.
Result<void> check_activation(const std::string& activation) {
  for (const char* known : {"gelu_tanh", "gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast"}) {
    if (activation == known) return {};
  }
  return error_text(
      fmt::format("model: activation \"{}\" is not GELU, the only one there is", activation));
}

}  // namespace

Result<void> check_spec(const TransformerSpec& spec) {
  for (const IntField& field : kOwnFields) {
    const int value = spec.*field.member;
    if (value < 1 || value > kMaxDimension) {
      return error_text(
          fmt::format("model: {} is {}, outside 1..{}", field.name, value, kMaxDimension));
    }
  }
  if (spec.d % spec.heads != 0) {
    return error_text(
        fmt::format("model: width {} is no multiple of {} heads", spec.d, spec.heads));
  }
  if (!(spec.norm_eps > 0.0 && spec.norm_eps < 1.0)) {
    return error_text(fmt::format("model: norm_eps {} is outside (0, 1)", spec.norm_eps));
  }
  return {};
}

Result<TransformerSpec> parse_spec(std::string_view json_text, int default_tokens) {
  const Json object = Json::parse(json_text, nullptr, false);
  if (object.is_discarded()) return error_text("model: not a JSON document");
  if (!object.is_object()) return error_text("model: not a JSON object");
  TransformerSpec spec;
  spec.name = "model";
  std::string activation = "gelu_tanh";
  if (object.contains("hidden_size")) {
    spec.tokens = default_tokens;
    for (const IntField& field : kHuggingFaceFields) GEMMPEAK_TRY(read_int(object, field, spec));
    GEMMPEAK_TRY(read_text(object, "model_type", spec.name));
    GEMMPEAK_TRY(read_text(object, "hidden_act", activation));
    GEMMPEAK_TRY(read_eps(object, "layer_norm_eps", spec.norm_eps));
  } else {
    for (const IntField& field : kOwnFields) GEMMPEAK_TRY(read_int(object, field, spec));
    GEMMPEAK_TRY(read_text(object, "name", spec.name));
    GEMMPEAK_TRY(read_text(object, "activation", activation));
    GEMMPEAK_TRY(read_eps(object, "norm_eps", spec.norm_eps));
  }
  GEMMPEAK_TRY(check_activation(activation));
  GEMMPEAK_TRY(check_spec(spec));
  return spec;
}

Result<TransformerSpec> read_spec(const std::string& path, int default_tokens) {
  auto text = read_file(path);
  if (!text) return text.error();
  auto spec = parse_spec(*text, default_tokens);
  if (!spec) return error_text(path + ": " + spec.error().message());
  return spec;
}

std::string spec_json(const TransformerSpec& spec) {
  Json object;
  object["name"] = spec.name;
  for (const IntField& field : kOwnFields) object[field.name] = spec.*field.member;
  object["norm_eps"] = spec.norm_eps;
  object["activation"] = "gelu_tanh";
  return object.dump(2) + "\n";
}

}  // namespace gemmpeak::substrate
