// Shortlists on hand-made scouts with known answers.
#include <gtest/gtest.h>

#include "search/selection.hpp"

namespace gemmpeak::search {
namespace {

Scouted scout(GemmShape shape, double mean, double max, std::optional<double> power) {
  return {shape, mean, max, power, std::nullopt};
}

TEST(Shortlist, PowerRankingDiscountsShapesThatDrewLess) {
  EXPECT_DOUBLE_EQ(power_rank_score(700, 350, 700), 350);
  EXPECT_DOUBLE_EQ(power_rank_score(700, 800, 700), 700);
  EXPECT_DOUBLE_EQ(power_rank_score(700, std::nullopt, 700), 700);
  EXPECT_DOUBLE_EQ(power_rank_score(700, 350, std::nullopt), 700);
  EXPECT_DOUBLE_EQ(power_rank_score(700, 0, 700), 700);
}

TEST(Shortlist, AShapeScoutedTwiceKeepsItsFirstPlaceAndItsHigherPeak) {
  const std::vector<Scouted> scouted{scout({1, 1, 1}, 10, 11, {}), scout({2, 2, 2}, 10, 12, {}),
                                     scout({1, 1, 1}, 9, 12, {})};
  EXPECT_EQ(top_shapes_by_peak(scouted, 2), (std::vector<GemmShape>{{1, 1, 1}, {2, 2, 2}}));
}

TEST(Shortlist, PlacesKeptForPreferredShapesComeFirst) {
  const std::vector<Scouted> scouted{scout({1, 1, 1}, 50, 50, {}), scout({2, 2, 1}, 40, 40, {}),
                                     scout({3, 3, 1}, 30, 30, {}), scout({3, 3, 2}, 20, 20, {})};
  EXPECT_EQ(top_shapes(scouted, 2, {{3, 3}}, 1), (std::vector<GemmShape>{{3, 3, 1}, {1, 1, 1}}));
  EXPECT_EQ(top_shapes(scouted, 2, {}, 1), (std::vector<GemmShape>{{1, 1, 1}, {2, 2, 1}}));
  EXPECT_EQ(top_shapes(scouted, 0, {}, 0).size(), 1u);
}

TEST(Shortlist, SeedsAreHalfByPowerRankedMeanAndHalfByPeakWithoutDuplicates) {
  const std::vector<Scouted> scouted{scout({1, 1, 1}, 100, 100, 350), scout({2, 2, 1}, 90, 95, 700),
                                     scout({3, 3, 1}, 60, 61, 700), scout({4, 4, 1}, 80, 99, 700)};
  // By power: 2 (90), 4 (80), with one place for the wave layout 3; by peak: 1, 4.
  EXPECT_EQ(refine_seeds(scouted, {{3, 3}}, 4),
            (std::vector<GemmShape>{{3, 3, 1}, {2, 2, 1}, {1, 1, 1}, {4, 4, 1}}));
  EXPECT_EQ(refine_seeds(scouted, {}, 4),
            (std::vector<GemmShape>{{2, 2, 1}, {4, 4, 1}, {1, 1, 1}}));
}

TEST(Shortlist, OnlyHalfOfThePowerSeedsAreKeptForWaveLayouts) {
  const std::vector<Scouted> scouted{scout({1, 1, 1}, 100, 100, 700), scout({3, 3, 1}, 60, 61, 700),
                                     scout({3, 3, 2}, 59, 60, 700)};
  EXPECT_EQ(refine_seeds(scouted, {{3, 3}}, 2), (std::vector<GemmShape>{{3, 3, 1}, {1, 1, 1}}));
  EXPECT_EQ(refine_seeds(scouted, {{3, 3}}, 5),
            (std::vector<GemmShape>{{3, 3, 1}, {1, 1, 1}, {3, 3, 2}}));
}

TEST(Shortlist, TheConfirmSetForcesSquaresInBothOrientationsAtTheirBestRawKThenTheFattest) {
  const std::vector<Scouted> scouted{
      scout({256, 512, 64}, 10, 10, 700), scout({256, 512, 128}, 20, 20, 70),
      scout({512, 256, 64}, 15, 15, 700), scout({900, 900, 900}, 5, 5, 700),
      scout({900, 900, 901}, 4, 4, 700),  scout({64, 64, 64}, 90, 90, 700)};
  const std::map<int, WaveLayouts> waves{
      {1, {{256, 512}, {}}}, {2, {{0, 0}, {}}}, {5, {{64, 64}, {}}}};
  Knobs knobs;
  knobs.confirm_fat_forced = 1;
  knobs.confirm_top = 1;
  const ConfirmSet set = msmf_confirm_set(scouted, {}, waves, knobs);
  EXPECT_EQ(set.forced, (std::vector<GemmShape>{{256, 512, 128}, {512, 256, 64}, {900, 900, 901}}));
  EXPECT_EQ(set.wanted, 7);
  EXPECT_EQ(set.shapes.size(), 6u);
  EXPECT_EQ(set.shapes[3], (GemmShape{64, 64, 64}));
}

TEST(Shortlist, ThePoolTagsRawLeadersAndTheBestKsOfEachWaveLayout) {
  const std::vector<Scouted> scouted{scout({1, 2, 10}, 1, 50, {}), scout({1, 2, 20}, 1, 60, {}),
                                     scout({1, 2, 30}, 1, 40, {}), scout({9, 9, 9}, 1, 99, {})};
  Knobs knobs;
  knobs.mamf_raw_forced = 2;
  knobs.mamf_wave_k = 2;
  const RecallPool pool = mamf_recall_pool(scouted, {{1, {{1, 2}, {{1, 2}}}}}, knobs);
  EXPECT_EQ(pool.shapes, (std::vector<GemmShape>{{9, 9, 9}, {1, 2, 20}, {1, 2, 10}}));
  EXPECT_EQ(pool.provenance.at({9, 9, 9}), std::vector<std::string>{"raw"});
  EXPECT_EQ(pool.provenance.at({1, 2, 20}), (std::vector<std::string>{"raw", "wave"}));
  EXPECT_EQ(pool.provenance.at({1, 2, 10}), std::vector<std::string>{"wave"});
}

TEST(Shortlist, NothingScoutedGivesNothing) {
  EXPECT_TRUE(top_shapes({}, 3, {}, 0).empty());
  EXPECT_TRUE(refine_seeds({}, {}, 4).empty());
  EXPECT_TRUE(mamf_recall_pool({}, {}, Knobs{}).shapes.empty());
  EXPECT_TRUE(msmf_confirm_set({}, {}, {}, Knobs{}).shapes.empty());
}

}  // namespace
}  // namespace gemmpeak::search
