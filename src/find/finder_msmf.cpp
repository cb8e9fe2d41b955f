// MSMF: verification of the confirm set, thermal soak, confirm in one or two stages, lock-in (F1,
// F3, F4). Who may become the headline is search's rule; this file only brings the measurements.
#include <fmt/format.h>

#include <algorithm>

#include "find/finder_state.hpp"
#include "find/recorded.hpp"
#include "stats/stats.hpp"

namespace gemmpeak {

// M7: wrong results are excluded before they are measured.
void Finder::State::verify_confirm_set() {
  if (!go()) return;
  begin_phase("verify", 0);
  std::vector<GemmShape> right;
  for (std::size_t i = 0; i < union_shapes.size() && go(); ++i) {
    const GemmShape shape = union_shapes[i];
    observer.progress(
        fmt::format("  verifying {} ({}/{})", shape.str(), i + 1, union_shapes.size()));
    const VerifyRecord record = recorded<VerifyRecord>("verify " + shape.str(), verify_from_json,
                                                       [&] { return bench.verify(shape); });
    if (record.outcome.state == OutcomeState::skipped && bench.interrupted()) break;
    run.verified.push_back(record);
    observer.detail(fmt::format("  verified {}: {} ({} elements, worst error {:.2f} of its bound)",
                                shape.str(), outcome_name(record.outcome.state), record.checked,
                                record.worst_ratio));
    if (record.outcome.ok()) {
      right.push_back(shape);
      continue;
    }
    fate(shape, "verify", std::string(outcome_name(record.outcome.state)), record.outcome.reason);
    warn(fmt::format("{} is excluded: {}", shape.str(), record.outcome.reason));
  }
  const auto wrong = [&](const GemmShape& shape) {
    return std::find(right.begin(), right.end(), shape) == right.end();
  };
  std::erase_if(union_shapes, wrong);
  std::erase_if(msmf_shapes, wrong);
  std::erase_if(mamf_shapes, wrong);
  end_phase();
}

// Repeats first_rep..first_rep+reps-1 of one shape after its untimed passes; ok samples are
// appended to `kept` and reduced together with what was there.
search::Confirmed Finder::State::measure_confirmed(GemmShape shape, const std::string& stage,
                                                   int first_rep, int reps,
                                                   std::vector<LoopSample>& kept) {
  const LoopRequest loop{run.settings.num_warmup_iterations, run.settings.num_iterations, {}};
  bool warmed = false;
  for (int rep = first_rep; rep < first_rep + reps && go(); ++rep) {
    const LoopSample sample =
        recorded<LoopSample>(fmt::format("{} {} {}", stage, shape.str(), rep), loop_from_json, [&] {
          if (!warmed)
            for (int pass = 0; pass < knobs.confirm_warmup_passes && go(); ++pass) {
              bench.rest(knobs.msmf_pass_gap_s);
              (void)bench.saturated(shape, loop);
            }
          warmed = true;
          bench.rest(knobs.msmf_pass_gap_s);
          return bench.saturated(shape, loop);
        });
    if (sample.outcome.state == OutcomeState::skipped && bench.interrupted()) break;
    if (sample.outcome.ok()) {
      kept.push_back(sample);
      algorithms[shape] = sample.algorithm;
    } else {
      observer.detail(fmt::format("  {} repeat {}: {} ({})", shape.str(), rep,
                                  outcome_name(sample.outcome.state), sample.outcome.reason));
      fate(shape, stage, std::string(outcome_name(sample.outcome.state)), sample.outcome.reason);
      run.locks.insert(run.locks.end(), stage == "lock" ? 1 : 0, sample);
    }
  }
  return reduce(shape, kept);
}

search::Confirmed Finder::State::reduce(GemmShape shape,
                                        const std::vector<LoopSample>& samples) const {
  search::Confirmed out;
  out.shape = shape;
  std::vector<double> powers, clocks;
  for (const LoopSample& sample : samples) {
    out.runs.push_back(sample.mean_tflops());
    const SensorSummary& sensors = sample.window.sensors;
    if (sensors.power_w) powers.push_back(*sensors.power_w);
    if (sensors.clock_mean_mhz) clocks.push_back(*sensors.clock_mean_mhz);
  }
  out.tflops = stats::trimmed_median(out.runs);
  out.spread_percent = stats::spread_percent(out.runs);
  out.power_w = stats::median_or_none(powers);
  out.clock_mhz = stats::median_or_none(clocks);
  return out;
}

search::MsmfRules Finder::State::msmf_rules() const {
  search::MsmfRules rules;
  rules.exclude = run.telemetry_validated;
  rules.confirm_reps = knobs.confirm_reps;
  if (bench.telemetry() != nullptr) rules.power_limit_w = bench.telemetry()->info().power_limit_w;
  constexpr std::uint64_t kPowerCap = 0x4;
  for (const auto& [shape, samples] : repeats)
    for (const LoopSample& sample : samples)
      if (sample.window.sensors.reasons.value_or(0) & kPowerCap) rules.power_capped.insert(shape);
  return rules;
}

std::vector<search::Confirmed> Finder::State::confirmed_list() const {
  std::vector<search::Confirmed> out;
  for (const GemmShape& shape : union_shapes) {
    const auto found = repeats.find(shape);
    if (found != repeats.end() && !found->second.empty())
      out.push_back(reduce(shape, found->second));
  }
  return out;
}

void Finder::State::confirm_msmf() {
  if (!go() || union_shapes.empty()) return;
  const int reps = std::max(1, knobs.confirm_reps);
  const int first = knobs.confirm_first_reps > 0 ? std::min(knobs.confirm_first_reps, reps) : reps;
  SiblingWatch siblings(bench.telemetry());
  observer.detail(fmt::format("  {} iters x {} reps, TFLOPS = {} of per-shape-warmed means",
                              run.settings.num_iterations, reps,
                              reps >= 5 ? "trimmed-median" : "median"));
  if (knobs.msmf_soak_s > 0) {
    begin_phase("soak", 0);
    const std::int64_t size = std::min<std::int64_t>(8192, knobs.max_size);
    const auto report = bench.soak(
        {size, size, size}, knobs.msmf_soak_s, [&](double seconds, std::optional<double> clock) {
          observer.progress(fmt::format("  thermal soak {:4.1f}s{}", seconds,
                                        clock ? fmt::format("  {:.0f}MHz", *clock) : ""));
        });
    if (report.clock_mhz)
      observer.detail(fmt::format("  settled at ~{:.0f}MHz", *report.clock_mhz));
    end_phase();
  }
  begin_phase("msmf", static_cast<int>(union_shapes.size()));
  for (const GemmShape& shape : union_shapes) {
    if (!go()) break;
    const auto result = measure_confirmed(shape, "confirm", 0, first, repeats[shape]);
    if (!result.runs.empty() && first == reps) observer.confirmed(result);
  }
  Knobs no_lock = knobs;
  no_lock.msmf_lock_reps = 0;
  if (first < reps && go()) {
    // The race: shapes that cannot win any more keep their first repeats, which still anchor the
    // saturated clock; the rest get all repeats.
    const auto leader = search::select_msmf(confirmed_list(), msmf_rules(), no_lock, {});
    const double bar = leader.headline ? knobs.confirm_keep_ratio * leader.headline->tflops : 0;
    for (const GemmShape& shape : union_shapes) {
      if (!go() || repeats[shape].empty()) continue;
      auto result = reduce(shape, repeats[shape]);
      if (result.tflops >= bar)
        result = measure_confirmed(shape, "confirm", first, reps - first, repeats[shape]);
      else
        fate(shape, "msmf", "confirmed",
             fmt::format(
                 "out of the race after {} repeats: {:.4g} TFLOPS is under {:.0f} % of the leader",
                 first, result.tflops, 100 * knobs.confirm_keep_ratio));
      observer.confirmed(result);
    }
  }
  if (!go()) {
    // Interrupted: the best confirmed so far, by the same rules but without lock-in.
    const auto choice = search::select_msmf(confirmed_list(), msmf_rules(), no_lock, {});
    if (choice.headline && !bench.device().dead()) {
      msmf = choice.headline;
      Headline headline = msmf_headline(*msmf);
      headline.notes.push_back("Interrupted before the lock-in: provisional.");
      publish(std::move(headline));
    }
    end_phase();
    return;
  }
  const auto choice =
      search::select_msmf(confirmed_list(), msmf_rules(), knobs, [&](GemmShape shape, int count) {
        observer.progress(fmt::format("  {:<18} lock-in x{} ...", shape.str(), count));
        std::vector<LoopSample> kept;
        const auto result = measure_confirmed(shape, "lock", 0, count, kept);
        run.locks.insert(run.locks.end(), kept.begin(), kept.end());
        return result;
      });
  end_phase();
  run.idle_siblings = siblings.finish();
  for (const auto& [why, shapes] : choice.ignored)
    for (const GemmShape& shape : shapes) {
      fate(shape, "msmf", "confirmed", why);
      observer.detail(fmt::format("  ignored ({}): {}", why, shape.str()));
    }
  for (const auto& lock : choice.locks) {
    observer.detail(fmt::format("  lock-in {}: {:.4g} TFLOPS, spread {:.1f} %, {}",
                                lock.result.shape.str(), lock.result.tflops,
                                lock.result.spread_percent,
                                lock.accepted ? "locked in" : "rejected (" + lock.reason + ")"));
    locked[lock.result.shape] = lock.result;
  }
  if (choice.headline) {
    msmf = choice.headline;
    if (!choice.locks.empty()) observer.confirmed(*msmf);  // the values that replace the confirm's
    observer.winner("msmf", msmf->shape, "MSMF");
    publish(msmf_headline(*msmf));
  }
  for (const std::string& warning : choice.warnings) warn(warning);
}

Headline Finder::State::msmf_headline(const search::Confirmed& confirmed) const {
  Headline out;
  out.regime = Regime::msmf;
  out.shape = confirmed.shape;
  out.tflops = confirmed.tflops;
  out.power_w = confirmed.power_w;
  out.clock_mhz = confirmed.clock_mhz;
  out.spread_percent = confirmed.spread_percent;
  out.runs = confirmed.runs;
  out.trust = run.telemetry_validated && confirmed.power_w && confirmed.clock_mhz
                  ? Trust::validated
                  : Trust::unvalidated;
  std::vector<double> duty, device_clock;
  std::uint64_t reasons = 0;
  bool any_reasons = false;
  const auto collect = [&](const LoopSample& sample) {
    if (sample.shape != confirmed.shape || !sample.outcome.ok()) return;
    duty.push_back(sample.window.duty);
    if (sample.window.device_clock_mhz && sample.window.device_clock_precise)
      device_clock.push_back(*sample.window.device_clock_mhz);
    if (sample.window.sensors.temperature_c)
      out.temperature_c = sample.window.sensors.temperature_c;
    if (sample.window.sensors.reasons) {
      any_reasons = true;
      reasons |= *sample.window.sensors.reasons;
    }
  };
  if (auto found = repeats.find(confirmed.shape); found != repeats.end())
    for (const LoopSample& sample : found->second) collect(sample);
  for (const LoopSample& sample : run.locks) collect(sample);
  out.duty = stats::median_or_none(duty);
  out.device_clock_mhz = stats::median_or_none(device_clock);
  if (any_reasons) out.reasons = reasons;
  out.notes.push_back(
      "Each product follows an untimed cache flush and a copy of C (the reference's method); duty "
      "is "
      "the share of the time spent inside products.");
  if (out.trust == Trust::unvalidated)
    out.notes.push_back(
        "No validated power and clock readings: boosting shapes were not excluded.");
  return out;
}

}  // namespace gemmpeak
