// The project's own CPU kernel for the GEMM sites: the tiles of model/tile_configs with split-K, in
// float32. Used by the CPU forward and the search. A tile's numbers mean here what they mean on a
// GPU: bm x bn outputs a task, K in steps of bk through a padded bm x (bk + 4) copy of the inputs,
// stages - 1 steps of weights prefetched ahead. It refuses shapes that a tile does not divide.
#pragma once

#include <memory>

#include "backend/site_gemm.hpp"
#include "model/tile_configs.hpp"

namespace gemmpeak::substrate {

Result<std::unique_ptr<SiteGemm>> make_own_gemm(const SiteGemmDesc& desc, const TileConfig& tile,
                                                int split);

// Any number of rows, no tiles: for the pruned last w2, which runs on a mean.
std::unique_ptr<SiteGemm> make_row_gemm(const SiteGemmDesc& desc);

}  // namespace gemmpeak::substrate
