// TileConfig and its one list: the tile shapes of the project's own GEMM kernels, in the order
// their numbers are counted. Kernels, the candidate generator and the docs all read this list, so
// that an `impl` number means the same everywhere. It refuses to say whether a tile suits a shape
// or a device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace gemmpeak {

// One thread block's tile: bm tokens by bn output features, K taken bk at a time, `stages` of them
// in flight.
struct TileConfig {
  int bm = 0;
  int bn = 0;
  int bk = 0;
  int stages = 0;

  bool operator==(const TileConfig&) const = default;
  std::string str() const;  // "32x64x16 stages 2"
};

// Shared memory a tile takes: `stages` float32 tiles of bm x (bk + 4) inputs (4 elements of padding
// keep the rows off the same banks) and bk x bn weights.
constexpr int tile_shared_bytes(const TileConfig& tile) {
  return tile.stages * (tile.bm * (tile.bk + 4) + tile.bk * tile.bn) * 4;
}

// What a thread block gets without asking for more (48 KiB on every NVIDIA device).
inline constexpr int kTileSharedLimitBytes = 48 * 1024;

// {32,64} x {64,128} x {16,32} x {2,3} within the limit, bm slowest and stages fastest: 12 entries.
// New entries are only ever appended.
std::span<const TileConfig> tile_configs();

// Split-K factors the own kernels have.
std::span<const int> tile_splits();

// Why `tile` with `split` cannot run out[tokens, od] = in[tokens, id] weights[od, id]^T; empty if
// it can.
std::optional<std::string> tile_refusal(const TileConfig& tile, int split, std::int64_t od,
                                        std::int64_t id, std::int64_t tokens);

// The list as a Markdown table, as the docs show it.
std::string tile_configs_markdown();

}  // namespace gemmpeak
