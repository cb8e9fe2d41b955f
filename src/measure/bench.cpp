#include "measure/bench.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "measure/bench_core.hpp"

namespace gemmpeak {
namespace {

constexpr std::int64_t kMiB = 1LL << 20;
// M2: the reference's buffer, the least on an accelerator.
constexpr std::int64_t kLeastFlush_bytes = 256 * kMiB;
// A CPU's flush: a shared L3 may be 480 MiB, and writing twice that before each of thousands of
// products would take minutes. 64 MiB clears what one core's share of such a cache holds.
constexpr std::int64_t kMostCpuFlush_bytes = 64 * kMiB;
// M8: the share of the free memory that a shape may use, the reference's.
constexpr double kMemoryShare = 0.9;
// Asking a driver for its memory takes up to a millisecond and a search asks for every shape; what
// is free or held together only changes by other programs.
constexpr double kMemoryAge_s = 1.0;

}  // namespace

std::int64_t default_flush_bytes(const DeviceInfo& device) {
  const std::int64_t cache = std::max<std::int64_t>(device.llc_bytes, 0);
  const std::int64_t twice = (2 * cache + kMiB - 1) / kMiB * kMiB;
  if (device.kind != DeviceKind::cpu) return std::max(kLeastFlush_bytes, twice);
  return twice > 0 ? std::min(kMostCpuFlush_bytes, twice) : kMostCpuFlush_bytes;
}

Bench::Bench(Device& device, Telemetry* telemetry, BenchSettings settings,
             const std::atomic<int>* stop)
    : device_(device),
      telemetry_(telemetry),
      settings_(settings),
      stop_(stop),
      state_(new State{measure::Core(device_, telemetry_, settings_, stop_), 0, -1e9}) {}

Bench::~Bench() {
  if (state_->core.stream && !device_.dead()) (void)state_->core.stream->synchronize();
}

GemmProblem Bench::problem(GemmShape shape) const { return state_->core.problem(shape); }

std::int64_t Bench::bytes_needed(GemmShape shape) const {
  const OperandSizes sizes = device_.operand_sizes(problem(shape));
  return sizes.total() + sizes.c + settings_.flush_bytes + settings_.max_workspace_bytes;
}

std::optional<std::string> Bench::does_not_fit(GemmShape shape) {
  State& s = *state_;
  if (device_.now_s() - s.usable_at_s > kMemoryAge_s) {
    const auto memory = device_.memory();
    // Unknown: trying is the only way to know, as in the reference.
    if (!memory) return std::nullopt;
    s.usable_bytes = memory->free_bytes + s.core.pool.held_bytes();
    s.usable_at_s = device_.now_s();
  }
  const std::int64_t needed = bytes_needed(shape);
  const double usable = kMemoryShare * static_cast<double>(s.usable_bytes);
  if (static_cast<double>(needed) < usable) return std::nullopt;
  return fmt::format("needs {:.2f} GiB with flush buffer and workspace; {:.2f} GiB are usable",
                     static_cast<double>(needed) / (1 << 30), usable / (1 << 30));
}

Result<void> Bench::reserve_for(GemmShape largest) {
  const OperandSizes sizes = device_.operand_sizes(problem(largest));
  GEMMPEAK_TRY(state_->core.pool.hold(sizes, 1, true));
  return state_->core.pool.hold_flush();
}

void Bench::rest(double seconds) {
  if (seconds > 0) state_->core.idle(seconds);
}

Outcome Bench::prepare(GemmShape shape, int rank) { return state_->core.prepare(shape, rank); }

}  // namespace gemmpeak
