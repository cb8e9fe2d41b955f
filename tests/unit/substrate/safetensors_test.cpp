#include "substrate/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "substrate/reference.hpp"

namespace gemmpeak::substrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string file_of(const std::string& header, const std::string& data) {
  std::string out;
  for (int i = 0; i < 8; ++i) {
    out.push_back(static_cast<char>((header.size() >> (8 * i)) & 0xFF));
  }
  return out + header + data;
}

// Collects float tensors and writes them one after the other.
class Writer {
 public:
  void add(const std::string& name, const std::vector<std::int64_t>& shape,
           const std::vector<float>& values) {
    header_ += (header_.empty() ? "{\"" : ",\"") + name + R"(":{"dtype":"F32","shape":[)";
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (i != 0) header_ += ',';
      header_ += std::to_string(shape[i]);
    }
    const std::size_t begin = data_.size();
    data_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    header_ +=
        "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(data_.size()) + "]}";
  }
  std::string bytes() const { return file_of(header_ + "}", data_); }

 private:
  std::string header_;
  std::string data_;
};

std::string fault(const std::string& bytes) {
  const auto file = SafeTensors::parse(bytes);
  return file.ok() ? "no fault" : file.error().message();
}

TEST(SafeTensors, ReadsTheThreeFloatTypesAndIgnoresMetadata) {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"BF16","shape":[2,1],"data_offsets":[8,12]},)"
      R"("c":{"dtype":"F16","shape":[4],"data_offsets":[12,20]}})";
  const std::string data{
      "\x00\x00\xC0\x3F\x00\x00\x00\xC0"   // 1.5, -2
      "\x40\x40\x80\xBF"                   // 3, -1
      "\x00\x3E\x00\xC0\x01\x00\x00\x7C",  // 1.5, -2, 2^-24, infinity
      20};
  const auto file = SafeTensors::parse(file_of(header, data));
  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_THAT(*file->floats("a", {2}), ElementsAre(1.5f, -2.0f));
  EXPECT_THAT(*file->floats("b", {2, 1}), ElementsAre(3.0f, -1.0f));
  EXPECT_THAT(*file->floats("c", {4}), ElementsAre(1.5f, -2.0f, 0x1p-24f, INFINITY));
}

TEST(SafeTensors, EveryMalformedFileIsOneErrorThatNamesTheFault) {
  const std::string eight(8, '\0');
  const auto one = [&](const std::string& entry) {
    return file_of("{\"w\":" + entry + "}", eight);
  };
  EXPECT_THAT(fault(""), HasSubstr("shorter than"));
  EXPECT_THAT(fault("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"), HasSubstr("a header of"));
  EXPECT_THAT(fault(file_of("{\"w\":", "")), HasSubstr("no JSON object"));
  EXPECT_THAT(fault(file_of("[]", "")), HasSubstr("no JSON object"));
  EXPECT_THAT(fault(one("3")), HasSubstr("\"w\" is no object"));
  EXPECT_THAT(fault(one(R"({"shape":[2],"data_offsets":[0,8]})")), HasSubstr("no dtype"));
  EXPECT_THAT(fault(one(R"({"dtype":"F12","shape":[2],"data_offsets":[0,8]})")),
              HasSubstr("unknown dtype \"F12\""));
  EXPECT_THAT(fault(one(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})")),
              HasSubstr("\"shape\" has something else"));
  EXPECT_THAT(fault(one(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})")),
              HasSubstr("no range"));
  EXPECT_THAT(fault(one(R"({"dtype":"F32","shape":[4],"data_offsets":[0,16]})")),
              HasSubstr("cut short"));
  EXPECT_THAT(fault(one(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})")),
              HasSubstr("8 bytes do not hold [3] of F32"));
  EXPECT_THAT(fault(one(R"({"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]})")),
              HasSubstr("do not hold"));
  EXPECT_THAT(fault(one(R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})")),
              HasSubstr("hole before tensor \"w\""));
  EXPECT_THAT(fault(one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})")),
              HasSubstr("4 bytes after the last"));
  EXPECT_THAT(fault(file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                            R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                            eight)),
              HasSubstr("\"b\" overlaps"));
}

