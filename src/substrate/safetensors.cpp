#include "substrate/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/json.hpp"

namespace gemmpeak::substrate {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
// The format's own limit on its header.
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

std::uint64_t little_endian(const char* bytes, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

// Bytes of one element; nothing for a type the format does not have.
std::optional<std::uint64_t> element_bytes(const std::string& dtype) {
  static const std::map<std::string, std::uint64_t> sizes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1},
      {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
      {"U32", 4},  {"F32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8}};
  const auto found = sizes.find(dtype);
  if (found == sizes.end()) return std::nullopt;
  return found->second;
}

float half_to_float(std::uint32_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1Fu;
  const std::uint32_t mantissa = bits & 0x3FFu;
  if (exponent == 0) {  // zero and subnormals: mantissa 2^-24
    const float value = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  const std::uint32_t wide = exponent == 31 ? 255u : exponent + 112u;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

// elements x bytes of one, or nothing when it does not fit 64 bits.
std::optional<std::uint64_t> tensor_bytes(const std::vector<std::int64_t>& shape,
                                          std::uint64_t element) {
  std::uint64_t bytes = element;
  for (std::int64_t dimension : shape) {
    const auto n = static_cast<std::uint64_t>(dimension);
    if (n != 0 && bytes > std::numeric_limits<std::uint64_t>::max() / n) return std::nullopt;
    bytes *= n;
  }
  return bytes;
}

Result<std::vector<std::uint64_t>> whole_numbers(const Json& object, const std::string& name,
                                                 const char* member) {
  const auto found = object.find(member);
  if (found == object.end() || !found->is_array()) {
    return error_text(fmt::format("tensor \"{}\": \"{}\" is no list", name, member));
  }
  std::vector<std::uint64_t> out;
  for (const Json& item : *found) {
    if (!item.is_number_unsigned() ||
        item.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
      return error_text(
          fmt::format("tensor \"{}\": \"{}\" has something else than sizes", name, member));
    }
    out.push_back(item.get<std::uint64_t>());
  }
  return out;
}

Result<SafeTensors::Tensor> parse_tensor(const std::string& name, const Json& object,
                                         std::uint64_t data_bytes) {
  if (!object.is_object()) return error_text(fmt::format("tensor \"{}\" is no object", name));
  SafeTensors::Tensor tensor;
  const auto dtype = object.find("dtype");
  if (dtype == object.end() || !dtype->is_string()) {
    return error_text(fmt::format("tensor \"{}\": no dtype", name));
  }
  tensor.dtype = dtype->get<std::string>();
  const auto element = element_bytes(tensor.dtype);
  if (!element) {
    return error_text(fmt::format("tensor \"{}\": unknown dtype \"{}\"", name, tensor.dtype));
  }
  const auto shape = whole_numbers(object, name, "shape");
  if (!shape) return shape.error();
  tensor.shape.assign(shape->begin(), shape->end());
  const auto offsets = whole_numbers(object, name, "data_offsets");
  if (!offsets) return offsets.error();
  if (offsets->size() != 2 || (*offsets)[0] > (*offsets)[1]) {
    return error_text(fmt::format("tensor \"{}\": data_offsets are no range", name));
  }
  tensor.begin = (*offsets)[0];
  tensor.end = (*offsets)[1];
  if (tensor.end > data_bytes) {
    return error_text(fmt::format("tensor \"{}\" ends at byte {}, the data at {}: cut short?", name,
                                  tensor.end, data_bytes));
  }
  if (tensor_bytes(tensor.shape, *element) != tensor.end - tensor.begin) {
    return error_text(fmt::format("tensor \"{}\": {} bytes do not hold {} of {}", name,
                                  tensor.end - tensor.begin, shape_text(tensor.shape),
                                  tensor.dtype));
  }
  return tensor;
}

// Tensors must cover the data once: no overlap, no hole, nothing after the last.
Result<void> check_layout(const std::map<std::string, SafeTensors::Tensor>& tensors,
                          std::uint64_t data_bytes) {
  std::vector<std::pair<const SafeTensors::Tensor*, const std::string*>> order;
  for (const auto& [name, tensor] : tensors) order.emplace_back(&tensor, &name);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first->begin, a.first->end) < std::pair(b.first->begin, b.first->end);
  });
  std::uint64_t at = 0;
  for (const auto& [tensor, name] : order) {
    if (tensor->begin < at) {
      return error_text(fmt::format("tensor \"{}\" overlaps the one before it", *name));
    }
    if (tensor->begin > at) {
      return error_text(fmt::format("there is a hole before tensor \"{}\"", *name));
    }
    at = tensor->end;
  }
  if (at != data_bytes) {
    return error_text(fmt::format("{} bytes after the last tensor", data_bytes - at));
  }
  return {};
}

}  // namespace

Result<SafeTensors> SafeTensors::read(const std::string& path) {
  auto bytes = read_file(path);
  if (!bytes) return bytes.error();
  auto file = parse(std::move(*bytes));
  if (!file) return error_text(path + ": " + file.error().message());
  return file;
}

Result<SafeTensors> SafeTensors::parse(std::string bytes) {
  SafeTensors file;
  file.bytes_ = std::move(bytes);
  const std::uint64_t size = file.bytes_.size();
  if (size < kLengthBytes) return error_text("safetensors: shorter than its 8-byte length");
  const std::uint64_t header = little_endian(file.bytes_.data(), kLengthBytes);
  if (header > kMaxHeaderBytes || header > size - kLengthBytes) {
    return error_text(
        fmt::format("safetensors: a header of {} bytes in a file of {}", header, size));
  }
  file.data_start_ = kLengthBytes + header;
  const char* text = file.bytes_.data() + kLengthBytes;
  const Json object = Json::parse(text, text + header, nullptr, false);
  if (object.is_discarded() || !object.is_object()) {
    return error_text("safetensors: the header is no JSON object");
  }
  const std::uint64_t data_bytes = size - file.data_start_;
  for (const auto& [name, entry] : object.items()) {
    if (name == "__metadata__") continue;
    auto tensor = parse_tensor(name, entry, data_bytes);
    if (!tensor) return error_text("safetensors: " + tensor.error().message());
    file.tensors_[name] = std::move(*tensor);
  }
  if (auto layout = check_layout(file.tensors_, data_bytes); !layout) {
    return error_text("safetensors: " + layout.error().message());
  }
  return file;
}

Result<std::vector<float>> SafeTensors::floats(const std::string& name,
                                               const std::vector<std::int64_t>& shape) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return error_text(fmt::format("tensor \"{}\" is missing", name));
  const Tensor& tensor = found->second;
  if (tensor.shape != shape) {
    return error_text(fmt::format("tensor \"{}\" is {}, the model needs {}", name,
                                  shape_text(tensor.shape), shape_text(shape)));
  }
  const bool single = tensor.dtype == "F32";
  const bool half = tensor.dtype == "F16";
  if (!single && !half && tensor.dtype != "BF16") {
    return error_text(
        fmt::format("tensor \"{}\" is {}; F32, F16 and BF16 are read", name, tensor.dtype));
  }
  const std::size_t element = single ? 4 : 2;
  std::vector<float> out(static_cast<std::size_t>(tensor.end - tensor.begin) / element);
  const char* at = bytes_.data() + data_start_ + tensor.begin;
  for (float& value : out) {
    const auto bits = static_cast<std::uint32_t>(little_endian(at, element));
    value = half ? half_to_float(bits) : std::bit_cast<float>(single ? bits : bits << 16);
    at += element;
  }
  return out;
}

}  // namespace gemmpeak::substrate
