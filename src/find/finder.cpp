#include "find/finder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "find/finder_state.hpp"
#include "find/recorded.hpp"
#include "stats/stats.hpp"

namespace gemmpeak {

Finder::State::State(FinderInputs inputs, Run initial)
    : in(inputs),
      observer(inputs.observer != nullptr ? *inputs.observer : silent),
      bench(*inputs.bench),
      run(std::move(initial)),
      knobs(run.settings.knobs) {}

Finder::Finder(FinderInputs inputs, Run run)
    : state_(std::make_unique<State>(inputs, std::move(run))) {}
Finder::~Finder() = default;

Run Finder::run() {
  State& s = *state_;
  s.start_s = s.bench.now_s();
  s.reserve();
  s.warm_up();
  s.scout();
  if (!s.knobs.scout_only && s.go() && !s.scouted.empty()) {
    s.choose_confirm_set();
    s.screen();
    s.verify_confirm_set();
    s.confirm_msmf();
    s.confirm_mamf();
    s.cross_check();
    s.hold();
    s.closing_notes();
  }
  return s.finish_run();
}

bool Finder::State::go() { return !bench.interrupted() && !bench.device().dead(); }

void Finder::State::warm_up() {
  if (!go()) return;
  const bool adaptive = knobs.warmup == "adaptive";
  const std::int64_t size = std::min<std::int64_t>(knobs.warmup_size, knobs.max_size);
  const GemmShape shape =
      run.settings.search == "grid" ? run.settings.grid.front() : GemmShape{size, size, size};
  // The reference's flat warm-up; only reached by --tune warmup=fixed.
  constexpr double kFixedWarmUpS = 30.0;
  observer.note(adaptive
                    ? "Warming up (adaptive: until matmul throughput plateaus) ..."
                    : fmt::format("Warming up the accelerator for {:.0f} s ...", kFixedWarmUpS));
  begin_phase("warm-up", 0);
  const auto progress = [&](double seconds, double tflops) {
    observer.progress(fmt::format("  warm-up {:4.1f} s  {:.4g} TFLOPS", seconds, tflops));
  };
  const WarmUpReport report =
      adaptive ? bench.warm_up(shape, knobs.warmup_min_s, knobs.warmup_max_s, progress)
               : bench.warm_up_fixed(shape, kFixedWarmUpS, progress);
  end_phase();
  std::string sensors;
  if (report.clock_mhz && report.power_w)
    sensors = fmt::format(", clk={:.0f}MHz pow={:.0f}W", *report.clock_mhz, *report.power_w);
  if (adaptive)
    observer.note(fmt::format("adaptive warmup: {} after {:.1f}s / {} iters{}",
                              report.plateaued ? "throughput plateaued" : "hit time cap",
                              report.seconds, report.products, sensors));
  else
    observer.note("accelerator warmup finished" + sensors);
}

void Finder::State::begin_phase(const std::string& name, int shapes) {
  const double now = bench.now_s() - start_s;
  run.phases.push_back({name, now, now});
  if (shapes > 0) observer.phase(name, shapes);
}

void Finder::State::end_phase() {
  if (in.journal != nullptr && !journal_failed) (void)in.journal->sync();
  if (!run.phases.empty()) run.phases.back().end_s = bench.now_s() - start_s;
}

void Finder::State::warn(const std::string& sentence) {
  run.warnings.push_back(sentence);
  observer.warning(sentence);
}

void Finder::State::remark(const std::string& sentence) {
  run.remarks.push_back(sentence);
  observer.note("note: " + sentence);
}

void Finder::State::see_clock(std::optional<double> clock_mhz) {
  if (clock_mhz) highest_clock_mhz = std::max(highest_clock_mhz, *clock_mhz);
}

void Finder::State::fate(GemmShape shape, const std::string& phase, const std::string& what,
                         const std::string& why) {
  fates[shape] = Fate{shape, phase, what, why};
}

void Finder::State::fill_common(Headline& headline) const {
  // The device's own cycle counter first: it says how many cycles there were, where the sensor says
  // what clock was asked for (1980 against 1730 MHz in a burst on an H200).
  const auto clock = headline.device_clock_mhz ? headline.device_clock_mhz : headline.clock_mhz;
  if (clock) {
    if (auto peak = peak_flop_per_s(run.device, run.settings.dtype, *clock))
      headline.efficiency = headline.tflops * 1e12 / *peak;
  }
  if (auto algorithm = algorithms.find(headline.shape); algorithm != algorithms.end())
    headline.algorithm = algorithm->second;
  std::string line = "gemmpeak find";
  for (const std::string& option : run.settings.repro_options) line += " " + option;
  line +=
      fmt::format(" --m {} --n {} --k {}", headline.shape.m, headline.shape.n, headline.shape.k);
  headline.repro = line;
}

void Finder::State::publish(Headline headline) {
  fill_common(headline);
  fate(headline.shape, std::string(regime_name(headline.regime)), "headline",
       fmt::format("the {} headline", regime_name(headline.regime)));
  observer.headline(headline);
  run.headlines.push_back(std::move(headline));
}

void Finder::State::closing_notes() {
  const double rated = run.device.rated_clock_mhz.value_or(0);
  if (rated > 0 && highest_clock_mhz > 0 && highest_clock_mhz < knobs.boost_clock_ratio * rated) {
    std::uint64_t reasons = 0;
    for (const LoopSample& sample : run.confirms)
      reasons |= sample.window.sensors.reasons.value_or(0);
    std::string names;
    for (const std::string& name : throttle_names(reasons))
      names += (names.empty() ? "" : ", ") + name;
    remark(fmt::format(
        "highest SM clock this run {:.0f}MHz is below the rated max {:.0f}MHz - clocks "
        "locked, power-capped or thermally limited?{}",
        highest_clock_mhz, rated, names.empty() ? "" : " Reasons the device gave: " + names + "."));
  }
  if (bench.telemetry() != nullptr && !run.telemetry_validated && run.telemetry.count("power") != 0)
    remark(
        fmt::format("'{}' power is reported but not used to exclude shapes here, so MSMF isn't "
                    "checked for boost-burst inflation",
                    bench.telemetry()->info().backend));
}

Run Finder::State::finish_run() {
  if (highest_clock_mhz > 0) run.highest_clock_mhz = highest_clock_mhz;
  run.interrupted = bench.interrupted();
  if (bench.device().dead())
    warn("the device failed during the run; what was measured before is kept");
  for (auto& [shape, samples] : repeats)
    run.confirms.insert(run.confirms.end(), samples.begin(), samples.end());
  for (auto& [shape, samples] : bursts)
    run.bursts.insert(run.bursts.end(), samples.begin(), samples.end());
  for (auto& [shape, entry] : fates) run.fates.push_back(entry);
  run.elapsed_s = bench.now_s() - start_s;
  return std::move(run);
}

}  // namespace gemmpeak
