// The reference's shortlists and MAMF rules, exactly. One difference is meant: a negative
// confirm_fat_forced, which the knob table refuses, forces none; the reference's slice then forces
// all but the thinnest.
#include <fmt/format.h>

#include "golden.hpp"

namespace gemmpeak::search {
namespace {

TEST(GoldenShortlist, TopShapesEqualTheReferencesTiesIncluded) {
  const Json all = golden::cases("top_shapes");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Json& in = all[i]["in"];
    SCOPED_TRACE(golden::label(all[i], i));
    EXPECT_EQ(top_shapes(golden::measured(in["measured"]), in["n"].get<int>(),
                         golden::mn_set(in["prefer_mn"]), in["prefer_slots"].get<int>()),
              golden::shapes(all[i]["out"]));
  }
}

TEST(GoldenShortlist, TopShapesByPeakEqualTheReferencesTiesIncluded) {
  const Json all = golden::cases("top_shapes_by_peak");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Json& in = all[i]["in"];
    SCOPED_TRACE(golden::label(all[i], i));
    EXPECT_EQ(top_shapes_by_peak(golden::scout_meta(in["scout_meta"]), in["n"].get<int>()),
              golden::shapes(all[i]["out"]));
  }
}

TEST(GoldenShortlist, TheMamfRecallPoolAndItsTagsEqualTheReferences) {
  const Json all = golden::cases("build_mamf_recall_pool");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Json& in = all[i]["in"];
    SCOPED_TRACE(golden::label(all[i], i));
    std::map<int, WaveLayouts> waves;
    for (const Json& wave : in["wave_layouts_by_wave"])
      waves[wave.at(0).get<int>()] = {{0, 0}, golden::mns(wave.at(1))};
    const RecallPool pool =
        mamf_recall_pool(golden::scout_meta(in["scout_meta"]), waves, golden::knobs(in["tune"]));
    ASSERT_EQ(pool.shapes, golden::shapes(all[i]["out"]["pool"]));
    for (std::size_t s = 0; s < pool.shapes.size(); ++s)
      EXPECT_EQ(pool.provenance.at(pool.shapes[s]), golden::lines(all[i]["out"]["provenance"][s]));
  }
}

TEST(GoldenShortlist, TheMsmfConfirmSetEqualsTheReferences) {
  const Json all = golden::cases("build_msmf_confirm_set");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Json& in = all[i]["in"];
    const Json& out = all[i]["out"];
    SCOPED_TRACE(golden::label(all[i], i));
    if (golden::knobs(in["tune"]).confirm_fat_forced < 0) continue;
    std::map<int, WaveLayouts> waves;
    for (const Json& wave : in["square_by_wave"])
      waves[wave.at(0).get<int>()] = {golden::mn(wave.at(1)), {}};
    const ConfirmSet set =
        msmf_confirm_set(golden::measured(in["measured"]), golden::mn_set(in["seen"]), waves,
                         golden::knobs(in["tune"]));
    EXPECT_EQ(set.shapes, golden::shapes(out["shapes"]));
    EXPECT_EQ(set.wanted, out["n_confirm"].get<int>());
    std::vector<std::string> names;
    for (const GemmShape& shape : set.forced) names.push_back(shape.str());
    const std::string log = names.empty()
                                ? ""
                                : fmt::format("  forced (low-wave squares + fattest scouts): {}",
                                              fmt::join(names, ", "));
    EXPECT_EQ(log, out["log"].empty() ? "" : out["log"][0].get<std::string>());
  }
}

TEST(GoldenMamf, BoostReferenceEqualsTheReferences) {
  const Json all = golden::cases("boost_reference");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Json& in = all[i]["in"];
    SCOPED_TRACE(golden::label(all[i], i));
    EXPECT_EQ(boost_reference(golden::number_or(in["boost_clk"], 0), golden::points(in["iters"])),
              all[i]["out"].get<double>());
  }
}

