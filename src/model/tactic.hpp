// Tactic: how one GEMM site is run, in the numbers of the v16 protocol (`impl split`). Used by the
// backends that run the transformer and by the search. The numbers mean something on one device and
// library only: a table on disk describes its tactics in words (ForwardDevice::describe).
#pragma once

#include <array>
#include <compare>

#include "model/transformer.hpp"

namespace gemmpeak {

// impl >= 0: the project's tile of that number (model/tile_configs). -1: the vendor's default; -2,
// -3, ...: its further suggestions. The vendor chooses its own split: 1 is written.
struct Tactic {
  int impl = -1;
  int split = 1;
  auto operator<=>(const Tactic&) const = default;
  bool vendor() const { return impl < 0; }
};
using TacticTable = std::array<Tactic, 4>;  // by Site

}  // namespace gemmpeak
