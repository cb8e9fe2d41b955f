// Back to back: products without a gap on rotating operand sets, for seconds.
#include <algorithm>
#include <cmath>
#include <deque>

#include "measure/bench_core.hpp"
#include "stats/stats.hpp"

namespace gemmpeak {
namespace {

using measure::Core;
using measure::Evidence;
using measure::Ready;

// Chunks between marks: long against a mark's resolution and cost, short against the 100 ms that
// may be queued ahead.
constexpr double kChunk_s = 0.025;
// Warm: the rate of the last 8 chunks (0.2 s) varies by less than 1 %, and the mean clock of the
// later 4 lies within 10 MHz of the 4 before. Means, because a power-capped clock hops by its
// steps.
constexpr std::size_t kSteadyChunks = 8;
constexpr double kSteadyVariation = 0.01;
constexpr double kSteadyClock_mhz = 10;
// Operand sets together are at least twice the last-level cache (NVIDIA's CUTLASS measurement
// guidelines), so that no product finds its operands cached.
constexpr int kCacheMultiple = 2;
constexpr int kMostSets = 4096;
constexpr double kMemoryShare = 0.9;

std::int64_t set_bytes(const OperandSizes& sizes) {
  return measure::set_stride_bytes(sizes.a) + measure::set_stride_bytes(sizes.b) +
         measure::set_stride_bytes(sizes.c);
}

// As many sets as the cache asks for and the memory holds; under 2: they do not fit.
int operand_sets(Core& core, const OperandSizes& sizes) {
  const std::int64_t each = std::max<std::int64_t>(set_bytes(sizes), 1);
  const std::int64_t cache = kCacheMultiple * core.device.info().llc_bytes;
  std::int64_t sets = std::clamp<std::int64_t>((cache + each - 1) / each, 2, kMostSets);
  if (const auto memory = core.device.memory()) {
    const double usable =
        kMemoryShare * static_cast<double>(memory->free_bytes + core.pool.held_bytes()) -
        static_cast<double>(core.settings.flush_bytes + core.settings.max_workspace_bytes);
    sets = std::min(sets, static_cast<std::int64_t>(usable / static_cast<double>(each)));
  }
  return static_cast<int>(sets);
}

// The running queue of chunks. Chunk i lies between marks i and i + 1, both modulo the ring.
class Conveyor {
 public:
  Conveyor(Core& core, const Ready& ready, int sets, double product_s)
      : core_(core), plan_(*ready.plan) {
    for (int set = 0; set < sets; ++set) operands_.push_back(core.pool.operands(ready.sizes, set));
    products_ = std::max(1, static_cast<int>(std::lround(kChunk_s / product_s)));
    const double chunk_s = products_ * product_s;
    // A CPU works while it enqueues: nothing can be queued ahead of it.
    ahead_ = core.device.info().kind == DeviceKind::cpu
                 ? 1
                 : std::clamp(static_cast<int>(measure::kQueued_s / chunk_s), 2, 16);
  }

  int products() const { return products_; }
  int queued() const { return enqueued_ - completed_; }
  int enqueued() const { return enqueued_; }
  int completed() const { return completed_; }
  bool full() const { return queued() >= ahead_; }

  Result<void> begin() {
    GEMMPEAK_TRY(core_.stream->reserve(ahead_ + 2, 2));
    return core_.stream->enqueue_mark(mark(0));
  }
  Result<void> enqueue() {
    for (int i = 0; i < products_; ++i) {
      GEMMPEAK_TRY(core_.stream->enqueue_gemm(plan_, operands_[next_]));
      next_ = (next_ + 1) % operands_.size();
    }
    ++enqueued_;
    return core_.stream->enqueue_mark(mark(enqueued_));
  }
  // Waits for the oldest chunk: its seconds.
  Result<double> complete() {
    GEMMPEAK_TRY(core_.stream->wait(mark(completed_ + 1)));
    auto seconds = core_.stream->elapsed_s(mark(completed_), mark(completed_ + 1));
    ++completed_;
    return seconds;
  }

