#include "measure/bench_core.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gemmpeak::measure {
namespace {

// A provider is chosen by this many products after one warm-up (only one where a product is slow).
constexpr int kTrialProducts = 3;
constexpr double kSlowProduct_s = 0.3;
constexpr int kLeastTimed = 3;

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

}  // namespace

Outcome interrupted_outcome() { return {OutcomeState::skipped, "interrupted"}; }

Outcome outcome_of(const Error& error, OutcomeState otherwise) {
  const bool memory = lower(error.text).find("out of memory") != std::string::npos;
  return {memory ? OutcomeState::out_of_memory : otherwise, error.message()};
}

double LoopTimes::products_s() const {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

Core::Core(Device& device_, Telemetry* telemetry_, const BenchSettings& settings_,
           const std::atomic<int>* stop)
    : device(device_),
      telemetry(telemetry_),
      settings(settings_),
      pool(device_, settings_.dtype, settings_.output, settings_.data, settings_.seed,
           settings_.flush_bytes),
      stop_(stop) {
  auto made = device.make_stream();
  if (made)
    stream = std::move(*made);
  else
    stream_outcome_ = outcome_of(made.error());
}

Outcome Core::may_start() {
  if (interrupted()) return interrupted_outcome();
  if (device.dead()) return {OutcomeState::error, "the device failed earlier in this run"};
  return stream ? Outcome{} : stream_outcome_;
}

GemmProblem Core::problem(GemmShape shape) const {
  return GemmProblem{shape, settings.dtype, settings.output, settings.layout,
                     settings.fast_accumulation};
}

Outcome Core::find_plan(const GemmProblem& problem, int rank, const GemmPlan** plan) {
  *plan = nullptr;
  const PlanKey key{
      problem.shape, problem.dtype, problem.output, problem.layout, problem.fast_accumulation,
      rank};
  auto found = plans_.find(key);
  if (found == plans_.end()) {
    Planned planned;
    auto made = device.plan(problem, PlanRequest{rank, settings.max_workspace_bytes});
    if (made)
      planned.plan = std::move(*made);
    else
      planned.outcome =
          outcome_of(made.error(), device.dead() ? OutcomeState::error : OutcomeState::unsupported);
    found = plans_.emplace(key, std::move(planned)).first;
  }
  *plan = found->second.plan.get();
  return found->second.outcome;
}

bool Core::chooses_provider(GemmShape shape) {
  if (device.info().kind != DeviceKind::cpu) return false;
  auto known = providers_.find(shape);
  if (known == providers_.end()) {
    const auto count = device.suggestions(problem(shape), settings.max_workspace_bytes);
    known = providers_.emplace(shape, count ? *count : 1).first;
  }
  return known->second > 1;
}

Outcome Core::prepare(GemmShape shape, int rank) {
  const GemmPlan* plan = nullptr;
  if (rank != kAutomaticRank) return find_plan(problem(shape), rank, &plan);
  Outcome outcome = find_plan(problem(shape), 0, &plan);
  if (!chooses_provider(shape)) return outcome;
  for (int r = 1; r < providers_[shape]; ++r) {
    const Outcome other = find_plan(problem(shape), r, &plan);
    if (other.ok()) outcome = other;
  }
  return outcome;
}

int Core::choose_provider(GemmShape shape) {
  if (const auto known = chosen_.find(shape); known != chosen_.end()) return known->second;
  const OperandSizes sizes = device.operand_sizes(problem(shape));
  int best = 0;
  double best_s = 0;
  for (int rank = 0; rank < providers_[shape] && !interrupted(); ++rank) {
    const GemmPlan* plan = nullptr;
    if (!find_plan(problem(shape), rank, &plan).ok()) continue;
    const Operands operands = pool.operands(sizes);
    const auto warm = time_products(*plan, operands, 1);
    if (!warm) continue;
    const int products = *warm > kSlowProduct_s ? 1 : kTrialProducts;
    const auto total = time_products(*plan, operands, products);
    if (!total) continue;
    const double each = *total / products;
    if (best_s == 0 || each < best_s) {
      best_s = each;
      best = rank;
    }
  }
  if (!interrupted()) chosen_[shape] = best;
  return best;
}

Ready Core::ready(GemmShape shape, int rank, int sets, bool with_random_c) {
  Ready out;
  out.shape = shape;
  out.outcome = may_start();
  if (!out.outcome.ok()) return out;
  out.outcome = prepare(shape, rank);
  if (!out.outcome.ok()) return out;
  out.sizes = device.operand_sizes(problem(shape));
  auto held = pool.hold(out.sizes, sets, with_random_c);
  if (held && with_random_c) held = pool.hold_flush();
  if (!held) {
    out.outcome = outcome_of(held.error());
    return out;
  }
  if (rank == kAutomaticRank) rank = chooses_provider(shape) ? choose_provider(shape) : 0;
  out.outcome = find_plan(problem(shape), rank, &out.plan);
  if (!out.outcome.ok()) return out;
  const Algorithm& algorithm = out.plan->algorithm();
  out.algorithm = algorithm.provider + " " + algorithm.name;
  out.operands = pool.operands(out.sizes);
  if (with_random_c) out.random_c = pool.random_c(out.sizes);
  return out;
}

Result<double> Core::time_products(const GemmPlan& plan, const Operands& operands, int products) {
  GEMMPEAK_TRY(stream->reserve(2, 0));
  GEMMPEAK_TRY(stream->enqueue_mark(0));
  for (int i = 0; i < products; ++i) GEMMPEAK_TRY(stream->enqueue_gemm(plan, operands));
  GEMMPEAK_TRY(stream->enqueue_mark(1));
  GEMMPEAK_TRY(stream->synchronize());
  return stream->elapsed_s(0, 1);
}

Result<void> Core::enqueue_iteration(const Ready& ready, int iteration) {
  if (const View flush = pool.flush(); flush.bytes > 0) GEMMPEAK_TRY(stream->enqueue_set(flush, 0));
  GEMMPEAK_TRY(stream->enqueue_copy(ready.operands.c, ready.random_c));
  GEMMPEAK_TRY(stream->enqueue_mark(start_mark(iteration)));
  GEMMPEAK_TRY(stream->enqueue_gemm(*ready.plan, ready.operands));
  return stream->enqueue_mark(end_mark(iteration));
}

Result<void> Core::enqueue_all(const Ready& ready, const QueueRequest& request, Queued& out) {
  const int total = request.warmup + request.iterations;
  // Long loops keep about kQueued_s of work in the queue, which never runs dry; the others are
  // queued as a whole. A device nothing is known of is treated as slow for its first loop.
  const double each = estimate_s(ready);
  const bool bounded = each * total > kUnbroken_s || each == 0;
  const int depth =
      bounded ? (each > 0 ? std::max(2, static_cast<int>(kQueued_s / each)) : 2) : total;
  GEMMPEAK_TRY(stream->enqueue_mark(kBeginMark));
  if (request.stamp_each) GEMMPEAK_TRY(stream->enqueue_stamp(0));
  for (int i = 0; i < total; ++i) {
    if (interrupted()) {
      out.interrupted = true;
      break;
    }
    if (bounded && i >= depth) GEMMPEAK_TRY(stream->wait(end_mark(i - depth)));
    if (!request.stamp_each && i == request.warmup) GEMMPEAK_TRY(stream->enqueue_stamp(0));
    GEMMPEAK_TRY(enqueue_iteration(ready, i));
    if (request.stamp_each) GEMMPEAK_TRY(stream->enqueue_stamp(i + 1));
    out.iterations = i + 1;
  }
  if (!request.stamp_each && out.iterations == total) GEMMPEAK_TRY(stream->enqueue_stamp(1));
  return {};
}

Result<Queued> Core::queue_iterations(const Ready& ready, const QueueRequest& request) {
  const int total = request.warmup + request.iterations;
  GEMMPEAK_TRY(stream->reserve(1 + 2 * total, request.stamp_each ? total + 1 : 2));
  Queued out;
  out.begin_s = device.now_s();
  const auto queued = enqueue_all(ready, request, out);
  if (queued && request.while_running != nullptr && *request.while_running)
    (*request.while_running)();
  const auto waited = stream->synchronize();
  out.end_s = device.now_s();
  GEMMPEAK_TRY(queued);
  GEMMPEAK_TRY(waited);
  return out;
}

Result<LoopTimes> Core::loop_times(const Queued& queued, int warmup) {
  LoopTimes out;
  double previous_end = 0;
  for (int i = 0; i < queued.iterations; ++i) {
    const auto start = stream->elapsed_s(kBeginMark, start_mark(i));
    if (!start) return start.error();
    const auto product = stream->elapsed_s(start_mark(i), end_mark(i));
    if (!product) return product.error();
    // Marks have a resolution (0.5 us on NVIDIA): equal neighbours are no disorder, products are.
    if (*start < previous_end - 2e-6 || !(*product > 0)) out.in_order = false;
    if (i == warmup) out.timed_span_s = -previous_end;
    previous_end = *start + *product;
    if (i < warmup) continue;
    out.starts_s.push_back(*start);
    out.seconds.push_back(*product);
  }
  if (queued.iterations > 0) {
    const auto span = stream->elapsed_s(kBeginMark, end_mark(queued.iterations - 1));
    if (!span) return span.error();
    out.span_s = *span;
  }
  if (!out.seconds.empty()) out.timed_span_s += previous_end;
  return out;
}

void Core::set_device_clock(WindowFacts& window, int first_stamp, int last_stamp) {
  if (!device.has_stamps()) return;
  const auto clock = stream->clock_between(first_stamp, last_stamp);
  if (!clock) return;  // a missing clock is no failure of the loop
  window.device_clock_mhz = clock->mhz;
  window.device_clock_precise = clock->precise;
}

Result<std::pair<int, int>> Core::bounded(const Ready& ready, int warmup, int iterations) {
  if (settings.loop_max_s <= 0) return std::pair{warmup, iterations};
  // No trial where the rates seen so far leave a factor of two.
  if (const double guess = estimate_s(ready);
      guess > 0 && 2 * guess * (warmup + iterations) < settings.loop_max_s)
    return std::pair{warmup, iterations};
  auto known = trial_s_.find(ready.shape);
  if (known == trial_s_.end()) {
    const auto queued = queue_iterations(ready, QueueRequest{0, 1, false, nullptr});
    if (!queued) return queued.error();
    const auto times = loop_times(*queued, 0);
    if (!times) return times.error();
    known = trial_s_.emplace(ready.shape, std::max(times->span_s, 1e-9)).first;
  }
  const int total = warmup + iterations;
  const double fitting = settings.loop_max_s / known->second;
  if (fitting >= total) return std::pair{warmup, iterations};
  // The same share of warm-up as asked for; the trial has warmed the operands already.
  const int least = std::min(kLeastTimed, iterations);
  const int timed = std::max(least, static_cast<int>(fitting * iterations / total));
  return std::pair{std::clamp(static_cast<int>(fitting) - timed, 0, warmup), timed};
}

void Core::learn(const Ready& ready, const LoopTimes& times, int iterations) {
  const double products_s = times.products_s();
  if (!times.in_order || products_s <= 0) return;
  const auto timed = static_cast<double>(times.seconds.size());
  best_flop_per_s_ = std::max(best_flop_per_s_, ready.shape.flop() * timed / products_s);
  const double gaps_s = times.timed_span_s - products_s;
  const double bytes = static_cast<double>(settings.flush_bytes + 2 * ready.sizes.c) * timed;
  if (gaps_s > 0 && iterations > 0) gap_bytes_per_s_ = std::max(gap_bytes_per_s_, bytes / gaps_s);
}

double Core::estimate_s(const Ready& ready) const {
  if (const auto known = trial_s_.find(ready.shape); known != trial_s_.end()) return known->second;
  if (best_flop_per_s_ <= 0) return 0;
  const double gap_s =
      gap_bytes_per_s_ > 0
          ? static_cast<double>(settings.flush_bytes + 2 * ready.sizes.c) / gap_bytes_per_s_
          : 0;
  return ready.shape.flop() / best_flop_per_s_ + gap_s;
}

void Core::idle(double seconds) {
  const double end_s = device.now_s() + seconds;
  for (double left = seconds; left > 0 && !interrupted(); left = end_s - device.now_s())
    device.sleep_s(std::min(left, kQueued_s));
}

}  // namespace gemmpeak::measure
