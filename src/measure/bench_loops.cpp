// The saturated loop (M2..M4) and the boost burst (M5).
#include <algorithm>
#include <cmath>
#include <limits>

#include "measure/bench_core.hpp"

namespace gemmpeak {
namespace {

using measure::Core;
using measure::Evidence;
using measure::LoopTimes;
using measure::Queued;
using measure::QueueRequest;
using measure::Ready;

// A burst's watts are believed where it lasted at least this many refreshes of the power sensor.
constexpr double kRefreshes = 2.0;

Evidence evidence_of(const Ready& ready, const LoopTimes& times, const Queued& queued) {
  Evidence out;
  out.span_s = times.span_s;
  out.host_s = queued.end_s - queued.begin_s;
  out.marks_in_order = times.in_order;
  const auto fastest = std::min_element(times.seconds.begin(), times.seconds.end());
  if (fastest != times.seconds.end() && *fastest > 0)
    out.fastest_flop_per_s = ready.shape.flop() / *fastest;
  return out;
}

void fill_window(WindowFacts& window, const LoopTimes& times, const Queued& queued,
                 const std::vector<Reading>& readings) {
  window.begin_s = queued.begin_s;
  window.host_s = queued.end_s - queued.begin_s;
  window.span_s = times.span_s;
  window.duty = times.timed_span_s > 0 ? times.products_s() / times.timed_span_s : 0;
  window.sensors = summarise(readings);
}

// One attempt at a saturated loop. `late`: the host came back so late that the loop should be
// repeated before it is called untrusted.
LoopSample saturated_once(Core& core, GemmShape shape, const LoopRequest& request, bool* late) {
  *late = false;
  LoopSample out;
  out.shape = shape;
  const Ready ready = core.ready(shape, request.rank, 1, true);
  out.algorithm = ready.algorithm;
  out.outcome = ready.outcome;
  if (!out.outcome.ok()) return out;
  const auto counts = core.bounded(ready, request.warmup, request.iterations);
  if (!counts) {
    out.outcome = measure::outcome_of(counts.error());
    return out;
  }
  const auto [warmup, iterations] = *counts;

  Sampler sampler(core.telemetry, [&core] { return core.device.now_s(); });
  // Scouts read power and clock only: the end of the loop waits for a reading under way.
  sampler.start(measure::kLoopPeriod_s, static_cast<bool>(request.while_running));
  const auto queued =
      core.queue_iterations(ready, QueueRequest{warmup, iterations, false, &request.while_running});
  const auto readings = sampler.stop();
  if (!queued) {
    out.outcome = measure::outcome_of(queued.error());
    return out;
  }
  const auto times = core.loop_times(*queued, warmup);
  if (!times) {
    out.outcome = measure::outcome_of(times.error());
    return out;
  }
  out.seconds = times->seconds;
  fill_window(out.window, *times, *queued, readings);
  if (queued->interrupted) {
    out.outcome = measure::interrupted_outcome();
    return out;
  }
  core.set_device_clock(out.window, 0, 1);
  core.learn(ready, *times, queued->iterations);
  Evidence evidence = evidence_of(ready, *times, *queued);
  evidence.judge_host = !request.while_running;
  *late = measure::host_was_late(evidence);
  if (auto why = measure::distrust(core.device.info(), core.settings.dtype, out.window, evidence))
    out.outcome = {OutcomeState::untrusted, *std::move(why)};
  return out;
}

// The reading nearest to `t` among those with a clock.
const Reading* nearest(const std::vector<Reading>& readings, double t) {
  const Reading* best = nullptr;
  for (const Reading& reading : readings)
    if (reading.clock_mhz &&
        (best == nullptr || std::abs(reading.t_s - t) < std::abs(best->t_s - t)))
      best = &reading;
  return best;
}

// M5: lowest clock and mean power among the readings inside [from_s, to_s] of the host's clock,
// else those of the nearest reading.
void attribute(BurstIteration& out, const std::vector<Reading>& readings, double from_s,
               double to_s) {
  double power_w = 0;
  int powers = 0;
  bool inside = false;
  for (const Reading& reading : readings) {
    if (reading.t_s < from_s || reading.t_s > to_s || !reading.clock_mhz) continue;
    inside = true;
    out.clock_mhz = std::min(out.clock_mhz.value_or(*reading.clock_mhz), *reading.clock_mhz);
    if (!reading.power_w) continue;
    power_w += *reading.power_w;
    ++powers;
  }
  if (powers > 0) out.power_w = power_w / powers;
  if (inside) return;
  const Reading* reading = nearest(readings, (from_s + to_s) / 2);
  if (reading == nullptr) return;
  out.clock_mhz = reading->clock_mhz;
  out.power_w = reading->power_w;
}

// The device's own clock around iteration `i`: between the stamps on its two sides, or, where those
// are too close for the device's timer, between the nearest ones that are far enough apart.
std::optional<double> device_clock_around(Core& core, int i, int iterations) {
  if (!core.device.has_stamps()) return std::nullopt;
  int from = i;
  int to = i + 1;
  for (;;) {
    const auto clock = core.stream->clock_between(from, to);
    if (clock && clock->precise) return clock->mhz;
    if (from == 0 && to == iterations) return std::nullopt;
    from = std::max(from - 1, 0);
    to = std::min(to + 1, iterations);
  }
}

void attribute_all(Core& core, BurstSample& out, const LoopTimes& times, const Queued& queued,
                   const std::vector<Reading>& readings) {
  // The wait returned when the last end mark was passed: that ties the marks to the host's clock.
  const double origin_s = queued.end_s - times.span_s;
  for (std::size_t i = 0; i < times.seconds.size(); ++i) {
    BurstIteration iteration;
    iteration.seconds = times.seconds[i];
    const double from_s = origin_s + times.starts_s[i];
    attribute(iteration, readings, from_s, from_s + iteration.seconds);
    iteration.device_clock_mhz =
        device_clock_around(core, static_cast<int>(i), static_cast<int>(times.seconds.size()));
    out.iterations.push_back(iteration);
  }
}

BurstSample burst_once(Core& core, GemmShape shape, const BurstRequest& request, bool* late) {
  *late = false;
  BurstSample out;
  out.shape = shape;
  const Ready ready = core.ready(shape, request.rank, 1, true);
  out.algorithm = ready.algorithm;
  out.outcome = ready.outcome;
  if (!out.outcome.ok()) return out;
  const auto counts = core.bounded(ready, 0, request.iterations);
  if (!counts) {
    out.outcome = measure::outcome_of(counts.error());
    return out;
  }
  // Everything is in place; the clock recovers while nothing runs.
  if (auto idle = core.stream->synchronize(); !idle) {
    out.outcome = measure::outcome_of(idle.error());
    return out;
  }
  core.idle(request.idle_s);
  if (core.interrupted()) {
    out.outcome = measure::interrupted_outcome();
    return out;
  }
  Sampler sampler(core.telemetry, [&core] { return core.device.now_s(); });
  sampler.start(measure::kBurstPeriod_s, true);
  const auto queued = core.queue_iterations(ready, QueueRequest{0, counts->second, true, nullptr});
  const auto readings = sampler.stop();
  if (!queued) {
    out.outcome = measure::outcome_of(queued.error());
    return out;
  }
  const auto times = core.loop_times(*queued, 0);
  if (!times) {
    out.outcome = measure::outcome_of(times.error());
    return out;
  }
  fill_window(out.window, *times, *queued, readings);
  if (core.telemetry != nullptr) {
    // The burst's own readings are light; what changes slowly is read once behind it.
    const Reading after = core.telemetry->read(false);
    out.window.sensors.temperature_c = after.temperature_c;
    out.window.sensors.reasons = after.reasons;
  }
  attribute_all(core, out, *times, *queued, readings);
  if (queued->interrupted) {
    out.outcome = measure::interrupted_outcome();
    return out;
  }
  core.set_device_clock(out.window, 0, queued->iterations);
  const double refresh_s = core.telemetry == nullptr ? 0 : core.telemetry->info().power_refresh_s;
  out.power_resolved = refresh_s > 0 && out.window.span_s > kRefreshes * refresh_s;
  core.learn(ready, *times, queued->iterations);
  const Evidence evidence = evidence_of(ready, *times, *queued);
  *late = measure::host_was_late(evidence);
  if (auto why = measure::distrust(core.device.info(), core.settings.dtype, out.window, evidence))
    out.outcome = {OutcomeState::untrusted, *std::move(why)};
  return out;
}

}  // namespace

LoopSample Bench::saturated(GemmShape shape, const LoopRequest& request) {
  bool late = false;
  LoopSample out = saturated_once(state_->core, shape, request, &late);
  // A host that was busy elsewhere when the loop ended is no evidence against the device: once
  // more.
  if (late) out = saturated_once(state_->core, shape, request, &late);
  return out;
}

BurstSample Bench::burst(GemmShape shape, const BurstRequest& request) {
  bool late = false;
  BurstSample out = burst_once(state_->core, shape, request, &late);
  if (late) out = burst_once(state_->core, shape, request, &late);
  return out;
}

}  // namespace gemmpeak
