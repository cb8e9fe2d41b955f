// F2, F5, F7: bursts judged against the boost clock, the screen's winners, the MAMF headline.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "search/selection.hpp"
#include "stats/stats.hpp"

namespace gemmpeak::search {
namespace {

// The first highest, or nothing.
const BurstPoint* highest(const std::vector<const BurstPoint*>& points) {
  const BurstPoint* best = nullptr;
  for (const BurstPoint* p : points)
    if (best == nullptr || p->tflops > best->tflops) best = p;
  return best;
}

std::vector<const BurstPoint*> select(std::span<const BurstPoint> points, auto test) {
  std::vector<const BurstPoint*> out;
  for (const BurstPoint& p : points)
    if (test(p)) out.push_back(&p);
  return out;
}

}  // namespace

double boost_reference(double known_mhz, std::span<const BurstPoint> points) {
  double reference = known_mhz;
  for (const BurstPoint& p : points)
    if (p.clock_mhz && *p.clock_mhz > reference) reference = *p.clock_mhz;
  return reference;
}

Boosted judge_burst(const Burst& burst, double boost_reference_mhz, double boost_ratio, int reps) {
  const double least = boost_ratio * boost_reference_mhz;
  const auto boosts = [least](const BurstPoint& p) {
    return least != 0 && p.clock_mhz && *p.clock_mhz >= least;
  };
  const auto at_boost = select(burst.points, boosts);
  const auto all = select(burst.points, [](const BurstPoint&) { return true; });
  Boosted out;
  out.shape = burst.shape;
  out.boost_reference_mhz = boost_reference_mhz;
  if (const BurstPoint* best = highest(at_boost.empty() ? all : at_boost)) {
    out.tflops = best->tflops;
    out.power_w = best->power_w;
    out.clock_mhz = best->clock_mhz;
    out.boost = boosts(*best);
  }
  std::vector<double> watts;
  for (const BurstPoint* p : at_boost)
    if (p->power_w) watts.push_back(*p->power_w);
  if (!watts.empty()) out.power_w = stats::median(watts);
  for (const BurstPoint* p : all) out.top.push_back(p->tflops);
  std::sort(out.top.begin(), out.top.end(), std::greater<>());
  const std::size_t most = static_cast<std::size_t>(std::max(reps, 0));
  if (out.top.size() > most) out.top.resize(most);
  return out;
}

std::vector<GemmShape> screen_winners(std::span<const Burst> bursts, double known_boost_mhz,
                                      const Knobs& knobs) {
  double reference = known_boost_mhz;
  for (const Burst& burst : bursts) reference = boost_reference(reference, burst.points);
  std::vector<std::pair<double, GemmShape>> scored;
  for (const Burst& burst : bursts) {
    if (burst.points.empty()) continue;
    const Boosted judged = judge_burst(burst, reference, knobs.boost_clock_ratio, 0);
    scored.emplace_back(judged.tflops, burst.shape);
  }
  // Equal peaks: the larger (M, N, K) first, as the reference's tuples sort.
  std::stable_sort(scored.begin(), scored.end(), std::greater<>());
  std::vector<GemmShape> out;
  const std::size_t most = static_cast<std::size_t>(std::max(1, knobs.mamf_confirm_top));
  for (const auto& entry : scored)
    if (out.size() < most) out.push_back(entry.second);
  return out;
}

MamfChoice select_mamf(std::span<const Boosted> boosted, double boost_reference_mhz) {
  MamfChoice choice;
  const bool any =
      std::any_of(boosted.begin(), boosted.end(), [](const Boosted& b) { return b.boost; });
  for (const Boosted& b : boosted) {
    if (any && !b.boost) continue;
    if (!choice.headline || b.tflops > choice.headline->tflops) choice.headline = b;
  }
  if (!choice.headline) return choice;
  // Whole TFLOPS as the reference, but a CPU's rate must not read 0.
  const double rate = choice.headline->tflops;
  const std::string tflops =
      rate < 10 ? fmt::format("{:.3g}", rate) : std::to_string(round_tflops(rate));
  if (boost_reference_mhz == 0) {
    choice.warnings.push_back(fmt::format(
        "no SM clock readings, so MAMF {} TFLOPS is not boost-clock validated", tflops));
  } else if (!choice.headline->boost) {
    choice.warnings.push_back(fmt::format(
        "no MAMF candidate reached the boost clock (~{:.0f}MHz); headline {} TFLOPS is a "
        "base/throttled-clock reading, not a true boost burst",
        boost_reference_mhz, tflops));
  }
  return choice;
}

// The reference rounds the decimal text with six places, so that 754.4999999 is 755 (via
// 754.500000).
std::int64_t round_tflops(double tflops) {
  if (std::isnan(tflops)) return 0;
  // 2^63 as a double: from here on the cast would overflow.
  if (std::fabs(tflops) >= 9223372036854775808.0) {
    return tflops > 0 ? std::numeric_limits<std::int64_t>::max()
                      : std::numeric_limits<std::int64_t>::min();
  }
  const std::string text = fmt::format("{:.6f}", std::fabs(tflops));
  const std::size_t point = text.find('.');
  std::int64_t whole = std::stoll(text.substr(0, point));
  if (text[point + 1] >= '5') ++whole;
  return tflops < 0 ? -whole : whole;
}

}  // namespace gemmpeak::search
