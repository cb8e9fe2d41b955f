// MAMF: the recall screen, the confirm bursts and the cross-check (F2, F3, F5, F6).
#include <fmt/format.h>

#include <algorithm>

#include "find/finder_state.hpp"
#include "find/recorded.hpp"
#include "stats/stats.hpp"

namespace gemmpeak {
namespace {

// After minutes at the power cap the clock takes longer than one burst's rest to return to boost:
// on an H200 the first burst after 0.1 s ran at 1740 MHz, later ones at 1980.
constexpr double kRecovery_s = 0.5;

// The sensor's clock where there is one, else the device's own (which needs no telemetry).
search::Burst points_of(const BurstSample& sample) {
  search::Burst out{sample.shape, {}};
  for (std::size_t i = 0; i < sample.iterations.size(); ++i) {
    const BurstIteration& it = sample.iterations[i];
    const auto clock = it.clock_mhz ? it.clock_mhz : it.device_clock_mhz;
    out.points.push_back(
        {sample.tflops(i), clock, sample.power_resolved ? it.power_w : std::nullopt});
  }
  return out;
}

search::Burst points_of(GemmShape shape, const std::vector<BurstSample>& samples) {
  search::Burst out{shape, {}};
  for (const BurstSample& sample : samples) {
    const auto one = points_of(sample);
    out.points.insert(out.points.end(), one.points.begin(), one.points.end());
  }
  return out;
}

}  // namespace

void Finder::State::screen() {
  if (!go()) return;
  begin_phase("screen", static_cast<int>(pool.shapes.size()));
  observer.detail(fmt::format("  {} iters, {:.0f}ms idle", knobs.mamf_screen_iters,
                              knobs.mamf_screen_idle_s * 1000));
  std::vector<search::Burst> screened;
  int number = 0;
  for (const GemmShape& shape : pool.shapes) {
    if (!go()) break;
    const BurstSample sample = recorded<BurstSample>("screen " + shape.str(), burst_from_json, [&] {
      return bench.burst(shape, {std::max(1, knobs.mamf_screen_iters), knobs.mamf_screen_idle_s});
    });
    if (sample.outcome.state == OutcomeState::skipped && bench.interrupted()) break;
    run.screens.push_back(sample);
    ++number;
    if (!sample.outcome.ok()) {
      observer.detail(fmt::format("  {}: {} ({})", shape.str(), outcome_name(sample.outcome.state),
                                  sample.outcome.reason));
      continue;
    }
    screened.push_back(points_of(sample));
    const auto& points = screened.back().points;
    const auto peak =
        std::max_element(points.begin(), points.end(),
                         [](const auto& a, const auto& b) { return a.tflops < b.tflops; });
    for (const auto& point : points) see_clock(point.clock_mhz);
    if (peak != points.end()) observer.screen(number, shape, peak->tflops, peak->clock_mhz);
  }
  const auto winners = search::screen_winners(screened, highest_clock_mhz, knobs);
  if (!winners.empty()) observer.winner("screen", winners.front(), "best peak");
  end_phase();

  mamf_shapes = search::top_shapes_by_peak(scouted, knobs.mamf_raw_forced);
  const auto add = [](std::vector<GemmShape>& to, const GemmShape& shape) {
    if (std::find(to.begin(), to.end(), shape) == to.end()) to.push_back(shape);
  };
  for (const GemmShape& shape : winners) add(mamf_shapes, shape);
  union_shapes = msmf_shapes;
  for (const GemmShape& shape : mamf_shapes) add(union_shapes, shape);
  const std::size_t overlap = msmf_shapes.size() + mamf_shapes.size() - union_shapes.size();
  observer.detail(fmt::format("  full confirm set: {} shapes (MSMF={}, MAMF={}, overlap={})",
                              union_shapes.size(), msmf_shapes.size(), mamf_shapes.size(),
                              overlap));
  std::string tagged;
  for (const GemmShape& shape : mamf_shapes) {
    std::string tags;
    if (auto found = pool.provenance.find(shape); found != pool.provenance.end())
      for (const std::string& tag : found->second) tags += (tags.empty() ? "" : "+") + tag;
    tagged += fmt::format("{}{}[{}]", tagged.empty() ? "" : ", ", shape.str(),
                          tags.empty() ? "screen" : tags);
  }
  if (!tagged.empty()) observer.detail("  MAMF candidates: " + tagged);
}

void Finder::State::burst_shape(GemmShape shape, int first_rep, int reps) {
  for (int rep = first_rep; rep < first_rep + reps && go(); ++rep) {
    const BurstSample sample =
        recorded<BurstSample>(fmt::format("burst {} {}", shape.str(), rep), burst_from_json, [&] {
          return bench.burst(shape, {std::max(1, knobs.mamf_burst_iters), knobs.mamf_idle_s});
        });
    if (sample.outcome.state == OutcomeState::skipped && bench.interrupted()) break;
    if (sample.outcome.ok()) {
      bursts[shape].push_back(sample);
      for (const auto& point : points_of(sample).points) see_clock(point.clock_mhz);
    } else {
      observer.detail(fmt::format("  {} burst {}: {} ({})", shape.str(), rep,
                                  outcome_name(sample.outcome.state), sample.outcome.reason));
    }
  }
}

std::vector<search::Boosted> Finder::State::judge_all() const {
  std::vector<search::Boosted> out;
  for (const GemmShape& shape : union_shapes) {
    const auto found = bursts.find(shape);
    if (found == bursts.end() || found->second.empty()) continue;
    out.push_back(search::judge_burst(points_of(shape, found->second), highest_clock_mhz,
                                      knobs.boost_clock_ratio, std::max(1, knobs.confirm_reps)));
  }
  return out;
}

void Finder::State::confirm_mamf() {
  if (!go() || union_shapes.empty()) return;
  const int reps = std::max(1, knobs.confirm_reps);
  const int first = knobs.mamf_first_reps > 0 ? std::min(knobs.mamf_first_reps, reps) : reps;
  begin_phase("mamf", static_cast<int>(union_shapes.size()));
  observer.detail(
      fmt::format("  same set as MSMF, {} iters x {} reps, {:.0f}ms idle, no warmup, TFLOPS = "
                  "peak iteration",
                  knobs.mamf_burst_iters, reps, knobs.mamf_idle_s * 1000));
  bench.rest(kRecovery_s);
  for (const GemmShape& shape : union_shapes) {
    if (!go()) break;
    burst_shape(shape, 0, first);
    if (first == reps && !bursts[shape].empty())
      observer.boosted(search::judge_burst(points_of(shape, bursts[shape]), highest_clock_mhz,
                                           knobs.boost_clock_ratio, reps));
  }
  if (first < reps && go()) {
    // The race: more bursts only where the peak so far is within reach of the leader's.
    double best = 0;
    for (const auto& boosted : judge_all()) best = std::max(best, boosted.tflops);
    for (const auto& boosted : judge_all()) {
      if (!go()) break;
      if (boosted.tflops >= knobs.mamf_keep_ratio * best)
        burst_shape(boosted.shape, first, reps - first);
      observer.boosted(search::judge_burst(points_of(boosted.shape, bursts[boosted.shape]),
                                           highest_clock_mhz, knobs.boost_clock_ratio, reps));
    }
  }
  end_phase();
  if (highest_clock_mhz > 0)
    observer.detail(
        fmt::format("  boost reference: {:.0f}MHz (highest clock seen this run), need >={:.0f}MHz",
                    highest_clock_mhz, knobs.boost_clock_ratio * highest_clock_mhz));
  const auto choice = search::select_mamf(judge_all(), highest_clock_mhz);
  if (choice.headline && !bench.device().dead()) {
    mamf = choice.headline;
    observer.winner("mamf", mamf->shape, "MAMF");
    Headline headline = mamf_headline(*mamf);
    if (bench.interrupted())
      headline.notes.push_back("Interrupted during the bursts: provisional.");
    publish(std::move(headline));
  }
  for (const std::string& warning : choice.warnings) warn(warning);
}

Headline Finder::State::mamf_headline(const search::Boosted& boosted) const {
  Headline out;
  out.regime = Regime::mamf;
  out.shape = boosted.shape;
  out.tflops = boosted.tflops;
  out.power_w = boosted.power_w;
  out.clock_mhz = boosted.clock_mhz;
  out.trust = boosted.boost ? Trust::validated : Trust::unvalidated;
  std::vector<double> duty;
  const auto found = bursts.find(boosted.shape);
  if (found != bursts.end()) {
    double peak_so_far = 0;
    for (const BurstSample& sample : found->second) {
      duty.push_back(sample.window.duty);
      for (std::size_t i = 0; i < sample.iterations.size(); ++i) {
        out.runs.push_back(sample.tflops(i));
        if (sample.tflops(i) > peak_so_far && sample.tflops(i) <= boosted.tflops) {
          peak_so_far = sample.tflops(i);
          out.device_clock_mhz = sample.iterations[i].device_clock_mhz;
          out.temperature_c = sample.window.sensors.temperature_c;
        }
      }
      if (sample.window.sensors.reasons)
        out.reasons = out.reasons.value_or(0) | *sample.window.sensors.reasons;
    }
  }
  out.duty = stats::median_or_none(duty);
  std::vector<double> top = out.runs;
  std::sort(top.begin(), top.end(), std::greater<>());
  top.resize(std::min<std::size_t>(top.size(), 5));
  out.notes.push_back(
      fmt::format("The fastest single iteration of short bursts after idle; the five fastest have "
                  "a median of {:.4g} TFLOPS.",
                  stats::median(top)));
  if (!out.power_w)
    out.notes.push_back("No watts: the burst is shorter than the power sensor can see.");
  return out;
}

// F6: both headline shapes in both regimes, missing cells measured.
void Finder::State::cross_check() {
  std::vector<GemmShape> shapes;
  if (mamf) shapes.push_back(mamf->shape);
  if (msmf && (!mamf || msmf->shape != mamf->shape)) shapes.push_back(msmf->shape);
  const int reps = std::max(1, knobs.confirm_reps);
  for (const GemmShape& shape : shapes) {
    Run::CrossCheck row;
    row.shape = shape;
    if (bursts[shape].empty() && go()) burst_shape(shape, 0, reps);
    if (!bursts[shape].empty())
      row.mamf_tflops = search::judge_burst(points_of(shape, bursts[shape]), highest_clock_mhz,
                                            knobs.boost_clock_ratio, reps)
                            .tflops;
    if (repeats[shape].empty() && go())
      (void)measure_confirmed(shape, "confirm", 0, reps, repeats[shape]);
    if (msmf && msmf->shape == shape)
      row.msmf_tflops = msmf->tflops;
    else if (!repeats[shape].empty())
      row.msmf_tflops = reduce(shape, repeats[shape]).tflops;
    if (mamf && mamf->shape == shape) row.roles = "MAMF*";
    if (msmf && msmf->shape == shape) row.roles += row.roles.empty() ? "MSMF*" : ", MSMF*";
    run.cross_checks.push_back(row);
  }
  if (shapes.empty()) return;
  const auto cell = [](const std::optional<double>& x) {
    return x ? fmt::format("{:.1f}", *x) : std::string("-");
  };
  observer.detail("\nSame-shape cross-check (each headline shape in both regimes):");
  observer.detail(fmt::format("  {:<22}  {:>12}  {:>16}  MSMF/MAMF", "shape", "MAMF (boost)",
                              "MSMF (saturated)"));
  for (const auto& row : run.cross_checks)
    observer.detail(
        fmt::format("  {:<22}  {:>12}  {:>16}  {}  ({})", row.shape.str(), cell(row.mamf_tflops),
                    cell(row.msmf_tflops),
                    row.mamf_tflops && row.msmf_tflops && *row.mamf_tflops > 0
                        ? fmt::format("{:.0f}%", 100 * *row.msmf_tflops / *row.mamf_tflops)
                        : "-",
                    row.roles));
}

}  // namespace gemmpeak
