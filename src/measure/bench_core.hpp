// Core: what every loop of Bench shares: the stream, plans, operands, the estimate of how long an
// iteration takes, and the stop flag. Used by the bench_*.cpp files only. Everything here happens
// outside timed regions, apart from queue_iterations(), which is the timed region.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "measure/bench.hpp"
#include "measure/operand_pool.hpp"
#include "measure/trust.hpp"

namespace gemmpeak::measure {

// Sampling periods: the reference's 20 ms for loops that last, 0.5 ms for bursts (M4, M5).
inline constexpr double kLoopPeriod_s = 0.020;
inline constexpr double kBurstPeriod_s = 0.0005;
// A stop request waits for at most about this much queued work.
inline constexpr double kQueued_s = 0.1;
// Loops shorter than this are queued as a whole, as the reference does.
inline constexpr double kUnbroken_s = 1.0;

Outcome interrupted_outcome();
// How a failure is recorded: running out of memory by its own name, everything else as `otherwise`.
Outcome outcome_of(const Error& error, OutcomeState otherwise = OutcomeState::error);

// Everything one loop needs, made outside of it.
struct Ready {
  Outcome outcome;
  const GemmPlan* plan = nullptr;
  std::string algorithm;  // "provider name"
  GemmShape shape;
  OperandSizes sizes;
  Operands operands;
  View random_c;
};

struct QueueRequest {
  int warmup = 0;
  int iterations = 0;
  bool stamp_each = false;  // after every end mark; else at the edges of the timed part
  const std::function<void()>* while_running = nullptr;
};
// Marks of a queued loop: the begin mark, then start and end of each iteration.
inline constexpr Mark kBeginMark = 0;
inline Mark start_mark(int iteration) { return 1 + 2 * iteration; }
inline Mark end_mark(int iteration) { return 2 + 2 * iteration; }

struct Queued {
  int iterations = 0;  // queued and done, warm-up included
  bool interrupted = false;
  double begin_s = 0;  // host clock before the first enqueue
  double end_s = 0;    // host clock when the wait returned
};

// The times of a queued loop, read from its marks.
struct LoopTimes {
  double span_s = 0;        // begin mark to the last end mark
  double timed_span_s = 0;  // from the last warm-up iteration's end
  bool in_order = true;
  std::vector<double> starts_s;  // since the begin mark, timed iterations
  std::vector<double> seconds;   // products, timed iterations
  double products_s() const;
};

class Core {
 public:
  Core(Device& device, Telemetry* telemetry, const BenchSettings& settings,
       const std::atomic<int>* stop);

  Device& device;
  Telemetry* telemetry;
  const BenchSettings& settings;
  OperandPool pool;
  std::unique_ptr<Stream> stream;

  bool interrupted() const { return stop_ != nullptr && stop_->load() != 0; }
  // Not ok where nothing may be started: interrupted, dead, or no stream.
  Outcome may_start();
  GemmProblem problem(GemmShape shape) const;

  // Makes or finds a plan. `plan` is null unless the outcome is ok.
  Outcome find_plan(const GemmProblem& problem, int rank, const GemmPlan** plan);
  // Plans of every rank that an automatic choice may try, so that choosing costs no planning.
  Outcome prepare(GemmShape shape, int rank);
  // Plan, operands for `sets` sets, flush buffer and marks, all in place.
  Ready ready(GemmShape shape, int rank, int sets, bool with_random_c);

  // The timed region: flush, copy of C, start mark, product, end mark, for each iteration; one wait
  // at the end. Marks and stamps are reserved here before the first enqueue.
  Result<Queued> queue_iterations(const Ready& ready, const QueueRequest& request);
  Result<LoopTimes> loop_times(const Queued& queued, int warmup);
  void set_device_clock(WindowFacts& window, int first_stamp, int last_stamp);

  // Warm-up and timed iterations cut to settings.loop_max_s, never under 3 timed ones.
  Result<std::pair<int, int>> bounded(const Ready& ready, int warmup, int iterations);
  // What a loop taught about this device, for estimates of the next ones.
  void learn(const Ready& ready, const LoopTimes& times, int iterations);
  // Seconds of one iteration with flush and copy; 0 where nothing is known yet.
  double estimate_s(const Ready& ready) const;
  // Waits for `seconds` on the device's clock, looking at the stop flag.
  void idle(double seconds);
  // Seconds of `products` products queued back to back.
  Result<double> time_products(const GemmPlan& plan, const Operands& operands, int products);

 private:
  struct Planned {
    std::unique_ptr<GemmPlan> plan;
    Outcome outcome;
  };
  using PlanKey = std::tuple<GemmShape, DType, DType, Layout, bool, int>;
  bool chooses_provider(GemmShape shape);
  int choose_provider(GemmShape shape);
  Result<void> enqueue_iteration(const Ready& ready, int iteration);
  Result<void> enqueue_all(const Ready& ready, const QueueRequest& request, Queued& out);

  const std::atomic<int>* stop_;
  Outcome stream_outcome_;
  std::map<PlanKey, Planned> plans_;
  std::map<GemmShape, int> providers_;   // ranks the library offers, on CPUs
  std::map<GemmShape, int> chosen_;      // the provider found fastest
  std::map<GemmShape, double> trial_s_;  // one whole iteration, where loop_max_s bounds loops
  double best_flop_per_s_ = 0;
  double gap_bytes_per_s_ = 0;  // flush and copy
};

}  // namespace gemmpeak::measure

namespace gemmpeak {

struct Bench::State {
  measure::Core core;
  std::int64_t usable_bytes = 0;  // free or held, when last asked
  double usable_at_s = -1e9;
};

}  // namespace gemmpeak
