// Bench: measures products on one device by the protocols of docs/measuring.md: saturated loop,
// boost burst, held back to back, warm-up, soak, verification. It is the only reader of clocks in
// the project. Used by find and tune. It keeps plans, marks and operand buffers between calls, so
// that nothing is allocated, planned or described inside a timed region. It refuses to judge: which
// shape wins is search's and find's business; a failure is an Outcome in the sample, never an
// exception.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backend/device.hpp"
#include "model/knobs.hpp"
#include "model/sample.hpp"
#include "telemetry/telemetry.hpp"

namespace gemmpeak {

struct BenchSettings {
  DType dtype = DType::bfloat16;
  DType output = DType::bfloat16;
  Layout layout = Layout::tn;
  DataKind data = DataKind::normal;
  bool fast_accumulation = false;
  std::uint64_t seed = 20240117;
  std::int64_t flush_bytes = 256LL << 20;
  double loop_max_s =
      0;  // bound of one loop: iterations are cut (never under 3) to keep it; 0: none
  std::int64_t max_workspace_bytes = 32LL << 20;
};

// Lets the Bench choose: the library's default, or on a CPU with several providers the one that a
// short trial (outside any timed region, once a shape) finds the fastest.
inline constexpr int kAutomaticRank = -1;

struct LoopRequest {
  int warmup = 0;
  int iterations = 0;
  // Called once everything is queued, while the device works (the next plan is made there). A loop
  // with it set is not judged against the host clock.
  std::function<void()> while_running;
  int rank = kAutomaticRank;
};

struct BurstRequest {
  int iterations = 0;
  double idle_s = 0;
  int rank = kAutomaticRank;
};

struct HeldRequest {
  double window_s = 4;
  double warm_max_s = 8;  // stop warming when rate and clock are steady, at the latest after this
  double warm_min_s = 0.2;
  int rank = kAutomaticRank;
};

struct WarmUpReport {
  bool plateaued = false;
  double seconds = 0;
  int products = 0;
  std::optional<double> clock_mhz;
  std::optional<double> power_w;
};

class Bench {
 public:
  // `device` and `telemetry` (may be null) outlive the Bench. `stop`: set from a signal handler;
  // every loop checks it between units of at most about 100 ms of queued work and then returns what
  // it has with outcome skipped("interrupted").
  Bench(Device& device, Telemetry* telemetry, BenchSettings settings, const std::atomic<int>* stop);
  ~Bench();

  GemmProblem problem(GemmShape shape) const;
  // Bytes needed for one loop on this shape, flush buffer and workspace included (M8).
  std::int64_t bytes_needed(GemmShape shape) const;
  // Nothing where it fits in 90 % of the memory free now plus what the Bench holds already.
  std::optional<std::string> does_not_fit(GemmShape shape);
  // Allocates and fills the operand arenas for shapes up to this once, so that later ones reuse it.
  // Where that fails nothing is lost: arenas then grow with the shapes.
  Result<void> reserve_for(GemmShape largest);
  // Makes (or finds) the plan now. It never runs anything, so it may be called while a loop runs.
  Outcome prepare(GemmShape shape, int rank = kAutomaticRank);

  LoopSample saturated(GemmShape shape, const LoopRequest& request);
  BurstSample burst(GemmShape shape, const BurstRequest& request);
  HeldSample held(GemmShape shape, const HeldRequest& request);
  VerifyRecord verify(GemmShape shape, int rank = kAutomaticRank);

  // M6: chunks of 25 saturated products until the last 4 chunks vary < 2 % and drift < 1 % against
  // the 4 before, at least min_s and at most max_s. `progress(seconds, tflops)` after each chunk.
  WarmUpReport warm_up(GemmShape shape, double min_s, double max_s,
                       const std::function<void(double, double)>& progress);
  WarmUpReport warm_up_fixed(GemmShape shape, double seconds,
                             const std::function<void(double, double)>& progress);
  // F3: bursts of 100 back-to-back products of min(8192, largest)^3 in bf16 (or the dtype measured
  // where bf16 is not to be had) until the clock has not fallen by more than 5 MHz for 3 ticks.
  WarmUpReport soak(GemmShape shape, double max_s,
                    const std::function<void(double, std::optional<double>)>& progress);

  // Leaves the device idle for `seconds` of its own clock.
  void rest(double seconds);

  Device& device() { return device_; }
  Telemetry* telemetry() { return telemetry_; }
  const BenchSettings& settings() const { return settings_; }
  double now_s() { return device_.now_s(); }
  bool interrupted() const { return stop_ != nullptr && stop_->load() != 0; }

 private:
  struct State;
  Device& device_;
  Telemetry* telemetry_;
  BenchSettings settings_;
  const std::atomic<int>* stop_;
  std::unique_ptr<State> state_;
};

// The tolerance of a verification and its bound in words (M7); sources in bench_verify.cpp.
Tolerance verification_tolerance(const GemmProblem& problem, std::string* words);
// A flush size for this device: at least 256 MiB on accelerators, following the last-level cache.
std::int64_t default_flush_bytes(const DeviceInfo& device);

}  // namespace gemmpeak
