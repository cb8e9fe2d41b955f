#include "substrate/tactics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "model/tile_configs.hpp"

namespace gemmpeak::substrate {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> numbers(const std::vector<int>& values) {
  std::vector<std::string> out;
  for (int value : values) out.push_back(std::to_string(value));
  return out;
}

TEST(Tactics, TheProtocolsSixteenNumbersAreTwoTables) {
  const auto tables = parse_tables(numbers({-1, 1, 0, 2, 11, 4, 3, 8, -3, 1, -1, 1, -2, 1, -1, 1}),
                                   TransformerSpec{}, 3);
  ASSERT_TRUE(tables.ok()) << tables.error().message();
  EXPECT_EQ((*tables)[0], (TacticTable{{{-1, 1}, {0, 2}, {11, 4}, {3, 8}}}));
  EXPECT_EQ((*tables)[1], (TacticTable{{{-3, 1}, {-1, 1}, {-2, 1}, {-1, 1}}}));
}

TEST(Tactics, EveryCandidateOfTheReferencesGeneratorIsAccepted) {
  const TransformerSpec spec;
  int count = 0;
  for (Site site : kSites) {
    for (int impl = 0; impl < static_cast<int>(tile_configs().size()); ++impl) {
      for (int split : tile_splits()) {
        if (check_tactic(spec, site, {impl, split}, 0).ok()) ++count;
      }
    }
  }
  EXPECT_EQ(count, 4 * 48);
}

TEST(Tactics, ABadTableIsOneSentenceThatNamesTableAndSite) {
  const std::vector<int> good{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
  const auto fault = [&](std::size_t at, const std::string& text) {
    auto arguments = numbers(good);
    arguments[at] = text;
    const auto tables = parse_tables(arguments, TransformerSpec{}, 2);
    return tables.ok() ? std::string() : tables.error().message();
  };
  EXPECT_EQ(fault(0, "0"), "");
  EXPECT_THAT(fault(0, "1e1"), HasSubstr("table A, qkv: \"1e1\" is not a whole number"));
  EXPECT_THAT(fault(2, ""), HasSubstr("table A, wo: \"\""));
  EXPECT_THAT(fault(12, "12"), HasSubstr("table B, w1: impl 12 is not one of -2..11"));
  EXPECT_THAT(fault(14, "-3"), HasSubstr("table B, w2: impl -3 is not one of -2..11"));
  EXPECT_THAT(fault(15, "5"), HasSubstr("table B, w2: impl 0 (32x64x16 stages 2): split 5"));
  EXPECT_THAT(fault(4, "99999999999999999999"), HasSubstr("is not a whole number"));
  auto vendor = numbers(good);
  vendor[0] = "-1";
  vendor[1] = "2";
  EXPECT_THAT(parse_tables(vendor, TransformerSpec{}, 1).error().message(),
              HasSubstr("takes split 1 only"));
  EXPECT_THAT(parse_tables(numbers({1, 2}), TransformerSpec{}, 1).error().message(),
              HasSubstr("16 numbers"));
}

TEST(Tactics, TheLineIsFixedPointAndNotFiniteLogitsPrintAsNines) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(protocol_line('A', {1e-9, 2.5, 1e6, 3}, std::vector<double>{0.095916, -0.033}),
            "A: 0.000000 2.500000 1000000.000000 3.000000 logits 0.095916 -0.033000");
  EXPECT_EQ(protocol_line('B', {1, 1, 1, 1}, std::vector<double>{nan, -inf}),
            "B: 1.000000 1.000000 1.000000 1.000000 logits 9999.000000 9999.000000");
  EXPECT_THAT(protocol_line('B', {1, 1, 1, 1}, std::vector<double>{1e300, 0}),
              HasSubstr("logits 9999.000000 0.000000"));
}

// A vendor whose products are never run; it counts how often one is made.
class CountingVendor final : public SiteGemmVendor {
 public:
  int suggestions() const override { return 2; }
  std::string describe(int) const override { return "counting"; }
  Result<std::unique_ptr<SiteGemm>> make(const SiteGemmDesc&, int) override {
    struct Nothing final : SiteGemm {
      void run(const float*, const float*, float*) override {}
    };
    ++made;
    return std::unique_ptr<SiteGemm>(std::make_unique<Nothing>());
  }
  int made = 0;
};

TEST(Tactics, TwoTablesShareWhatTheyHaveInCommon) {
  TransformerSpec spec;
  spec.layers = 2;
  spec.d = 64;
  spec.heads = 4;
  spec.feed_forward = 128;
  spec.tokens = 64;
  const auto weights = seeded_weights(spec, 1);
  const Head head = make_head(spec, 1, {{1, 0}, {1, 0}});
  CountingVendor vendor;
  TacticMaker maker(&vendor);
  TacticTable a{};
  TacticTable b{};
  b[1] = {-2, 1};
  const GraphRewrites whole{.prune_last = false};
  ASSERT_TRUE(CpuForward::make(build_graph(spec, whole), weights, head, maker.for_table(a)).ok());
  EXPECT_EQ(vendor.made, 8);
  ASSERT_TRUE(CpuForward::make(build_graph(spec, whole), weights, head, maker.for_table(b)).ok());
  EXPECT_EQ(vendor.made, 10);
}

TEST(Tactics, WithoutAVendorItsImplsAreRefused) {
  EXPECT_FALSE(check_tactic(TransformerSpec{}, Site::qkv, {-1, 1}, 0).ok());
}

}  // namespace
}  // namespace gemmpeak::substrate
