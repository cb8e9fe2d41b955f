#include "model/tile_configs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"

namespace gemmpeak {
namespace {

TEST(TileConfigs, AreTheTwelveOfTheReferenceInItsOrder) {
  const std::vector<TileConfig> expected{{32, 64, 16, 2},  {32, 64, 16, 3},  {32, 64, 32, 2},
                                         {32, 64, 32, 3},  {32, 128, 16, 2}, {32, 128, 16, 3},
                                         {32, 128, 32, 2}, {64, 64, 16, 2},  {64, 64, 16, 3},
                                         {64, 64, 32, 2},  {64, 128, 16, 2}, {64, 128, 16, 3}};
  EXPECT_THAT(tile_configs(), ::testing::ElementsAreArray(expected));
}

TEST(TileConfigs, AreAllWithinTheSharedMemoryLimit) {
  for (const TileConfig& tile : tile_configs()) {
    EXPECT_LE(tile_shared_bytes(tile), kTileSharedLimitBytes) << tile.str();
  }
  EXPECT_EQ(tile_shared_bytes({32, 64, 16, 2}), 2 * (32 * 20 + 16 * 64) * 4);
}

TEST(TileConfigs, AreWhatTheDocsShow) {
  const auto docs = read_file(GEMMPEAK_TEST_DATA "/../docs/v16.md");
  ASSERT_TRUE(docs.ok()) << docs.error().message();
  EXPECT_THAT(*docs, ::testing::HasSubstr(tile_configs_markdown()));
}

TEST(TileConfigs, RefuseWhatTheyCannotDivide) {
  const TileConfig tile{64, 128, 16, 2};
  EXPECT_FALSE(tile_refusal(tile, 4, 2304, 768, 128));
  EXPECT_THAT(*tile_refusal(tile, 3, 2304, 768, 128), ::testing::HasSubstr("split 3"));
  EXPECT_THAT(*tile_refusal(tile, 1, 2300, 768, 128), ::testing::HasSubstr("bn 128"));
  EXPECT_THAT(*tile_refusal(tile, 1, 2304, 768, 96), ::testing::HasSubstr("bm 64"));
  EXPECT_THAT(*tile_refusal(tile, 8, 2304, 100, 128), ::testing::HasSubstr("split 8"));
  EXPECT_THAT(*tile_refusal(tile, 8, 2304, 64, 128), ::testing::HasSubstr("bk 16"));
}

}  // namespace
}  // namespace gemmpeak
