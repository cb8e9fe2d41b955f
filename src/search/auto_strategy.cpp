#include <iterator>

#include "search/candidates.hpp"
#include "search/selection.hpp"

namespace gemmpeak::search {
namespace {

std::vector<GemmShape> wave_phase(const Geometry& geometry,
                                  const std::map<int, WaveLayouts>& waves) {
  std::vector<GemmShape> out;
  const std::vector<std::int64_t> ks = wave_ks(geometry);
  for (const auto& [wave, found] : waves)
    for (const MN& mn : found.layouts)
      for (const std::int64_t k : ks) out.push_back({mn.first, mn.second, k});
  return out;
}

std::vector<GemmShape> plane_phase(const Geometry& geometry) {
  std::vector<GemmShape> out;
  const std::vector<std::int64_t> sizes = plane_sizes(geometry);
  for (const std::int64_t k : plane_ks(geometry))
    for (const std::int64_t m : sizes)
      for (const std::int64_t n : sizes) out.push_back({m, n, k});
  return out;
}

}  // namespace

AutoStrategy::AutoStrategy(Geometry geometry, const Knobs& knobs)
    : geometry_(geometry), knobs_(knobs), waves_(aligned_wave_layouts(geometry)) {}

std::set<MN> AutoStrategy::wave_mn() const {
  std::set<MN> out;
  for (const auto& [wave, found] : waves_) out.insert(found.layouts.begin(), found.layouts.end());
  return out;
}

std::optional<Batch> AutoStrategy::ask() {
  while (phase_ < 3) {
    Batch batch;
    std::vector<GemmShape> wanted;
    switch (phase_++) {
      case 0:
        batch.phase = "wave";
        wanted = wave_phase(geometry_, waves_);
        break;
      case 1:
        batch.phase = "plane";
        wanted = plane_phase(geometry_);
        break;
      default:
        batch.phase = "refine";
        if (knobs_.refine_grid && !told_.empty()) {
          wanted = refine_grid(geometry_, refine_seeds(told_, wave_mn(), knobs_.refine_seeds),
                               knobs_.refine_radius_mn, knobs_.refine_radius_k);
        }
    }
    for (const GemmShape& shape : wanted)
      if (asked_.insert(shape).second) batch.shapes.push_back(shape);
    if (!batch.shapes.empty()) return batch;
  }
  return std::nullopt;
}

void AutoStrategy::tell(const Scouted& scouted) { told_.push_back(scouted); }

}  // namespace gemmpeak::search
