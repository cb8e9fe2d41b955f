#include "backends/sim/sim_machine.hpp"

#include <algorithm>
#include <cmath>

namespace gemmpeak::sim {
namespace {

// Work and idling are stepped at most this long, well under the governor's time constants.
constexpr double kStep_s = 0.004;
// Once everything has settled an idle device may be stepped in larger pieces.
constexpr double kIdleStep_s = 0.05;
// Operations shorter than this share one record, so that history stays small; sensors are slower.
constexpr double kRecord_s = 1e-4;
// Windows asked of the telemetry are seconds long; older records are dropped.
constexpr double kHistory_s = 40.0;

}  // namespace

Machine::Machine(const SimSpec& spec)
    : spec_(spec),
      clock_mhz_(spec.boost_mhz),
      temperature_c_(spec.ambient_c + spec.resistance_c_per_w * (spec.idle_w + spec.leakage_w)) {
  // The device has been idle for a second when the program meets it, so that sensors have a past.
  host_s_ = 1.0;
  idle_until(host_s_);
}

void Machine::step(double dt, const Activity& activity) {
  const double leakage =
      spec_.leakage_w * std::exp(spec_.leakage_per_c * (temperature_c_ - spec_.ambient_c));
  const double base_w = spec_.idle_w + leakage;
  const double filter = 1 - std::exp(-dt / spec_.governor_filter_s);
  filtered_dynamic_w_ += (activity.dynamic_w - filtered_dynamic_w_) * filter;
  filtered_memory_w_ += (activity.memory_w - filtered_memory_w_) * filter;

  // The highest clock at which the averaged demand stays under the cap: power falls with the cube.
  const double budget = std::max(spec_.power_cap_w - base_w - filtered_memory_w_, 1.0);
  double target = spec_.boost_mhz;
  if (filtered_dynamic_w_ > budget) target *= std::cbrt(budget / filtered_dynamic_w_);
  capped_ = target < 0.995 * spec_.boost_mhz;
  hot_ = temperature_c_ > spec_.slowdown_c;
  if (hot_) target *= std::max(0.5, 1 - 0.05 * (temperature_c_ - spec_.slowdown_c));
  target = std::max(target, spec_.lowest_mhz);
  const double lag = target < clock_mhz_ ? spec_.clock_down_s : spec_.clock_up_s;
  clock_mhz_ += (target - clock_mhz_) * (1 - std::exp(-dt / lag));

  const double ratio = clock_mhz_ / spec_.boost_mhz;
  const double power = base_w + activity.dynamic_w * ratio * ratio * ratio + activity.memory_w;
  record({device_s_, device_s_ + dt, energy_j_, power, clock_mhz_, temperature_c_, activity.idle,
          capped_, hot_});
  energy_j_ += power * dt;
  cycles_ += clock_mhz_ * 1e6 * dt;
  const double settled = spec_.ambient_c + spec_.resistance_c_per_w * power;
  temperature_c_ += (settled - temperature_c_) * (1 - std::exp(-dt / spec_.inertia_s));
  device_s_ += dt;
}

void Machine::idle_until(double t) {
  // The first 0.2 s in fine steps (the clock recovers), the rest in coarse ones.
  double fine_s = 0.2;
  while (device_s_ < t) {
    const double dt = std::min(t - device_s_, fine_s > 0 ? kStep_s : kIdleStep_s);
    step(dt, Activity{0, 0, true});
    fine_s -= dt;
    if (dt < 1e-12) break;  // below the resolution of the time itself
  }
}

void Machine::reach_queue_place() {
  if (host_s_ > device_s_) idle_until(host_s_);
}

void Machine::run(const Work& work) {
  double left = 1.0;  // share of the work still to do
  while (left > 1e-9) {
    const double compute_s = work.cycles / (clock_mhz_ * 1e6);
    const double whole_s = std::max(compute_s, work.memory_s) + work.fixed_s;
    if (whole_s <= 0) return;
    const double dt = std::min(left * whole_s, kStep_s);
    Activity activity;
    activity.memory_w = work.bytes * spec_.joules_per_byte / whole_s;
    if (work.flop_joules > 0) {
      // Energy per flop falls with the square of the clock, the rate with the clock where compute
      // bounds it; step() applies the cube, so a memory-bound rate is scaled up here.
      const double ratio = clock_mhz_ / spec_.boost_mhz;
      activity.dynamic_w = work.flop_joules / whole_s / ratio;
    }
    step(dt, activity);
    left -= dt / whole_s;
  }
}

void Machine::record(const Segment& segment) {
  if (!history_.empty()) {
    Segment& last = history_.back();
    const double length = last.end_s - last.begin_s;
    if (last.idle == segment.idle && length + (segment.end_s - segment.begin_s) < kRecord_s &&
        std::abs(last.end_s - segment.begin_s) < 1e-12) {
      const double added = segment.end_s - segment.begin_s;
      const double share = added / (length + added);
      last.power_w += (segment.power_w - last.power_w) * share;
      last.clock_mhz += (segment.clock_mhz - last.clock_mhz) * share;
      last.end_s = segment.end_s;
      last.capped |= segment.capped;
      last.hot |= segment.hot;
      return;
    }
  }
  history_.push_back(segment);
  while (history_.front().end_s < segment.end_s - kHistory_s) history_.pop_front();
}

const Machine::Segment* Machine::segment_at(double t) const {
  if (history_.empty()) return nullptr;
  auto after = std::upper_bound(history_.begin(), history_.end(), t,
                                [](double x, const Segment& s) { return x < s.begin_s; });
  return after == history_.begin() ? &*after : &*std::prev(after);
}

double Machine::energy_at(double t) const {
  const Segment* segment = segment_at(t);
  if (segment == nullptr || t <= 0) return 0;
  return segment->energy_j + segment->power_w * (std::min(t, segment->end_s) - segment->begin_s);
}

Reading Machine::reading(double t) {
  if (t > device_s_) idle_until(t);
  Reading out;
  out.t_s = t;
  const Segment* segment = segment_at(t);
  if (segment == nullptr || !spec_.telemetry || t >= spec_.telemetry_fails_at_s) return out;
  if (spec_.power_sensor) {
    const double from = std::max(t - spec_.power_refresh_s, history_.front().begin_s);
    out.power_w =
        t - from > 1e-9 ? (energy_at(t) - energy_at(from)) / (t - from) : segment->power_w;
  }
  if (spec_.clock_sensor) {
    const double step_mhz = spec_.clock_step_mhz;
    out.clock_mhz =
        step_mhz > 0 ? std::round(segment->clock_mhz / step_mhz) * step_mhz : segment->clock_mhz;
  }
  out.temperature_c = std::round(segment->temperature_c);
  if (spec_.energy_counter) out.energy_j = energy_at(t);
  std::uint64_t reasons = spec_.extra_reasons;
  if (segment->idle) reasons |= 0x1;
  if (segment->capped && !segment->idle) reasons |= 0x4;
  if (segment->hot) reasons |= 0x20;
  out.reasons = reasons;
  return out;
}

}  // namespace gemmpeak::sim
