// Back to back: the rate held with no gap on rotating operands. Its candidates are chosen for that
// regime: the fastest confirmed shapes, and the fastest scouts among those that kept the device
// busy (a shape whose MSMF rate lives off the pause of the flush loses here).
#include <fmt/format.h>

#include <algorithm>

#include "find/finder_state.hpp"
#include "find/recorded.hpp"
#include "stats/stats.hpp"

namespace gemmpeak {
namespace {

// A scout that spent this share of its loop inside products shows what it does without the flush's
// pauses; on an H200 a shape of 51 % duty lost 10 % back to back, one of 93 % only 1 %
// (docs/measuring.md).
constexpr double kBusyDuty = 0.85;

}  // namespace

void Finder::State::hold() {
  if (!go() || knobs.b2b_s <= 0 || union_shapes.empty()) return;
  std::vector<GemmShape> shapes;
  const auto add = [&](const GemmShape& shape) {
    const auto known = fates.find(shape);
    const bool excluded = known != fates.end() && known->second.phase == "verify";
    if (!excluded && std::find(shapes.begin(), shapes.end(), shape) == shapes.end())
      shapes.push_back(shape);
  };
  auto confirmed = confirmed_list();
  std::stable_sort(confirmed.begin(), confirmed.end(),
                   [](const auto& a, const auto& b) { return a.tflops > b.tflops; });
  const std::size_t half = static_cast<std::size_t>(std::max(1, knobs.b2b_top / 2));
  for (std::size_t i = 0; i < confirmed.size() && i < half; ++i) add(confirmed[i].shape);
  std::vector<search::Scouted> busy;
  for (const auto& s : scouted) {
    const auto sample = scout_samples.find(s.shape);
    if (sample != scout_samples.end() && sample->second.window.duty >= kBusyDuty) busy.push_back(s);
  }
  for (const GemmShape& shape : search::top_shapes(busy, knobs.b2b_top, {}, 0))
    if (shapes.size() < static_cast<std::size_t>(knobs.b2b_top)) add(shape);
  for (const auto& c : confirmed)
    if (shapes.size() < static_cast<std::size_t>(knobs.b2b_top)) add(c.shape);

  begin_phase("held", static_cast<int>(shapes.size()));
  std::vector<std::pair<double, GemmShape>> ranked;
  for (const GemmShape& shape : shapes) {
    if (!go()) break;
    const HeldSample sample =
        recorded<HeldSample>("held_screen " + shape.str(), held_from_json, [&] {
          return bench.held(shape, {knobs.b2b_screen_s, 2 * knobs.b2b_screen_s, 0.1});
        });
    if (sample.outcome.state == OutcomeState::skipped && bench.interrupted()) break;
    run.held_screens.push_back(sample);
    observer.held(sample);
    if (sample.outcome.ok()) ranked.emplace_back(sample.tflops(), shape);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });

  const HeldSample* best = nullptr;
  run.held.reserve(ranked.size());
  int finals = 0;
  for (const auto& [rate, shape] : ranked) {
    if (!go() || finals >= std::max(1, knobs.b2b_final)) break;
    const auto known = std::find_if(run.verified.begin(), run.verified.end(),
                                    [&](const VerifyRecord& r) { return r.shape == shape; });
    if (known == run.verified.end()) {
      const VerifyRecord record = recorded<VerifyRecord>("verify " + shape.str(), verify_from_json,
                                                         [&] { return bench.verify(shape); });
      run.verified.push_back(record);
      if (!record.outcome.ok()) {
        fate(shape, "verify", std::string(outcome_name(record.outcome.state)),
             record.outcome.reason);
        warn(fmt::format("{} is excluded: {}", shape.str(), record.outcome.reason));
        continue;
      }
    }
    const HeldSample sample = recorded<HeldSample>("held " + shape.str(), held_from_json, [&] {
      return bench.held(shape, {knobs.b2b_s, 2 * knobs.b2b_s, 0.5});
    });
    if (sample.outcome.state == OutcomeState::skipped && bench.interrupted()) break;
    ++finals;
    run.held.push_back(sample);
    observer.held(sample);
    if (!sample.outcome.ok()) {
      fate(shape, "held", std::string(outcome_name(sample.outcome.state)), sample.outcome.reason);
      continue;
    }
    algorithms[shape] = sample.algorithm;
    if (best == nullptr || sample.tflops() > best->tflops()) best = &run.held.back();
  }
  end_phase();
  if (best == nullptr) return;
  observer.winner("held", best->shape, "back to back");
  publish(held_headline(*best));
}

Headline Finder::State::held_headline(const HeldSample& sample) const {
  Headline out;
  out.regime = Regime::back_to_back;
  out.shape = sample.shape;
  out.tflops = sample.tflops();
  const WindowFacts& window = sample.window;
  out.power_w = window.sensors.power_w;
  out.clock_mhz = window.sensors.clock_mean_mhz;
  if (window.device_clock_precise) out.device_clock_mhz = window.device_clock_mhz;
  out.temperature_c = window.sensors.temperature_c;
  out.reasons = window.sensors.reasons;
  out.duty = window.duty;
  out.joules_per_tflop = sample.joules_per_tflop();
  const double product_flop = sample.shape.flop() * sample.chunk_products;
  for (double seconds : sample.chunk_seconds)
    if (seconds > 0) out.runs.push_back(product_flop / seconds / 1e12);
  out.spread_percent = stats::spread_percent(out.runs);
  const bool evidence = (window.sensors.clock_mean_mhz || window.device_clock_mhz) && sample.steady;
  out.trust = evidence ? Trust::validated : Trust::unvalidated;
  out.notes.push_back(fmt::format(
      "Held {:.1f} s with no gap on {} operand sets of {:.0f} MB after {:.1f} s of warm-up.",
      window.span_s, sample.operand_sets, static_cast<double>(sample.set_bytes) / 1e6,
      sample.warm_s));
  if (!sample.steady) out.notes.push_back("The rate was still drifting when the window began.");
  return out;
}

}  // namespace gemmpeak
