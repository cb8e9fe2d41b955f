// The selection rules of the reference and our corrections (PARITY S3, F1..F6): which scouted
// shapes are confirmed, which confirmed ones may become a headline. Pure functions on plain values;
// used by find; tested on golden vectors recorded from the reference. It measures nothing: lock-in
// asks for its measurements through a callback.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "search/candidates.hpp"

namespace gemmpeak::search {

// mean x min(1, W / highest W); mean alone where either is missing.
double power_rank_score(double tflops, std::optional<double> power_w,
                        std::optional<double> highest_w);

// Top n by power-ranked score, each shape at its best; up to `prefer_slots` places are kept for
// shapes whose (M, N) is in `prefer`. Ties keep the order of first appearance.
std::vector<GemmShape> top_shapes(std::span<const Scouted> scouted, int n,
                                  const std::set<MN>& prefer, int prefer_slots);
std::vector<GemmShape> top_shapes_by_peak(std::span<const Scouted> scouted, int n);
// S3: half the seeds power-ranked (one place for wave layouts), half by peak; deduplicated.
std::vector<GemmShape> refine_seeds(std::span<const Scouted> scouted, const std::set<MN>& wave_mn,
                                    int seeds);

struct RecallPool {
  std::vector<GemmShape> shapes;
  std::map<GemmShape, std::vector<std::string>> provenance;  // "raw", "wave"
};
RecallPool mamf_recall_pool(std::span<const Scouted> scouted,
                            const std::map<int, WaveLayouts>& waves, const Knobs& knobs);

struct ConfirmSet {
  std::vector<GemmShape> shapes;
  std::vector<GemmShape> forced;
  int wanted = 0;
};
ConfirmSet msmf_confirm_set(std::span<const Scouted> scouted, const std::set<MN>& wave_mn,
                            const std::map<int, WaveLayouts>& waves, const Knobs& knobs);

// --- MSMF -------------------------------------------------------------------------------------
// Repeats of one shape, reduced (F3): rate = trimmed median, power and clock = medians of the
// per-repeat means, spread untrimmed.
struct Confirmed {
  GemmShape shape;
  double tflops = 0;
  std::optional<double> power_w;
  std::optional<double> clock_mhz;
  double spread_percent = 0;
  std::vector<double> runs;
};

// Re-measures a shape `reps` times for the lock-in. Empty `runs` say that nothing could be measured
// (interrupted, device failed): the next leader is tried, and the confirmed values stand if none
// can.
using Remeasure = std::function<Confirmed(GemmShape shape, int reps)>;

struct MsmfRules {
  bool exclude = false;  // telemetry is validated
  int confirm_reps = 5;
  // Better than the reference for a set without an anchor, or of one shape, which would always
  // anchor itself: the device's power limit, and whether the power-cap bit was seen while a shape
  // ran. A shape at the limit or with the bit then sets the saturated clock.
  std::optional<double> power_limit_w;
  std::set<GemmShape> power_capped;
};

struct MsmfChoice {
  std::optional<Confirmed> headline;
  std::optional<double> saturated_clock_mhz;  // empty: nothing shows what saturated means here
  std::vector<std::string> warnings;          // printed after "WARNING: ", whole sentences
  std::vector<std::pair<std::string, std::vector<GemmShape>>>
      ignored;  // why -> faster shapes passed over
  struct Lock {
    Confirmed result;
    bool accepted = false;
    std::string reason;  // why rejected, or the tags of a best-available fallback
  };
  std::vector<Lock> locks;  // in order
};
MsmfChoice select_msmf(std::span<const Confirmed> confirmed, const MsmfRules& rules,
                       const Knobs& knobs, const Remeasure& remeasure);

// --- MAMF -------------------------------------------------------------------------------------
struct BurstPoint {
  double tflops = 0;
  std::optional<double> clock_mhz;
  std::optional<double> power_w;
};
struct Burst {
  GemmShape shape;
  std::vector<BurstPoint> points;
};
struct Boosted {  // one shape's bursts judged against the boost reference
  GemmShape shape;
  double tflops = 0;  // the peak iteration at boost, else the peak of all
  std::optional<double> power_w;
  std::optional<double> clock_mhz;
  bool boost = false;
  double boost_reference_mhz = 0;
  std::vector<double> top;  // highest iterations, descending, `reps` of them
};
double boost_reference(double known_mhz, std::span<const BurstPoint> points);
Boosted judge_burst(const Burst& burst, double boost_reference_mhz, double boost_ratio, int reps);
// F2: the screen's winners, best first: at-boost peaks preferred.
std::vector<GemmShape> screen_winners(std::span<const Burst> bursts, double known_boost_mhz,
                                      const Knobs& knobs);
struct MamfChoice {
  std::optional<Boosted> headline;
  std::vector<std::string> warnings;  // printed after "WARNING: "
};
MamfChoice select_mamf(std::span<const Boosted> boosted, double boost_reference_mhz);

// Nearest integer TFLOPS, halves away from zero (F7).
std::int64_t round_tflops(double tflops);

}  // namespace gemmpeak::search
