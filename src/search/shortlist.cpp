// Which scouted shapes go on: refine seeds, the MAMF recall pool, the MSMF confirm set (S3, F1,
// F2).
#include <algorithm>
#include <tuple>

#include "search/selection.hpp"

namespace gemmpeak::search {
namespace {

// F1: squares of the first four waves are forced; four places at least stay for ranked fillers.
constexpr int kForcedWaves = 4;
constexpr int kLeastFillers = 4;
constexpr int kLeastWaveFillers = 2;

bool contains(const std::vector<GemmShape>& shapes, const GemmShape& shape) {
  return std::find(shapes.begin(), shapes.end(), shape) != shapes.end();
}

void add_new(std::vector<GemmShape>& shapes, const GemmShape& shape) {
  if (!contains(shapes, shape)) shapes.push_back(shape);
}

std::optional<double> highest_power(std::span<const Scouted> scouted) {
  std::optional<double> highest;
  for (const Scouted& s : scouted)
    if (s.power_w && (!highest || *s.power_w > *highest)) highest = s.power_w;
  return highest;
}

// Each shape once, where it first appeared, with its best score by `score`.
template <class Score>
std::vector<std::pair<GemmShape, double>> best_scores(std::span<const Scouted> scouted,
                                                      Score score) {
  std::vector<std::pair<GemmShape, double>> out;
  std::map<GemmShape, std::size_t> place;
  for (const Scouted& s : scouted) {
    const double value = score(s);
    const auto [at, fresh] = place.try_emplace(s.shape, out.size());
    if (fresh)
      out.emplace_back(s.shape, value);
    else if (value > out[at->second].second)
      out[at->second].second = value;
  }
  return out;
}

// Highest first; equal ones keep their order.
std::vector<GemmShape> ranked(std::vector<std::pair<GemmShape, double>> scores) {
  std::stable_sort(scores.begin(), scores.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<GemmShape> out;
  for (const auto& entry : scores) out.push_back(entry.first);
  return out;
}

void keep_first(std::vector<GemmShape>& shapes, int n) {
  const std::size_t most = static_cast<std::size_t>(std::max(n, 0));
  if (shapes.size() > most) shapes.resize(most);
}

double peak(const Scouted& s) { return s.max_tflops; }

// The fattest first: by the smallest dimension, then by volume. Such a shape saturates the power
// while confirmed, whatever it did in its short scout, and so anchors the saturated clock.
std::vector<GemmShape> fattest(std::span<const Scouted> scouted, int n) {
  std::vector<GemmShape> shapes;
  for (const auto& entry : best_scores(scouted, peak)) shapes.push_back(entry.first);
  const auto key = [](const GemmShape& s) {  // flop() is exact up to 2^53: sides of 165,000
    return std::make_tuple(std::min({s.m, s.n, s.k}), s.flop());
  };
  std::stable_sort(shapes.begin(), shapes.end(),
                   [&](const GemmShape& a, const GemmShape& b) { return key(a) > key(b); });
  keep_first(shapes, n);
  return shapes;
}

// The best raw K scouted for this M x N: high K often reads low power in a short scout, and ranking
// by power would then keep the smallest K.
std::optional<GemmShape> best_k(std::span<const Scouted> scouted, MN mn) {
  std::optional<GemmShape> best;
  double highest = -1;
  for (const Scouted& s : scouted) {
    if (s.shape.m != mn.first || s.shape.n != mn.second || !(s.mean_tflops > highest)) continue;
    highest = s.mean_tflops;
    best = s.shape;
  }
  return best;
}

}  // namespace

double power_rank_score(double tflops, std::optional<double> power_w,
                        std::optional<double> highest_w) {
  if (!power_w || !highest_w || *power_w == 0 || *highest_w == 0) return tflops;
  return tflops * std::min(1.0, *power_w / *highest_w);
}

std::vector<GemmShape> top_shapes(std::span<const Scouted> scouted, int n,
                                  const std::set<MN>& prefer, int prefer_slots) {
  const std::optional<double> highest = highest_power(scouted);
  const std::vector<GemmShape> ordered = ranked(best_scores(scouted, [&](const Scouted& s) {
    return power_rank_score(s.mean_tflops, s.power_w, highest);
  }));
  n = std::max(1, n);
  std::vector<GemmShape> preferred, rest;
  const std::size_t places = static_cast<std::size_t>(std::clamp(prefer_slots, 0, n));
  for (const GemmShape& s : ordered) {
    const bool kept = preferred.size() < places && prefer.count({s.m, s.n}) != 0;
    (kept ? preferred : rest).push_back(s);
  }
  preferred.insert(preferred.end(), rest.begin(), rest.end());
  keep_first(preferred, n);
  return preferred;
}

std::vector<GemmShape> top_shapes_by_peak(std::span<const Scouted> scouted, int n) {
  std::vector<GemmShape> ordered = ranked(best_scores(scouted, peak));
  keep_first(ordered, n);
  return ordered;
}

std::vector<GemmShape> refine_seeds(std::span<const Scouted> scouted, const std::set<MN>& wave_mn,
                                    int seeds) {
  const int by_power = std::max(1, seeds / 2);
  std::vector<GemmShape> out = top_shapes(scouted, by_power, wave_mn, std::max(1, by_power / 2));
  for (const GemmShape& shape : top_shapes_by_peak(scouted, seeds - by_power)) add_new(out, shape);
  return out;
}

RecallPool mamf_recall_pool(std::span<const Scouted> scouted,
                            const std::map<int, WaveLayouts>& waves, const Knobs& knobs) {
  const std::vector<std::pair<GemmShape, double>> scores = best_scores(scouted, peak);
  std::map<MN, std::vector<std::pair<GemmShape, double>>> by_layout;
  for (const auto& entry : scores) by_layout[{entry.first.m, entry.first.n}].push_back(entry);

  RecallPool pool;
  const auto add = [&pool](const GemmShape& shape, const char* tag) {
    auto [at, fresh] = pool.provenance.try_emplace(shape);
    if (fresh) pool.shapes.push_back(shape);
    at->second.emplace_back(tag);
  };
  for (const GemmShape& shape : top_shapes_by_peak(scouted, knobs.mamf_raw_forced))
    add(shape, "raw");
  for (const auto& [wave, found] : waves) {
    for (const MN& mn : found.layouts) {
      const auto at = by_layout.find(mn);
      if (at == by_layout.end()) continue;
      std::vector<GemmShape> best = ranked(at->second);
      keep_first(best, std::max(1, knobs.mamf_wave_k));
      for (const GemmShape& shape : best) add(shape, "wave");
    }
  }
  return pool;
}

ConfirmSet msmf_confirm_set(std::span<const Scouted> scouted, const std::set<MN>& wave_mn,
                            const std::map<int, WaveLayouts>& waves, const Knobs& knobs) {
  ConfirmSet set;
  for (int wave = 1; wave <= kForcedWaves; ++wave) {
    const auto at = waves.find(wave);
    if (at == waves.end()) continue;
    const MN mn = at->second.square;
    for (const MN& turned : {mn, MN{mn.second, mn.first}})
      if (const auto shape = best_k(scouted, turned)) add_new(set.forced, *shape);
  }
  for (const GemmShape& shape : fattest(scouted, knobs.confirm_fat_forced))
    add_new(set.forced, shape);

  const int forced = static_cast<int>(set.forced.size());
  set.wanted = std::max(knobs.confirm_top, forced + kLeastFillers);
  set.shapes = set.forced;
  const int wave_places = std::max(kLeastWaveFillers, set.wanted / 2);
  for (const GemmShape& shape : top_shapes(scouted, set.wanted + forced, wave_mn, wave_places))
    add_new(set.shapes, shape);
  keep_first(set.shapes, set.wanted);
  return set;
}

}  // namespace gemmpeak::search
