#include "substrate/spec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"

namespace gemmpeak::substrate {
namespace {

using ::testing::HasSubstr;

const char* const kModelFile = GEMMPEAK_TEST_DATA "/../data/models/encoder-12x768.json";

TEST(Spec, TheModelFileIsTheBuiltInModel) {
  const auto spec = read_spec(kModelFile);
  ASSERT_TRUE(spec.ok()) << spec.error().message();
  EXPECT_EQ(*spec, TransformerSpec{});
}

TEST(Spec, TheFourSitesHaveTheReferencesShapesAndTheirEpilogues) {
  const TransformerSpec spec;
  const std::array<SiteShape, 4> expected{{{2304, 768, 128, Epilogue::bias},
                                           {768, 768, 128, Epilogue::bias_residual},
                                           {3072, 768, 128, Epilogue::bias_gelu},
                                           {768, 3072, 128, Epilogue::bias_residual}}};
  for (Site site : kSites) {
    const SiteShape shape = site_shape(spec, site);
    const SiteShape& want = expected[index_of(site)];
    EXPECT_EQ(shape.od, want.od) << site_name(site);
    EXPECT_EQ(shape.id, want.id) << site_name(site);
    EXPECT_EQ(shape.tokens, want.tokens) << site_name(site);
    EXPECT_EQ(shape.epilogue, want.epilogue) << site_name(site);
  }
}

TEST(Spec, WritingAndReadingGivesTheSameModel) {
  TransformerSpec spec;
  spec.name = "small";
  spec.layers = 3;
  spec.d = 96;
  spec.heads = 6;
  spec.feed_forward = 160;
  spec.tokens = 24;
  spec.logits = 5;
  spec.norm_eps = 1e-6;
  const auto back = parse_spec(spec_json(spec));
  ASSERT_TRUE(back.ok()) << back.error().message();
  EXPECT_EQ(*back, spec);
}

TEST(Spec, AHuggingFaceConfigIsUnderstood) {
  const auto spec = parse_spec(R"({"model_type": "vit", "hidden_size": 384, "num_hidden_layers": 6,
      "num_attention_heads": 6, "intermediate_size": 1536, "hidden_act": "gelu",
      "layer_norm_eps": 1e-12})",
                               197);
  ASSERT_TRUE(spec.ok()) << spec.error().message();
  EXPECT_EQ(spec->d, 384);
  EXPECT_EQ(spec->layers, 6);
  EXPECT_EQ(spec->feed_forward, 1536);
  EXPECT_EQ(spec->tokens, 197);
  EXPECT_EQ(spec->norm_eps, 1e-12);
}

TEST(Spec, EveryBadModelIsOneErrorThatNamesTheFault) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "not a JSON document"},
      {"[1]", "not a JSON object"},
      {"{}", "\"layers\" is missing"},
      {R"({"hidden_size": 768})", "\"num_hidden_layers\" is missing"},
      {R"({"layers": 1.5, "d": 8, "heads": 1, "feed_forward": 8, "tokens": 8})", "not a whole"},
      {R"({"layers": 0, "d": 8, "heads": 1, "feed_forward": 8, "tokens": 8})", "outside 1.."},
      {R"({"layers": 1, "d": 8, "heads": 3, "feed_forward": 8, "tokens": 8})", "no multiple of 3"},
      {R"({"layers": 1, "d": 8, "heads": 1, "feed_forward": 8, "tokens": 8, "norm_eps": 2})",
       "norm_eps"},
      {R"({"layers": 1, "d": 8, "heads": 1, "feed_forward": 8, "tokens": 8,
           "activation": "relu"})",
       "\"relu\" is not GELU"},
  };
  for (const auto& [text, fault] : cases) {
    const auto spec = parse_spec(text);
    ASSERT_FALSE(spec.ok()) << text;
    EXPECT_THAT(spec.error().message(), HasSubstr(fault));
  }
  EXPECT_THAT(read_spec("/no/such/model.json").error().message(), HasSubstr("/no/such/model.json"));
}

}  // namespace
}  // namespace gemmpeak::substrate