 private:
  Mark mark(int chunk) const { return chunk % (ahead_ + 2); }

  Core& core_;
  const GemmPlan& plan_;
  std::vector<Operands> operands_;
  std::size_t next_ = 0;
  int products_ = 1;
  int ahead_ = 2;
  int enqueued_ = 0;
  int completed_ = 0;
};

bool steady(const std::vector<double>& rates, const std::vector<std::optional<double>>& clocks) {
  if (rates.size() < kSteadyChunks) return false;
  const std::span<const double> last(rates.data() + rates.size() - kSteadyChunks, kSteadyChunks);
  if (stats::coefficient_of_variation(last) >= kSteadyVariation) return false;
  std::vector<double> mhz;
  for (std::size_t i = clocks.size() - kSteadyChunks; i < clocks.size(); ++i)
    if (clocks[i]) mhz.push_back(*clocks[i]);
  if (mhz.size() < kSteadyChunks) return true;  // no clock sensor: the rate must do
  const std::span<const double> all(mhz);
  const std::size_t half = kSteadyChunks / 2;
  return std::abs(stats::mean(all.first(half)) - stats::mean(all.last(half))) <= kSteadyClock_mhz;
}

// Everything between the first enqueue and the last wait.
class HeldRun {
 public:
  HeldRun(Core& core, const HeldRequest& request, HeldSample& out, Conveyor& conveyor)
      : core_(core),
        request_(request),
        out_(out),
        conveyor_(conveyor),
        sampler_(core.telemetry, [&core] { return core.device.now_s(); }) {}

  Result<void> run() {
    GEMMPEAK_TRY(conveyor_.begin());
    GEMMPEAK_TRY(warm());
    if (!stopped_) GEMMPEAK_TRY(window());
    while (conveyor_.queued() > 0)
      if (auto drained = conveyor_.complete(); !drained) return drained.error();
    return {};
  }
  bool stopped() const { return stopped_; }
  bool in_order() const { return in_order_; }
  const std::vector<Reading>& readings() const { return readings_; }

 private:
  Result<double> next_chunk() {
    auto seconds = conveyor_.complete();
    if (seconds && !(*seconds > 0)) in_order_ = false;
    return seconds;
  }

  Result<void> warm() {
    std::vector<double> rates;
    std::vector<std::optional<double>> clocks;
    const double begin_s = core_.device.now_s();
    for (;;) {
      while (!conveyor_.full()) GEMMPEAK_TRY(conveyor_.enqueue());
      const auto seconds = next_chunk();
      if (!seconds) return seconds.error();
      rates.push_back(*seconds > 0 ? 1 / *seconds : 0);
      clocks.push_back(core_.telemetry == nullptr ? std::nullopt
                                                  : core_.telemetry->read(true).clock_mhz);
      out_.warm_s = core_.device.now_s() - begin_s;
      out_.steady = steady(rates, clocks);
      stopped_ = core_.interrupted();
      if (stopped_ || out_.warm_s >= request_.warm_max_s) return {};
      if (out_.steady && out_.warm_s >= request_.warm_min_s) return {};
    }
  }

  // The window opens at the last mark enqueued so far: what is queued before it still belongs to
  // the warm-up, and the device never runs dry.
  Result<void> window() {
    GEMMPEAK_TRY(core_.stream->enqueue_stamp(0));
    const int opens_at = conveyor_.enqueued();
    while (conveyor_.completed() < opens_at) {
      while (!conveyor_.full()) GEMMPEAK_TRY(conveyor_.enqueue());
      if (const auto seconds = next_chunk(); !seconds) return seconds.error();
    }
    out_.window.begin_s = core_.device.now_s();
    sampler_.start(measure::kLoopPeriod_s, false);
    const auto measured = window_chunks();
    out_.window.host_s = core_.device.now_s() - out_.window.begin_s;
    readings_ = sampler_.stop();
    return measured;
  }

