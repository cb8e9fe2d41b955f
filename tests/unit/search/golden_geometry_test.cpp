// The reference's geometry and rounding, exactly. Differences that are meant, with their reasons:
//  - wave_efficiency of nothing (M, N or units 0): the reference divides by zero, ours is 0.
//  - round_tflops of an infinity or of NaN: the reference crashes, ours saturates or is 0.
#include "golden.hpp"

namespace gemmpeak::search {
namespace {

TEST(GoldenGeometry, WaveLayoutsEqualTheReferencesForEveryRecordedDevice) {
  const Json all = golden::cases("wave_mn_layouts");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Json& in = all[i]["in"];
    SCOPED_TRACE(golden::label(all[i], i) + in.dump());
    const int units = in["units"].is_null() ? 0 : in["units"].get<int>();
    const std::vector<int> asked = in["waves"].get<std::vector<int>>();
    const auto found =
        wave_layouts(units, in["max_size"], {in["tile_m"].get<int>(), in["tile_n"].get<int>()},
                     in["min_dim"], *std::max_element(asked.begin(), asked.end()));
    std::size_t recorded = 0;
    for (const Json& wave : all[i]["out"]) {
      const auto at = found.find(wave["wave"].get<int>());
      ASSERT_NE(at, found.end()) << wave;
      EXPECT_EQ(at->second.square, golden::mn(wave["square"])) << wave;
      EXPECT_EQ(at->second.layouts, golden::mns(wave["layouts"])) << wave;
      ++recorded;
    }
    std::size_t ours = 0;
    for (const int wave : asked) ours += found.count(wave);
    EXPECT_EQ(ours, recorded);
  }
}

TEST(GoldenGeometry, WaveEfficiencyEqualsTheReferences) {
  const Json all = golden::cases("wave_efficiency");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Json& in = all[i]["in"];
    SCOPED_TRACE(golden::label(all[i], i) + in.dump());
    const double ours = wave_efficiency(in["m"], in["n"], in["units"].get<int>(),
                                        {in["tile_m"].get<int>(), in["tile_n"].get<int>()});
    EXPECT_EQ(ours, all[i]["out"].is_number() ? all[i]["out"].get<double>() : 0.0);
  }
}

TEST(GoldenGeometry, RoundTflopsEqualsTheReferencesWhereThatDoesNotCrash) {
  const Json all = golden::cases("round_tflops");
  int crashes = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Json& x = all[i]["in"]["x"];
    const Json& out = all[i]["out"];
    SCOPED_TRACE(golden::label(all[i], i) + x.dump());
    if (out.is_number_integer())
      EXPECT_EQ(round_tflops(x.get<double>()), out.get<std::int64_t>());
    else
      ++crashes;
  }
  EXPECT_EQ(crashes, 3);
  EXPECT_EQ(round_tflops(std::numeric_limits<double>::infinity()),
            std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(round_tflops(-std::numeric_limits<double>::infinity()),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(round_tflops(std::numeric_limits<double>::quiet_NaN()), 0);
}

TEST(GoldenGeometry, PowerRankScoreEqualsTheReferences) {
  const Json all = golden::cases("power_rank_score");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Json& in = all[i]["in"];
    SCOPED_TRACE(golden::label(all[i], i) + in.dump());
    EXPECT_EQ(
        power_rank_score(in["tflops"], golden::reading(in["power"]), golden::reading(in["pmax"])),
        all[i]["out"].get<double>());
  }
}

}  // namespace
}  // namespace gemmpeak::search
