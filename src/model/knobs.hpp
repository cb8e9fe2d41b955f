// Knobs: every tunable of the search and confirm algorithm, and the one table that names them. From
// its rows come parsing (--tune NAME=VALUE), range checks, help, docs, JSON, the settings hash and
// the repro line. Used by app, search, measure and find. Adding a knob is a field and a row.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"

namespace gemmpeak {

struct Knobs {
  // search
  int max_size = 20480;
  int min_size = 1024;
  std::string warmup = "adaptive";
  int warmup_size = 4096;
  double warmup_min_s = 2.0;
  double warmup_max_s = 45.0;
  int scout_num_iterations = 20;
  int scout_num_warmup_iterations = 8;
  bool refine_grid = true;
  int refine_seeds = 4;
  int refine_radius_mn = 4;
  int refine_radius_k = 2;
  bool scout_only = false;
  // how each loop is run
  int flush_mib = 0;
  double loop_max_s = 0.0;
  // confirm
  int confirm_top = 10;
  int confirm_fat_forced = 3;
  int confirm_reps = 5;
  int confirm_first_reps = 0;
  double confirm_keep_ratio = 0.97;
  int confirm_warmup_passes = 1;
  int tunableop_confirm_max = 8;
  // MAMF
  int mamf_confirm_top = 12;
  int mamf_raw_forced = 8;
  int mamf_wave_k = 3;
  int mamf_screen_iters = 2;
  double mamf_screen_idle_s = 0.05;
  int mamf_burst_iters = 20;
  int mamf_first_reps = 0;
  double mamf_keep_ratio = 0.97;
  double mamf_idle_s = 0.25;
  double boost_clock_ratio = 0.97;
  // MSMF
  double msmf_pass_gap_s = 0.0;
  double msmf_soak_s = 20.0;
  double msmf_max_spread = 3.0;
  int msmf_lock_reps = 9;
  int msmf_lock_tries = 4;
  double msmf_sat_power_ratio = 0.97;
  double msmf_clock_ratio = 1.04;
  double suspect_power_ratio = 0.9;
  // back to back
  double b2b_s = 4.0;
  int b2b_top = 8;
  double b2b_screen_s = 0.3;
  int b2b_final = 2;
};

// Which column of defaults applies.
enum class KnobPreset { v3, gpu, cpu };

using KnobValue = std::variant<int, double, bool, std::string>;
using KnobMember = std::variant<int Knobs::*, double Knobs::*, bool Knobs::*, std::string Knobs::*>;

struct KnobRow {
  std::string_view name;
  KnobMember member;
  KnobValue v3;          // the reference's value (a no-effect value for knobs it does not have)
  KnobValue gpu;         // ours on accelerators
  KnobValue cpu;         // ours on CPUs
  double minimum = 0;    // numbers only, inclusive
  double maximum = 0;
  std::string_view choices;  // strings only: "adaptive|fixed"
  bool reference = false;    // one of mamf-finder's 29
  std::string_view unit;     // "s", "%", "MiB", or empty
  std::string_view help;     // one line, without the default
};

std::span<const KnobRow> knob_table();
Knobs knobs_for(KnobPreset preset);

// Applies `NAME=VALUE` strings in order over `knobs`; `preset=v3|gpu|cpu` replaces all values first
// wherever it stands. The error names the bad string and, for an unknown name, lists the known ones.
Result<Knobs> apply_overrides(const Knobs& knobs, std::span<const std::string> pairs);
// True where `pairs` hold a preset; the last one wins.
Result<KnobPreset> preset_of(std::span<const std::string> pairs, KnobPreset fallback);

std::string knob_text(const KnobValue& value);               // "0.25", "true", "adaptive"
KnobValue knob_value(const Knobs& knobs, const KnobRow& row);
Json knobs_json(const Knobs& knobs);                         // {name: value}, table order
Result<Knobs> knobs_from_json(const Json& json);
// "--tune a=b" for every knob that differs from `base`.
std::vector<std::string> knob_differences(const Knobs& knobs, const Knobs& base);
// The table as Markdown, as docs/knobs.md shows it.
std::string knobs_markdown();

}  // namespace gemmpeak