TEST(GoldenMamf, ScreenWinnersEqualTheReferencesTiesIncluded) {
  const Json all = golden::cases("screen_mamf_candidates");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Json& in = all[i]["in"];
    SCOPED_TRACE(golden::label(all[i], i));
    std::vector<Burst> bursts;
    for (std::size_t s = 0; s < in["pool"].size(); ++s)
      bursts.push_back({golden::shape(in["pool"][s]), golden::points(in["bursts"][s])});
    EXPECT_EQ(
        screen_winners(bursts, golden::number_or(in["boost_clk"], 0), golden::knobs(in["tune"])),
        golden::shapes(all[i]["out"]["chosen"]));
  }
}

std::string opt(std::optional<double> value) {
  return value ? fmt::format("{:5.0f}", *value) : fmt::format("{:>5}", "-");
}

TEST(GoldenMamf, JudgedBurstsEqualTheReferencesRowByRow) {
  const Json all = golden::cases("confirm_mamf");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Json& in = all[i]["in"];
    SCOPED_TRACE(golden::label(all[i], i));
    const Knobs knobs = golden::knobs(in["tune"]);
    std::vector<Burst> bursts;
    double reference = golden::number_or(in["boost_clk"], 0);
    for (std::size_t s = 0; s < in["cands"].size(); ++s) {
      Burst burst{golden::shape(in["cands"][s]), {}};
      for (const Json& repeat : in["bursts"][s])
        for (const BurstPoint& point : golden::points(repeat)) burst.points.push_back(point);
      reference = boost_reference(reference, burst.points);
      bursts.push_back(std::move(burst));
    }
    ASSERT_EQ(bursts.size(), all[i]["out"]["results"].size());
    for (std::size_t s = 0; s < bursts.size(); ++s) {
      const Json& wanted = all[i]["out"]["results"][s];
      const Boosted ours =
          judge_burst(bursts[s], reference, knobs.boost_clock_ratio, in["reps"].get<int>());
      EXPECT_EQ(ours.shape, golden::shape(wanted["shape"]));
      EXPECT_EQ(ours.tflops, wanted["tflops"].get<double>());
      EXPECT_EQ(ours.power_w, golden::reading(wanted["power"]));
      EXPECT_EQ(ours.clock_mhz, golden::reading(wanted["clock"]));
      EXPECT_EQ(ours.boost, wanted["boost"].get<bool>());
      EXPECT_EQ(ours.boost_reference_mhz, golden::number_or(wanted["boost_ref"], 0));
      std::vector<std::string> top;
      for (const double tflops : ours.top) top.push_back(fmt::format("{:.1f}", tflops));
      EXPECT_EQ(fmt::format("  {:<18} {:6.1f} {} {}  {}{}", ours.shape.str(), ours.tflops,
                            opt(ours.power_w), opt(ours.clock_mhz), fmt::join(top, " "),
                            ours.boost || reference == 0 ? "" : "  base-clock, not boost"),
                wanted["row"].get<std::string>());
    }
  }
}

TEST(GoldenMamf, TheHeadlineAndItsWarningsEqualTheReferences) {
  const Json all = golden::cases("select_mamf");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Json& in = all[i]["in"];
    const Json& out = all[i]["out"];
    SCOPED_TRACE(golden::label(all[i], i));
    std::vector<Boosted> boosted;
    for (const Json& r : in["results"]) {
      Boosted one;
      one.shape = golden::shape(r["shape"]);
      one.tflops = r["tflops"];
      one.power_w = golden::reading(r["power"]);
      one.clock_mhz = golden::reading(r["clock"]);
      one.boost = r["boost"];
      boosted.push_back(one);
    }
    const MamfChoice choice = select_mamf(boosted, golden::number_or(in["boost_clk"], 0));
    ASSERT_EQ(choice.headline.has_value(), !boosted.empty());
    if (choice.headline) {
      EXPECT_EQ(choice.headline->shape, golden::shape(out["shape"]));
      EXPECT_EQ(choice.headline->tflops, out["tflops"].get<double>());
    }
    std::vector<std::string> console;
    for (const std::string& warning : choice.warnings) console.push_back("WARNING: " + warning);
    EXPECT_EQ(console, out.is_null() ? std::vector<std::string>{} : golden::lines(out["console"]));
  }
}

}  // namespace
}  // namespace gemmpeak::search
