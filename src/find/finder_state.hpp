// Finder::State: what a find knows while it works, and its phases, one source a phase. Internal to
// the find room. Nothing here is kept between runs; the journal is the only memory.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "find/finder.hpp"

namespace gemmpeak {

struct Finder::State {
  State(FinderInputs inputs, Run run);

  // --- the phases, in order (finder.cpp) ---
  Run finish_run();
  bool go();  // false once interrupted or the device is dead
  void warm_up();
  void scout();  // finder_scout.cpp
  void choose_confirm_set();
  void screen();  // finder_mamf.cpp
  void verify_confirm_set();
  void confirm_msmf();  // finder_msmf.cpp
  void confirm_mamf();  // finder_mamf.cpp
  void hold();          // finder_held.cpp
  void cross_check();
  void closing_notes();

  // --- scouting ---
  void scout_batch(const std::string& phase, const std::vector<GemmShape>& shapes,
                   const std::function<void(const search::Scouted&)>& tell);
  void reserve();

  // --- MSMF ---
  search::Confirmed measure_confirmed(GemmShape shape, const std::string& stage, int first_rep,
                                      int reps, std::vector<LoopSample>& kept);
  search::Confirmed reduce(GemmShape shape, const std::vector<LoopSample>& samples) const;
  search::MsmfRules msmf_rules() const;
  Headline msmf_headline(const search::Confirmed& confirmed) const;
  std::vector<search::Confirmed> confirmed_list() const;

  // --- MAMF ---
  void burst_shape(GemmShape shape, int first_rep, int reps);
  std::vector<search::Boosted> judge_all() const;
  Headline mamf_headline(const search::Boosted& boosted) const;

  // --- back to back ---
  Headline held_headline(const HeldSample& sample) const;

  // --- common ---
  void fill_common(Headline& headline) const;  // efficiency and repro
  void publish(Headline headline);
  void fate(GemmShape shape, const std::string& phase, const std::string& what,
            const std::string& why);
  void warn(const std::string& sentence);
  void remark(const std::string& sentence);
  void begin_phase(const std::string& name, int shapes);
  void end_phase();
  void see_clock(std::optional<double> clock_mhz);

  // The recorded value of `key`, or measures, journals and returns it. An interrupted sample is
  // returned but not journaled.
  template <class Sample, class Parse, class Measure>
  Sample recorded(const std::string& key, Parse parse, Measure measure);

  FinderInputs in;
  FindObserver silent;
  FindObserver& observer;
  Bench& bench;
  Run run;
  const Knobs& knobs;
  double start_s = 0;

  std::vector<search::Scouted> scouted;
  std::map<GemmShape, LoopSample> scout_samples;
  std::map<int, search::WaveLayouts> waves;
  std::set<search::MN> wave_mn;
  double highest_clock_mhz = 0;
  double busy_s = 0;         // device time inside scout loops
  double busy_window_s = 0;  // wall time from the first to the last scout of each batch

  search::RecallPool pool;
  std::vector<GemmShape> msmf_shapes;
  std::vector<GemmShape> mamf_shapes;
  std::vector<GemmShape> union_shapes;  // both confirms run on it
  std::map<GemmShape, std::vector<LoopSample>> repeats;
  std::map<GemmShape, std::vector<BurstSample>> bursts;
  std::map<GemmShape, search::Confirmed> locked;
  std::map<GemmShape, std::string> algorithms;
  std::optional<search::Confirmed> msmf;
  std::optional<search::Boosted> mamf;
  std::map<GemmShape, Fate> fates;
  bool journal_failed = false;
};

}  // namespace gemmpeak