TEST(SafeTensors, AFileCutAnywhereIsRefused) {
  Writer writer;
  writer.add("a", {2, 3}, std::vector<float>(6, 1.0f));
  writer.add("b", {4}, std::vector<float>(4, 2.0f));
  const std::string whole = writer.bytes();
  ASSERT_TRUE(SafeTensors::parse(whole).ok());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(SafeTensors::parse(whole.substr(0, size)).ok()) << size;
  }
}

TransformerSpec tiny_spec() {
  TransformerSpec spec;
  spec.layers = 2;
  spec.d = 8;
  spec.heads = 2;
  spec.feed_forward = 12;
  spec.tokens = 5;
  return spec;
}

struct SiteNames {
  std::string prefix;
  const char* norm1;
  const char* norm2;
  std::array<std::vector<const char*>, 4> sites;
};

Writer written(const ModelWeights<float>& model, const SiteNames& names) {
  Writer writer;
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    const LayerWeights<float>& layer = model.layers[l];
    const std::string at = names.prefix + std::to_string(l) + ".";
    const std::int64_t d = model.spec.d;
    writer.add(at + names.norm1 + ".weight", {d}, layer.norm1_scale);
    writer.add(at + names.norm1 + ".bias", {d}, layer.norm1_shift);
    writer.add(at + names.norm2 + ".weight", {d}, layer.norm2_scale);
    writer.add(at + names.norm2 + ".bias", {d}, layer.norm2_shift);
    for (Site site : kSites) {
      const auto& parts = names.sites[index_of(site)];
      const SiteShape shape = site_shape(model.spec, site);
      const auto od = shape.od / static_cast<std::int64_t>(parts.size());
      auto w = layer.weights[index_of(site)].begin();
      auto b = layer.bias[index_of(site)].begin();
      for (const char* part : parts) {
        writer.add(at + part + ".weight", {od, shape.id}, {w, w + od * shape.id});
        writer.add(at + part + ".bias", {od}, {b, b + od});
        w += od * shape.id;
        b += od;
      }
    }
  }
  return writer;
}

const SiteNames kOwn{"layers.", "norm1", "norm2", {{{"qkv"}, {"wo"}, {"w1"}, {"w2"}}}};
const SiteNames kVit{
    "vit.encoder.layer.",
    "layernorm_before",
    "layernorm_after",
    {{{"attention.attention.query", "attention.attention.key", "attention.attention.value"},
      {"attention.output.dense"},
      {"intermediate.dense"},
      {"output.dense"}}}};

TEST(LoadModel, AModelComesBackAsItWasWrittenUnderBothNamings) {
  const auto model = seeded_weights(tiny_spec(), 4);
  const auto expected = reference_stream(model);
  for (const SiteNames& names : {kOwn, kVit}) {
    Writer writer = written(model, names);
    writer.add("input", {5, 8}, model.input);
    const auto file = SafeTensors::parse(writer.bytes());
    ASSERT_TRUE(file.ok()) << file.error().message();
    const auto loaded = load_model(tiny_spec(), *file);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    EXPECT_EQ(reference_stream(loaded->weights), expected);
    EXPECT_FALSE(loaded->head.has_value());
  }
}

TEST(LoadModel, TheFilesHeadIsTaken) {
  Writer writer = written(seeded_weights(tiny_spec(), 4), kOwn);
  writer.add("head.weight", {2, 8}, std::vector<float>(16, 0.5f));
  writer.add("head.bias", {2}, {1.0f, 2.0f});
  const auto loaded = load_model(tiny_spec(), *SafeTensors::parse(writer.bytes()));
  ASSERT_TRUE(loaded.ok() && loaded->head);
  EXPECT_THAT(loaded->head->bias, ElementsAre(1.0, 2.0));
}

TEST(LoadModel, AMissingOrMisshapenTensorIsNamed) {
  TransformerSpec more = tiny_spec();
  more.layers = 3;
  const auto file = SafeTensors::parse(written(seeded_weights(tiny_spec(), 4), kOwn).bytes());
  EXPECT_THAT(load_model(more, *file).error().message(),
              HasSubstr("\"layers.2.norm1.weight\" is missing"));
  TransformerSpec wider = tiny_spec();
  wider.feed_forward = 16;
  EXPECT_THAT(load_model(wider, *file).error().message(),
              HasSubstr("\"layers.0.w1.weight\" is [12, 8], the model needs [16, 8]"));
  EXPECT_THAT(SafeTensors::read("/no/such/file").error().message(), HasSubstr("/no/such/file"));
}

}  // namespace
}  // namespace gemmpeak::substrate
