// MAMF rules on hand-made bursts with known answers.
#include <gtest/gtest.h>

#include "search/selection.hpp"

namespace gemmpeak::search {
namespace {

const GemmShape kA{1, 2, 3}, kB{4, 5, 6}, kC{7, 8, 9};

TEST(Mamf, TheBoostReferenceIsTheHighestClockSeenAnywhere) {
  const std::vector<BurstPoint> points{{1, 1900, {}}, {2, std::nullopt, {}}, {3, 1950, {}}};
  EXPECT_EQ(boost_reference(0, points), 1950);
  EXPECT_EQ(boost_reference(2000, points), 2000);
  EXPECT_EQ(boost_reference(0, {}), 0);
}

TEST(Mamf, OnlyIterationsAtBoostCountWhereThereAreAny) {
  const Burst burst{kA, {{900, 1900, 300}, {850, 1980, 310}, {860, 1921, 330}, {870, 1920, 340}}};
  const Boosted judged = judge_burst(burst, 1980, 0.97, 2);  // from 1920.6 MHz on
  EXPECT_TRUE(judged.boost);
  EXPECT_EQ(judged.tflops, 860);
  EXPECT_EQ(judged.clock_mhz, 1921);
  EXPECT_EQ(judged.power_w, 320);  // median of the two at boost
  EXPECT_EQ(judged.top, (std::vector<double>{900, 870}));
}

TEST(Mamf, WithoutAnyAtBoostThePeakIsKeptAndSaysSo) {
  const Boosted judged = judge_burst({kA, {{900, 1500, 300}, {800, 1400, 200}}}, 1980, 0.97, 5);
  EXPECT_FALSE(judged.boost);
  EXPECT_EQ(judged.tflops, 900);
  EXPECT_EQ(judged.power_w, 300);
}

TEST(Mamf, WithoutClocksNothingIsAtBoost) {
  const Boosted judged = judge_burst({kA, {{900, std::nullopt, std::nullopt}}}, 0, 0.97, 1);
  EXPECT_FALSE(judged.boost);
  EXPECT_EQ(judged.tflops, 900);
  EXPECT_FALSE(judged.power_w);
  EXPECT_EQ(judge_burst({kA, {}}, 1980, 0.97, 5).tflops, 0);
}

TEST(Mamf, TheScreenPrefersIterationsAtBoostAndCountsItsOwnClocks) {
  const std::vector<Burst> bursts{{kA, {{900, 1500, {}}, {700, 1980, {}}}},
                                  {kB, {{750, 1980, {}}}},
                                  {kC, {{800, 1500, {}}}}};  // never at boost: its peak stands
  Knobs knobs;
  EXPECT_EQ(screen_winners(bursts, 0, knobs), (std::vector<GemmShape>{kC, kB, kA}));
  knobs.mamf_confirm_top = 2;
  EXPECT_EQ(screen_winners(bursts, 0, knobs), (std::vector<GemmShape>{kC, kB}));
  EXPECT_TRUE(screen_winners({}, 0, knobs).empty());
}

Boosted result(GemmShape shape, double tflops, bool boost) {
  Boosted out;
  out.shape = shape;
  out.tflops = tflops;
  out.boost = boost;
  return out;
}

TEST(Mamf, AShapeAtBoostBeatsAFasterOneThatIsNot) {
  const std::vector<Boosted> all{result(kA, 900, false), result(kB, 800, true),
                                 result(kC, 700, true)};
  const MamfChoice choice = select_mamf(all, 1980);
  EXPECT_EQ(choice.headline->shape, kB);
  EXPECT_TRUE(choice.warnings.empty());
}

TEST(Mamf, NoBoostAndNoClockAreWarnings) {
  const std::vector<Boosted> all{result(kA, 754.5, false)};
  EXPECT_EQ(
      select_mamf(all, 1980).warnings,
      std::vector<std::string>{"no MAMF candidate reached the boost clock (~1980MHz); headline "
                               "755 TFLOPS is a base/throttled-clock reading, not a true boost "
                               "burst"});
  EXPECT_EQ(select_mamf(all, 0).warnings,
            std::vector<std::string>{
                "no SM clock readings, so MAMF 755 TFLOPS is not boost-clock validated"});
  EXPECT_FALSE(select_mamf({}, 0).headline);
}

TEST(RoundTflops, HalvesGoAwayFromZeroAfterSixDecimals) {
  EXPECT_EQ(round_tflops(754.5), 755);
  EXPECT_EQ(round_tflops(755.5), 756);
  EXPECT_EQ(round_tflops(-754.5), -755);
  EXPECT_EQ(round_tflops(754.4999994), 754);
  EXPECT_EQ(round_tflops(754.4999996), 755);
  EXPECT_EQ(round_tflops(0.4), 0);
}

}  // namespace
}  // namespace gemmpeak::search
