// The rows of the knob table. mamf-finder's 29 knobs come first, in its order, with its values in
// the v3 column (benchmark version 3, class Tuning); ours follow. docs/measuring.md says why our
// columns differ from v3.
#include <iterator>
#include <type_traits>

#include "model/knobs.hpp"

namespace gemmpeak {
namespace {

constexpr double kMaxDimension = 2147483647;  // 2^31-1: the largest dimension the program accepts
constexpr double kMaxCount = 1000000;         // a typing error guard: nothing sensible is above it
constexpr double kMaxSeconds = 86400;         // a day, for the same reason

template <class T>
struct Columns {
  T v3, gpu, cpu;
};
template <class T>
Columns<T> same(T value) {
  return {value, value, value};
}
struct Limits {
  double minimum, maximum;
};

template <class T>
KnobRow knob(std::string_view name, T Knobs::*member, std::type_identity_t<Columns<T>> values,
             Limits limits, std::string_view unit, std::string_view help) {
  return KnobRow{name,           member,         values.v3, values.gpu, values.cpu, limits.minimum,
                 limits.maximum, /*choices=*/{}, false,     unit,       help};
}
KnobRow flag(std::string_view name, bool Knobs::*member, bool value, std::string_view help) {
  return knob(name, member, same(value), {0, 0}, "", help);
}
KnobRow choice(std::string_view name, std::string Knobs::*member, const std::string& value,
               std::string_view choices, std::string_view help) {
  KnobRow row = knob(name, member, same(value), {0, 0}, "", help);
  row.choices = choices;
  return row;
}

std::vector<KnobRow> reference_search_rows() {
  using K = Knobs;
  return {
      knob("max_size", &K::max_size, {20480, 20480, 2048}, {1, kMaxDimension}, "",
           "auto: no dimension is larger than this"),
      choice("warmup", &K::warmup, "adaptive", "adaptive|fixed",
             "adaptive warms up until the rate is steady, fixed for a flat 30 s"),
      knob("scout_num_iterations", &K::scout_num_iterations, {20, 8, 3}, {1, kMaxCount}, "",
           "timed iterations of each scouted shape"),
      knob("scout_num_warmup_iterations", &K::scout_num_warmup_iterations, {8, 3, 1},
           {0, kMaxCount}, "", "untimed iterations before them"),
      flag("refine_grid", &K::refine_grid, true,
           "auto: scout a fine grid around the best shapes of the coarse pass"),
      knob("refine_seeds", &K::refine_seeds, {4, 4, 2}, {0, kMaxCount}, "",
           "shapes the fine grid is laid around"),
      knob("refine_radius_mn", &K::refine_radius_mn, {4, 3, 1}, {0, 64}, "",
           "reach of the fine grid in M and N, in steps of 256"),
      knob("refine_radius_k", &K::refine_radius_k, {2, 2, 1}, {0, 64}, "",
           "reach of the fine grid in K, in steps of 1024"),
      flag("scout_only", &K::scout_only, false,
           "stop after scouting, to build an exhaustive grid in parts"),
  };
}

std::vector<KnobRow> reference_confirm_rows() {
  using K = Knobs;
  return {
      knob("confirm_top", &K::confirm_top, {10, 10, 4}, {0, kMaxCount}, "",
           "scouted leaders measured again for MSMF"),
      knob("confirm_fat_forced", &K::confirm_fat_forced, {3, 3, 1}, {0, kMaxCount}, "",
           "shapes large in every dimension always confirmed, to anchor the saturated clock"),
      knob("confirm_reps", &K::confirm_reps, same(5), {1, 1000}, "",
           "repeats of a confirmed shape; from 5 on the lowest and the highest are dropped"),
      knob("confirm_warmup_passes", &K::confirm_warmup_passes, same(1), {0, 1000}, "",
           "untimed passes before a shape's MSMF repeats"),
      knob("tunableop_confirm_max", &K::tunableop_confirm_max, same(8), {1, kMaxCount}, "",
           "ROCm with TunableOp on: shapes tuned and confirmed"),
  };
}

std::vector<KnobRow> reference_mamf_rows() {
  using K = Knobs;
  return {
      knob("mamf_confirm_top", &K::mamf_confirm_top, {12, 12, 4}, {0, kMaxCount}, "",
           "winners of the burst screen added to the confirm set; 0 counts as 1"),
      knob("mamf_raw_forced", &K::mamf_raw_forced, {8, 8, 3}, {0, kMaxCount}, "",
           "scouted peak leaders always screened and confirmed"),
      knob("mamf_wave_k", &K::mamf_wave_k, {3, 3, 1}, {0, kMaxCount}, "",
           "auto: K values screened for each wave-filling M x N"),
      knob("mamf_screen_iters", &K::mamf_screen_iters, same(2), {1, kMaxCount}, "",
           "iterations of a screening burst"),
      knob("mamf_screen_idle_s", &K::mamf_screen_idle_s, {0.05, 0.02, 0.02}, {0, kMaxSeconds}, "s",
           "rest before a screening burst"),
      knob("mamf_burst_iters", &K::mamf_burst_iters, {20, 20, 5}, {1, kMaxCount}, "",
           "iterations of a confirming burst, few enough to end before the clock falls"),
      knob("mamf_idle_s", &K::mamf_idle_s, {0.25, 0.15, 0.1}, {0, kMaxSeconds}, "s",
           "rest before a confirming burst, in which the clock returns to boost"),
      knob("boost_clock_ratio", &K::boost_clock_ratio, same(0.97), {0, 1}, "",
           "a burst is at boost from this share of the run's highest clock on"),
  };
}

std::vector<KnobRow> reference_msmf_rows() {
  using K = Knobs;
  return {
      knob("msmf_soak_s", &K::msmf_soak_s, {20, 20, 5}, {0, kMaxSeconds}, "s",
           "longest heating before MSMF; 0 leaves it out"),
      knob("msmf_max_spread", &K::msmf_max_spread, {3, 5, 3}, {0, 1000}, "%",
           "a shape whose repeats differ by more cannot be the MSMF headline"),
      knob("msmf_lock_reps", &K::msmf_lock_reps, {9, 9, 7}, {0, 1000}, "",
           "repeats that re-measure the MSMF leader; confirm_reps or fewer leave lock-in out"),
      knob("msmf_lock_tries", &K::msmf_lock_tries, {4, 4, 2}, {0, 1000}, "",
           "leaders re-measured before the best available is taken; 0 counts as 1"),
      knob("msmf_sat_power_ratio", &K::msmf_sat_power_ratio, same(0.97), {0, 1}, "",
           "saturated from this share of the run's highest power on"),
      knob("msmf_clock_ratio", &K::msmf_clock_ratio, same(1.04), {0, 100}, "",
           "an unsaturated shape clocked above this times the saturated clock still boosts"),
      knob("suspect_power_ratio", &K::suspect_power_ratio, same(0.9), {0, 1}, "",
           "SUSPECT below this share of the run's highest power"),
  };
}

std::vector<KnobRow> own_loop_rows() {
  using K = Knobs;
  return {
      knob("min_size", &K::min_size, {1024, 1024, 256}, {1, kMaxDimension}, "",
           "auto: no dimension is smaller than this"),
      knob("warmup_size", &K::warmup_size, {4096, 4096, 1024}, {1, kMaxDimension}, "",
           "auto: M, N and K of the warm-up product"),
      knob("warmup_min_s", &K::warmup_min_s, {2, 2, 1}, {0, kMaxSeconds}, "s",
           "shortest adaptive warm-up"),
      knob("warmup_max_s", &K::warmup_max_s, {45, 45, 8}, {0, kMaxSeconds}, "s",
           "longest adaptive warm-up"),
      knob("flush_mib", &K::flush_mib, {256, 0, 0}, {0, 65536}, "MiB",
           "buffer overwritten before each product; 0 follows the last-level cache, on a GPU never "
           "under 256"),
      knob("loop_max_s", &K::loop_max_s, {0, 0.25, 1}, {0, kMaxSeconds}, "s",
           "bound on one loop, which then does fewer iterations; 0 for no bound"),
  };
}

std::vector<KnobRow> own_headline_rows() {
  using K = Knobs;
  return {
      knob("msmf_pass_gap_s", &K::msmf_pass_gap_s, {0.0025, 0.0025, 0}, {0, 60}, "s",
           "pause before each MSMF pass, as long as mamf-finder's own work between passes; 0 for none"),
      knob("confirm_first_reps", &K::confirm_first_reps, {0, 0, 2}, {0, 1000}, "",
           "repeats after which hopeless MSMF shapes are dropped; 0 gives every shape all repeats"),
      knob("confirm_keep_ratio", &K::confirm_keep_ratio, same(0.97), {0, 1}, "",
           "share of the leader's rate that keeps a shape in the MSMF confirm"),
      knob("mamf_first_reps", &K::mamf_first_reps, {0, 1, 1}, {0, 1000}, "",
           "bursts after which hopeless MAMF shapes are dropped; 0 gives every shape all bursts"),
      knob("mamf_keep_ratio", &K::mamf_keep_ratio, {0.97, 0.99, 0.97}, {0, 1}, "",
           "share of the leader's rate that keeps a shape in the MAMF confirm"),
      knob("b2b_s", &K::b2b_s, {4, 3, 3}, {0, kMaxSeconds}, "s",
           "length of a back-to-back measurement; 0 leaves that headline out"),
      knob("b2b_top", &K::b2b_top, {8, 6, 3}, {1, kMaxCount}, "",
           "shapes screened for the back-to-back headline"),
      knob("b2b_screen_s", &K::b2b_screen_s, {0.3, 0.3, 0.5}, {0, kMaxSeconds}, "s",
           "length of each back-to-back screening"),
      knob("b2b_final", &K::b2b_final, {2, 1, 1}, {1, kMaxCount}, "",
           "screened leaders measured at full length"),
  };
}

std::vector<KnobRow> all_rows() {
  std::vector<KnobRow> rows;
  const auto add = [&rows](std::vector<KnobRow> group, bool reference) {
    for (KnobRow& row : group) {
      row.reference = reference;
      rows.push_back(std::move(row));
    }
  };
  add(reference_search_rows(), true);
  add(reference_confirm_rows(), true);
  add(reference_mamf_rows(), true);
  add(reference_msmf_rows(), true);
  add(own_loop_rows(), false);
  add(own_headline_rows(), false);
  return rows;
}

}  // namespace

std::span<const KnobRow> knob_table() {
  static const std::vector<KnobRow> rows = all_rows();
  return rows;
}

}  // namespace gemmpeak
