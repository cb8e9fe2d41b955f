#include "model/tile_configs.hpp"

#include <fmt/format.h>

#include <array>

namespace gemmpeak {
namespace {

constexpr std::array<int, 2> kBm{32, 64};
constexpr std::array<int, 2> kBn{64, 128};
constexpr std::array<int, 2> kBk{16, 32};
constexpr std::array<int, 2> kStages{2, 3};
constexpr std::array<int, 4> kSplits{1, 2, 4, 8};

// Calls visit(tile) for every tile within the limit, in the order of the numbers.
template <class Visit>
constexpr void for_each_tile(Visit visit) {
  for (int bm : kBm) {
    for (int bn : kBn) {
      for (int bk : kBk) {
        for (int stages : kStages) {
          const TileConfig tile{bm, bn, bk, stages};
          if (tile_shared_bytes(tile) <= kTileSharedLimitBytes) visit(tile);
        }
      }
    }
  }
}

constexpr std::size_t count_tiles() {
  std::size_t count = 0;
  for_each_tile([&](const TileConfig&) { ++count; });
  return count;
}

constexpr std::array<TileConfig, count_tiles()> make_tiles() {
  std::array<TileConfig, count_tiles()> tiles{};
  std::size_t next = 0;
  for_each_tile([&](const TileConfig& tile) { tiles[next++] = tile; });
  return tiles;
}

constexpr auto kTiles = make_tiles();
static_assert(kTiles.size() == 12, "the numbers 0..11 are part of the tactic tables' format");

}  // namespace

std::string TileConfig::str() const {
  return fmt::format("{}x{}x{} stages {}", bm, bn, bk, stages);
}

std::span<const TileConfig> tile_configs() { return kTiles; }

std::span<const int> tile_splits() { return kSplits; }

std::optional<std::string> tile_refusal(const TileConfig& tile, int split, std::int64_t od,
                                        std::int64_t id, std::int64_t tokens) {
  bool known = false;
  for (int s : kSplits) known = known || s == split;
  if (!known) return fmt::format("split {} is not one of 1, 2, 4, 8", split);
  if (od % tile.bn != 0) return fmt::format("{} outputs are no multiple of bn {}", od, tile.bn);
  if (tokens % tile.bm != 0) {
    return fmt::format("{} tokens are no multiple of bm {}", tokens, tile.bm);
  }
  if (id % split != 0) return fmt::format("K {} is no multiple of split {}", id, split);
  if ((id / split) % tile.bk != 0) {
    return fmt::format("K/split {} is no multiple of bk {}", id / split, tile.bk);
  }
  return std::nullopt;
}

std::string tile_configs_markdown() {
  std::string out =
      "| impl | bm | bn | bk | stages | shared memory, bytes |\n|---|---|---|---|---|---|\n";
  int number = 0;
  for (const TileConfig& t : kTiles) {
    out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", number++, t.bm, t.bn, t.bk, t.stages,
                       tile_shared_bytes(t));
  }
  return out;
}

}  // namespace gemmpeak
