// A reader of safetensors files, and of the encoder's weights in one. Used where a user brings a
// model. The whole header is checked before any tensor is read; it refuses files that are cut
// short, tensors that overlap, leave holes or do not fit their shape, and element types other than
// F32, F16 and BF16, each with a sentence that names the tensor.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "substrate/head.hpp"
#include "substrate/weights.hpp"

namespace gemmpeak::substrate {

class SafeTensors {
 public:
  struct Tensor {
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0;  // bytes from the start of the data
    std::uint64_t end = 0;
  };

  static Result<SafeTensors> read(const std::string& path);
  static Result<SafeTensors> parse(std::string bytes);

  bool has(const std::string& name) const { return tensors_.count(name) != 0; }
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  // The tensor's elements as float; an error unless it exists with exactly this shape.
  Result<std::vector<float>> floats(const std::string& name,
                                    const std::vector<std::int64_t>& shape) const;

 private:
  std::string bytes_;
  std::uint64_t data_start_ = 0;
  std::map<std::string, Tensor> tensors_;
};

struct LoadedModel {
  ModelWeights<float> weights;
  std::optional<Head> head;  // where the file has one
};

// Names: layers.I.{norm1,qkv,wo,norm2,w1,w2}.{weight,bias}, and optionally input [tokens, d],
// head.weight [logits, d], head.bias; or those of a Hugging Face ViT encoder (also pre-LayerNorm):
// [vit.]encoder.layer.I.{layernorm_before, attention.attention.{query,key,value}, ...}, whose q, k
// and v are joined and whose classifier is not taken. Without an input the one of kBuiltInSeed
// stands in.
Result<LoadedModel> load_model(const TransformerSpec& spec, const SafeTensors& file);

}  // namespace gemmpeak::substrate
