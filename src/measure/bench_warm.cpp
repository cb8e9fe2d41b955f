// Warm-up (M6) and thermal soak (F3).
#include <algorithm>

#include "measure/bench_core.hpp"
#include "stats/stats.hpp"

namespace gemmpeak {
namespace {

using measure::Core;

// M6: the reference's chunk of products, window of chunks, and thresholds.
constexpr int kChunkProducts = 25;
constexpr int kWindow = 4;
constexpr double kMaxVariation = 0.02;
constexpr double kMaxDrift = 0.01;
// F3: products a tick, the side of the square, the clock's fall that still counts as settled, and
// for how many ticks.
constexpr int kSoakProducts = 100;
constexpr std::int64_t kSoakSide = 8192;
constexpr double kSettled_mhz = 5;
constexpr int kSettledTicks = 3;
// A tick on a slow device is shorter than 100 products; it should still answer a stop request.
constexpr double kSlowTick_s = 0.3;
// Small enough for any device to time in milliseconds, large enough to tell its rate.
constexpr std::int64_t kProbeSide = 512;

void read_sensors(Core& core, WarmUpReport& report) {
  if (core.telemetry == nullptr) return;
  const Reading now = core.telemetry->read(true);
  report.clock_mhz = now.clock_mhz;
  report.power_w = now.power_w;
}

// Operands of the soak: the pool's own where it holds the same types, else its own for the while.
struct Soak {
  GemmProblem problem;
  std::unique_ptr<measure::OperandPool> own;
  const GemmPlan* plan = nullptr;
  Operands operands;
  int products = 0;  // a tick
};

bool set_up(Core& core, Soak& soak, std::int64_t side) {
  soak.problem.shape = {side, side, side};
  if (!core.find_plan(soak.problem, 0, &soak.plan).ok()) return false;
  measure::OperandPool& pool = soak.own ? *soak.own : core.pool;
  const OperandSizes sizes = core.device.operand_sizes(soak.problem);
  if (!pool.hold(sizes, 1, false)) return false;
  soak.operands = pool.operands(sizes);
  return true;
}

// Chooses type and size; false where nothing can be run.
bool prepare_soak(Core& core, std::int64_t largest, Soak& soak) {
  const bool bf16 = core.device.capability(DType::bfloat16).supported;
  soak.problem = bf16 ? reference_problem(DType::bfloat16, {}) : core.problem({});
  if (soak.problem.dtype != core.settings.dtype || soak.problem.output != core.settings.output)
    soak.own =
        std::make_unique<measure::OperandPool>(core.device, soak.problem.dtype, soak.problem.output,
                                               core.settings.data, core.settings.seed, 0);
  const std::int64_t full = std::min(kSoakSide, largest);
  const std::int64_t probe = std::min(kProbeSide, full);
  double flop_per_s = 0;
  if (core.device.info().kind == DeviceKind::cpu && set_up(core, soak, probe)) {
    (void)core.time_products(*soak.plan, soak.operands, 1);
    if (const auto seconds = core.time_products(*soak.plan, soak.operands, 1);
        seconds && *seconds > 0)
      flop_per_s = soak.problem.shape.flop() / *seconds;
  }
  // The largest square whose product is a tick at most, halved until it also fits in the memory.
  for (std::int64_t side = full; side >= 1; side /= 2) {
    const double flop = GemmShape{side, side, side}.flop();
    if (flop_per_s > 0 && flop / flop_per_s > kSlowTick_s && side > probe) continue;
    if (!set_up(core, soak, side)) continue;
    (void)core.time_products(*soak.plan, soak.operands, 1);
    const auto seconds = core.time_products(*soak.plan, soak.operands, 1);
    if (!seconds) return false;
    soak.products =
        std::clamp(static_cast<int>(kSlowTick_s / std::max(*seconds, 1e-9)), 1, kSoakProducts);
    return true;
  }
  return false;
}

WarmUpReport warm(Bench& bench, Core& core, GemmShape shape, double min_s, double max_s,
                  bool adaptive, const std::function<void(double, double)>& progress) {
  WarmUpReport report;
  std::vector<double> history;
  const double begin_s = core.device.now_s();
  while (report.seconds < max_s) {
    const LoopRequest chunk{0, kChunkProducts, {}, kAutomaticRank};
    const LoopSample sample = bench.saturated(shape, chunk);
    report.seconds = core.device.now_s() - begin_s;
    if (sample.seconds.empty()) break;  // cannot run here: the caller's first loop will say why
    report.products += static_cast<int>(sample.seconds.size());
    history.push_back(sample.mean_tflops());
    if (progress) progress(report.seconds, history.back());
    if (core.interrupted()) break;
    report.plateaued = stats::plateaued(history, kWindow, kMaxVariation, kMaxDrift);
    if (adaptive && report.plateaued && report.seconds >= min_s) break;
  }
  read_sensors(core, report);
  return report;
}

}  // namespace

WarmUpReport Bench::warm_up(GemmShape shape, double min_s, double max_s,
                            const std::function<void(double, double)>& progress) {
  return warm(*this, state_->core, shape, min_s, max_s, true, progress);
}

WarmUpReport Bench::warm_up_fixed(GemmShape shape, double seconds,
                                  const std::function<void(double, double)>& progress) {
  return warm(*this, state_->core, shape, seconds, seconds, false, progress);
}

WarmUpReport Bench::soak(GemmShape shape, double max_s,
                         const std::function<void(double, std::optional<double>)>& progress) {
  Core& core = state_->core;
  WarmUpReport report;
  Soak soak;
  if (!core.may_start().ok() || max_s <= 0) return report;
  if (!prepare_soak(core, std::max({shape.m, shape.n, shape.k}), soak)) return report;
  const double begin_s = core.device.now_s();
  std::optional<double> previous_mhz;
  int settled = 0;
  while (report.seconds < max_s && !core.interrupted()) {
    if (!core.time_products(*soak.plan, soak.operands, soak.products)) break;
    report.products += soak.products;
    report.seconds = core.device.now_s() - begin_s;
    const auto mhz =
        core.telemetry == nullptr ? std::nullopt : core.telemetry->read(true).clock_mhz;
    if (progress) progress(report.seconds, mhz);
    if (core.telemetry == nullptr) continue;
    settled = mhz && previous_mhz && *mhz >= *previous_mhz - kSettled_mhz ? settled + 1 : 0;
    previous_mhz = mhz;
    if (settled >= kSettledTicks) {
      report.plateaued = true;
      break;
    }
  }
  read_sensors(core, report);
  return report;
}

}  // namespace gemmpeak
