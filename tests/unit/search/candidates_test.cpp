#include "search/candidates.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "search/selection.hpp"

namespace gemmpeak::search {
namespace {

DeviceInfo device(int units, TileHint tile) {
  DeviceInfo info;
  info.units = units;
  info.tile = tile;
  return info;
}

Geometry cpu_geometry(int units, TileHint tile, DType dtype = DType::float32) {
  return make_geometry(device(units, tile), dtype, knobs_for(KnobPreset::cpu));
}

Geometry gpu_geometry(int units, DType dtype = DType::bfloat16, int max_size = 20480) {
  Knobs knobs = knobs_for(KnobPreset::v3);
  knobs.max_size = max_size;
  return make_geometry(device(units, {128, 256}), dtype, knobs);
}

// A made-up rate that grows with size and is uneven enough to place seeds anywhere.
Scouted reading(const GemmShape& s, std::uint32_t salt) {
  std::seed_seq seed{static_cast<std::uint32_t>(s.m), static_cast<std::uint32_t>(s.n),
                     static_cast<std::uint32_t>(s.k), salt};
  std::mt19937 random(seed);
  const double mean = 100 + static_cast<double>(random() % 1000);
  return {s, mean, mean + 5, 100.0 + static_cast<double>(random() % 20), 3000.0};
}

struct Asked {
  std::vector<Batch> batches;
  std::vector<GemmShape> all() const {
    std::vector<GemmShape> out;
    for (const Batch& b : batches) out.insert(out.end(), b.shapes.begin(), b.shapes.end());
    return out;
  }
};

Asked ask_all(const Geometry& geometry, const Knobs& knobs, std::uint32_t salt = 0) {
  Asked asked;
  AutoStrategy strategy(geometry, knobs);
  while (const auto batch = strategy.ask()) {
    asked.batches.push_back(*batch);
    for (const GemmShape& s : batch->shapes) strategy.tell(reading(s, salt));
  }
  EXPECT_FALSE(strategy.ask());
  return asked;
}

// Aligned, in bounds, once: what holds for every candidate of every geometry.
void expect_legal(const Asked& asked, const Geometry& g) {
  std::set<GemmShape> seen;
  for (const GemmShape& s : asked.all()) {
    EXPECT_TRUE(seen.insert(s).second) << s.str() << " twice";
    EXPECT_EQ(s.m % g.base, 0) << s.str();
    EXPECT_EQ(s.n % g.base, 0) << s.str();
    for (const std::int64_t dim : {s.m, s.n, s.k}) {
      EXPECT_EQ(dim % g.alignment, 0) << s.str();
      EXPECT_GE(dim, std::min(g.base, g.min_size)) << s.str();
      EXPECT_LE(dim, g.max_size) << s.str();
    }
  }
}

TEST(Geometry, AlignmentIs128BytesAndStepsAreMultiplesOfItAndOf256) {
  EXPECT_EQ(gpu_geometry(132, DType::bfloat16).alignment, 64);
  EXPECT_EQ(gpu_geometry(132, DType::float8_e4m3fn).alignment, 128);
  EXPECT_EQ(gpu_geometry(132, DType::nvfp4).alignment, 256);
  EXPECT_EQ(gpu_geometry(132, DType::float32).alignment, 32);
  for (const DTypeInfo& row : dtype_table()) {
    const Geometry g = gpu_geometry(132, row.dtype);
    EXPECT_EQ(g.base, 256) << row.name;
    EXPECT_EQ(g.k_step, 1024) << row.name;
  }
}

TEST(Geometry, WaveEfficiencyCountsAPartialLastWaveAsAWhole) {
  EXPECT_DOUBLE_EQ(wave_efficiency(2816, 1536, 132, {128, 256}), 1.0);
  EXPECT_DOUBLE_EQ(wave_efficiency(2816, 1537, 132, {128, 256}), 154.0 / 264.0);
  EXPECT_DOUBLE_EQ(wave_efficiency(1, 1, 132, {128, 256}), 1.0 / 132.0);
}

TEST(WaveLayouts, EachFillsItsWavesExactly) {
  for (const int units : {80, 108, 114, 132, 148, 304})
    for (const auto& [wave, found] : wave_layouts(units, 20480, {128, 256}, 1024))
      for (const MN& mn : found.layouts)
        EXPECT_EQ((mn.first / 128) * (mn.second / 256), static_cast<std::int64_t>(wave) * units);
}

TEST(WaveLayouts, AlignedOnesAreASubsetAndADroppedSquareForcesNothing) {
  const auto raw = wave_layouts(132, 20480, {128, 256}, 1024);
  const auto aligned = aligned_wave_layouts(gpu_geometry(132));
  std::set<MN> all, kept;
  for (const auto& [wave, found] : raw) all.insert(found.layouts.begin(), found.layouts.end());
  for (const auto& [wave, found] : aligned) {
    const auto& before = raw.at(wave);
    for (const MN& mn : found.layouts) {
      EXPECT_EQ(mn.first % 256, 0);
      EXPECT_EQ(mn.second % 256, 0);
      EXPECT_NE(std::find(before.layouts.begin(), before.layouts.end(), mn), before.layouts.end());
      kept.insert(mn);
    }
    const bool square_kept = before.square.first % 256 == 0 && before.square.second % 256 == 0;
    EXPECT_EQ(found.square, square_kept ? before.square : MN(0, 0));
  }
  EXPECT_EQ(all.size(), 60u);
  EXPECT_EQ(kept.size(), 51u);
  EXPECT_EQ(aligned.at(1).square, MN(2816, 1536));
  EXPECT_EQ(aligned.at(4).square, MN(0, 0));  // 4224 x 4096: 4224 is 16.5 x 256
}

TEST(WaveLayouts, AreNoneWithoutUnitsOrTile) {
  EXPECT_TRUE(aligned_wave_layouts(gpu_geometry(0)).empty());
  EXPECT_TRUE(aligned_wave_layouts(cpu_geometry(2, {0, 0})).empty());
  DeviceInfo unknown;
  const Geometry g = make_geometry(unknown, DType::float32, Knobs{});
  EXPECT_TRUE(aligned_wave_layouts(g).empty());
}

TEST(Candidates, ListsEqualTheReferencesOnAGpu) {
  const Geometry g = gpu_geometry(132);
  EXPECT_EQ(wave_ks(g), (std::vector<std::int64_t>{1024, 8192, 12288, 14336, 16384, 20480}));
  EXPECT_EQ(plane_sizes(g), (std::vector<std::int64_t>{2048, 4096, 6144, 8192, 10752, 12288, 14336,
                                                       16384, 18432, 20480}));
  EXPECT_EQ(plane_ks(g), (std::vector<std::int64_t>{1024, 3072}));
}

TEST(Candidates, AnUnalignedMaxSizeIsRoundedDown) {
  const Geometry g = gpu_geometry(132, DType::bfloat16, 10001);
  EXPECT_EQ(plane_sizes(g), (std::vector<std::int64_t>{2048, 4096, 6144, 8192, 9984}));
  EXPECT_EQ(wave_ks(g), (std::vector<std::int64_t>{1024, 8192, 9216}));
  const Geometry small = gpu_geometry(132, DType::float32, 4000);
  EXPECT_EQ(plane_sizes(small), (std::vector<std::int64_t>{1536, 2304, 3072, 3840}));
  EXPECT_EQ(wave_ks(small), (std::vector<std::int64_t>{1024, 3072}));
  EXPECT_EQ(plane_ks(small), (std::vector<std::int64_t>{1024, 3072}));
}

TEST(Candidates, AMaxSizeEqualToAPlaneSizeIsListedOnce) {
  const Geometry g = gpu_geometry(132, DType::bfloat16, 8192);
  EXPECT_EQ(plane_sizes(g), (std::vector<std::int64_t>{2048, 4096, 6144, 8192}));
}

TEST(Candidates, SmallSizesUseFourEvenStepsAndTheirOwnDepths) {
  const Geometry cpu = cpu_geometry(2, {48, 16});
  EXPECT_EQ(plane_sizes(cpu), (std::vector<std::int64_t>{512, 1024, 1536, 2048}));
  EXPECT_EQ(plane_ks(cpu), (std::vector<std::int64_t>{1024}));
  EXPECT_EQ(wave_ks(cpu), (std::vector<std::int64_t>{1024, 2048}));
  Knobs knobs = knobs_for(KnobPreset::cpu);
  knobs.max_size = 1024;
  const Geometry tiny = make_geometry(device(2, {48, 16}), DType::float32, knobs);
  EXPECT_EQ(plane_sizes(tiny), (std::vector<std::int64_t>{256, 512, 768, 1024}));
  EXPECT_EQ(wave_ks(tiny), (std::vector<std::int64_t>{256, 512, 1024}));
  EXPECT_EQ(plane_ks(tiny), (std::vector<std::int64_t>{1024}));
  EXPECT_EQ(tiny.k_step, 256);
}

TEST(Candidates, AMaxSizeUnderOneStepStillGivesAlignedShapes) {
  Knobs knobs = knobs_for(KnobPreset::cpu);
  knobs.max_size = 200;
  knobs.min_size = 64;
  const Geometry g = make_geometry(device(2, {48, 16}), DType::float32, knobs);
  EXPECT_EQ(g.base, 128);
  const Asked asked = ask_all(g, knobs);
  EXPECT_FALSE(asked.all().empty());
  expect_legal(asked, g);
}

TEST(Candidates, AMaxSizeUnderTheAlignmentOrTheMinimumGivesNone) {
  Knobs knobs = knobs_for(KnobPreset::cpu);
  knobs.max_size = 31;
  knobs.min_size = 1;
  EXPECT_TRUE(
      ask_all(make_geometry(device(2, {48, 16}), DType::float32, knobs), knobs).all().empty());
  knobs.max_size = 512;
  knobs.min_size = 1024;
  EXPECT_TRUE(
      ask_all(make_geometry(device(2, {48, 16}), DType::float32, knobs), knobs).all().empty());
}

TEST(RefineGrid, CoversEveryStepAroundASeedAndStaysInBounds) {
  const Geometry g = gpu_geometry(132);
  const std::vector<GemmShape> middle{{8192, 8192, 8192}};
  EXPECT_EQ(refine_grid(g, middle, 4, 2).size(), 9u * 9u * 5u);
  EXPECT_EQ(refine_grid(g, middle, 0, 0), middle);
  const std::vector<GemmShape> corner{{20480, 256, 1024}};
  for (const GemmShape& s : refine_grid(g, corner, 4, 2)) {
    EXPECT_LE(s.m, 20480);
    EXPECT_GE(s.n, 256);
    EXPECT_GE(s.k, 1024);  // one step down would be 0
  }
  const std::vector<GemmShape> twins{{8192, 8192, 8192}, {8448, 8192, 8192}};
  EXPECT_EQ(refine_grid(g, twins, 4, 2).size(), 10u * 9u * 5u);
}

TEST(AutoStrategy, AsksWavesThenThePlaneThenTheNeighbourhoodOfTheBest) {
  const Geometry g = gpu_geometry(132);
  const Asked asked = ask_all(g, knobs_for(KnobPreset::v3));
  ASSERT_EQ(asked.batches.size(), 3u);
  EXPECT_EQ(asked.batches[0].phase, "wave");
  EXPECT_EQ(asked.batches[0].shapes.size(), 51u * 6u);
  EXPECT_EQ(asked.batches[1].phase, "plane");
  EXPECT_EQ(asked.batches[1].shapes.size(), 200u);
  EXPECT_EQ(asked.batches[2].phase, "refine");
  expect_legal(asked, g);
}

TEST(AutoStrategy, ShapesThatFailedAreNotSeedsAndWithoutAnyReadingThereIsNoRefinement) {
  AutoStrategy strategy(gpu_geometry(132), knobs_for(KnobPreset::v3));
  ASSERT_TRUE(strategy.ask());
  const auto plane = strategy.ask();
  ASSERT_TRUE(plane);
  EXPECT_FALSE(strategy.ask());
  AutoStrategy one(gpu_geometry(132), knobs_for(KnobPreset::v3));
  ASSERT_TRUE(one.ask());
  ASSERT_TRUE(one.ask());
  one.tell({{4096, 4096, 3072}, 500, 510, std::nullopt, std::nullopt});
  const auto refine = one.ask();
  ASSERT_TRUE(refine);
  for (const GemmShape& s : refine->shapes) {
    EXPECT_LE(std::abs(s.m - 4096), 1024);
    EXPECT_LE(std::abs(s.n - 4096), 1024);
    EXPECT_LE(std::abs(s.k - 3072), 2048);
  }
  EXPECT_FALSE(one.ask());
}

TEST(AutoStrategy, RefineGridFalseEndsAfterThePlane) {
  Knobs knobs = knobs_for(KnobPreset::v3);
  knobs.refine_grid = false;
  EXPECT_EQ(ask_all(gpu_geometry(132), knobs).batches.size(), 2u);
}

TEST(AutoStrategy, EveryCandidateIsAlignedOnceAndInBoundsForAnyDeviceDtypeAndMaxSize) {
  std::uint32_t salt = 1;
  for (const int units : {1, 2, 20, 132, 148, 304})
    for (const DType dtype : {DType::bfloat16, DType::float8_e4m3fn, DType::nvfp4, DType::float64})
      for (const int max_size : {1000, 1024, 2049, 4096, 8191, 20480, 20481, 30000}) {
        SCOPED_TRACE(std::to_string(units) + " units, max_size " + std::to_string(max_size));
        const Geometry g = gpu_geometry(units, dtype, max_size);
        Knobs knobs = knobs_for(KnobPreset::v3);
        knobs.refine_radius_mn = 1;
        expect_legal(ask_all(g, knobs, salt++), g);
      }
}

TEST(AutoStrategy, ACpuOfAnySizeGetsASmallSetWithWaveLayouts) {
  const Knobs knobs = knobs_for(KnobPreset::cpu);
  for (const int units : {1, 2, 3, 4, 6, 8, 11, 16, 26, 64, 96, 128, 192})
    for (const TileHint tile : {TileHint{48, 16}, TileHint{64, 64}, TileHint{16, 48},
                                TileHint{12, 32}, TileHint{128, 128}})
      for (std::uint32_t salt = 0; salt < 5; ++salt) {
        SCOPED_TRACE(std::to_string(units) + " units, tile " + std::to_string(tile.m) + "x" +
                     std::to_string(tile.n));
        const Geometry g = cpu_geometry(units, tile);
        const auto waves = aligned_wave_layouts(g);
        EXPECT_GE(waves.size(), 3u);
        const Asked asked = ask_all(g, knobs, salt);
        expect_legal(asked, g);
        EXPECT_GE(asked.all().size(), 20u);
        EXPECT_LE(asked.all().size(), units <= 2 ? 60u : 66u);
      }
}

TEST(AutoStrategy, OnTwoCoresTheWaveLayoutsReachFromAQuarterToTheWholeOfMaxSize) {
  const auto waves = aligned_wave_layouts(cpu_geometry(2, {64, 64}));
  ASSERT_EQ(waves.size(), 4u);
  EXPECT_EQ(waves.at(1).square, MN(1024, 1024));
  EXPECT_EQ(waves.at(1).layouts, (std::vector<MN>{{512, 2048}, {1024, 1024}, {2048, 512}}));
  EXPECT_EQ(waves.at(2).layouts, (std::vector<MN>{{1024, 2048}, {2048, 1024}}));
  EXPECT_EQ(waves.at(4).layouts, (std::vector<MN>{{2048, 2048}}));
}

TEST(AutoStrategy, ScaledWavesPreferLayoutsThatLeaveNoTileAndNoUnitIdle) {
  const auto waves = aligned_wave_layouts(cpu_geometry(2, {48, 16}));
  for (const int range :
       {1, 2, 3})  // in the last only 2048 x 2048 and thinner are left: 42.7 tiles
    for (const MN& mn : waves.at(range).layouts) EXPECT_EQ(mn.first % 48, 0) << mn.first;
}

}  // namespace
}  // namespace gemmpeak::search