  Result<void> window_chunks() {
    double span_s = 0;
    double chunk_s = 0;
    bool closing = false;  // once decided nothing more is enqueued, so that no gap comes in
    for (;;) {
      while (!closing && !conveyor_.full()) {
        stopped_ = stopped_ || core_.interrupted();
        closing =
            stopped_ || (chunk_s > 0 && span_s + chunk_s * conveyor_.queued() >= request_.window_s);
        if (closing)
          GEMMPEAK_TRY(core_.stream->enqueue_stamp(1));
        else
          GEMMPEAK_TRY(conveyor_.enqueue());
      }
      if (conveyor_.queued() == 0) break;
      const auto seconds = next_chunk();
      if (!seconds) return seconds.error();
      chunk_s = *seconds;
      span_s += chunk_s;
      out_.chunk_seconds.push_back(chunk_s);
    }
    out_.window.span_s = span_s;
    return {};
  }

  Core& core_;
  const HeldRequest& request_;
  HeldSample& out_;
  Conveyor& conveyor_;
  Sampler sampler_;
  std::vector<Reading> readings_;
  bool stopped_ = false;
  bool in_order_ = true;
};

void judge(Core& core, HeldSample& out, const HeldRun& run) {
  out.window.sensors = summarise(run.readings());
  if (const auto energy = measure::energy_between_steps(run.readings())) {
    out.window.sensors.energy_j = energy->joules;
    out.window.sensors.energy_span_s = energy->span_s;
  }
  out.window.duty = out.window.span_s > 0 ? 1 : 0;  // by construction: nothing else is queued
  if (run.stopped()) {
    out.outcome = measure::interrupted_outcome();
    return;
  }
  core.set_device_clock(out.window, 0, 1);
  Evidence evidence;
  evidence.span_s = out.window.span_s;
  evidence.host_s = out.window.host_s;
  evidence.marks_in_order = run.in_order();
  const auto fastest = std::min_element(out.chunk_seconds.begin(), out.chunk_seconds.end());
  if (fastest != out.chunk_seconds.end() && *fastest > 0)
    evidence.fastest_flop_per_s = out.shape.flop() * out.chunk_products / *fastest;
  if (auto why = measure::distrust(core.device.info(), core.settings.dtype, out.window, evidence))
    out.outcome = {OutcomeState::untrusted, *std::move(why)};
}

}  // namespace

HeldSample Bench::held(GemmShape shape, const HeldRequest& request) {
  Core& core = state_->core;
  HeldSample out;
  out.shape = shape;
  out.outcome = core.may_start();
  if (!out.outcome.ok()) return out;
  const OperandSizes sizes = device_.operand_sizes(problem(shape));
  out.set_bytes = set_bytes(sizes);
  out.operand_sets = operand_sets(core, sizes);
  if (out.operand_sets < 2) {
    out.outcome = {OutcomeState::out_of_memory, "two operand sets do not fit in the memory"};
    return out;
  }
  const Ready ready = core.ready(shape, request.rank, out.operand_sets, false);
  out.algorithm = ready.algorithm;
  out.outcome = ready.outcome;
  if (!out.outcome.ok()) return out;
  const auto product_s = core.time_products(*ready.plan, ready.operands, 1);
  if (!product_s) {
    out.outcome = measure::outcome_of(product_s.error());
    return out;
  }
  Conveyor conveyor(core, ready, out.operand_sets, std::max(*product_s, 1e-6));
  out.chunk_products = conveyor.products();
  HeldRun run(core, request, out, conveyor);
  const auto ran = run.run();
  if (!ran) {
    (void)core.stream->synchronize();
    out.outcome = measure::outcome_of(ran.error());
    return out;
  }
  judge(core, out, run);
  return out;
}

}  // namespace gemmpeak
