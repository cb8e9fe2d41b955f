// Sampler and SiblingWatch: the background readers. A reading's time is the middle of the call that
// made it, because a vendor's call may take a millisecond.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "telemetry/telemetry.hpp"

namespace gemmpeak {
namespace {

using std::chrono::duration;

// A thread that calls `tick` every `period_s` until it is stopped; stop() joins it.
class Ticker {
 public:
  Ticker() = default;
  ~Ticker() { stop(); }
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  // `at_once`: the first tick comes without waiting.
  void start(double period_s, bool at_once, std::function<void()> tick) {
    stop();
    stopping_ = false;
    thread_ = std::thread([this, period_s, at_once, tick = std::move(tick)] {
      if (at_once) tick();
      std::unique_lock<std::mutex> lock(mutex_);
      while (!wake_.wait_for(lock, duration<double>(period_s), [this] { return stopping_; })) {
        lock.unlock();
        tick();
        lock.lock();
      }
    });
  }

  void stop() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_ while the thread lives
  std::thread thread_;
};

}  // namespace

// `readings` is touched by the thread alone between start() and stop(), and stop() joins it.
struct Sampler::State {
  Telemetry* telemetry = nullptr;
  std::function<double()> now_s;
  double from_s = 0;
  double period_s = 0;
  bool started = false;
  std::vector<Reading> readings;
  Ticker ticker;  // last: its thread ends before anything above goes
};

Sampler::Sampler(Telemetry* telemetry, std::function<double()> now_s)
    : state_(std::make_unique<State>()) {
  state_->telemetry = telemetry;
  state_->now_s = std::move(now_s);
}

Sampler::~Sampler() = default;

void Sampler::start(double period_s, bool light) {
  State& s = *state_;
  s.ticker.stop();
  s.readings.clear();
  s.started = true;
  s.period_s = period_s;
  if (s.telemetry == nullptr) return;
  if (s.telemetry->is_virtual()) {
    s.from_s = s.now_s();
    return;
  }
  s.ticker.start(period_s, true, [&s, light] {
    const double before = s.now_s();
    Reading reading = s.telemetry->read(light);
    reading.t_s = (before + s.now_s()) / 2;
    s.readings.push_back(std::move(reading));
  });
}

std::vector<Reading> Sampler::stop() {
  State& s = *state_;
  if (!s.started || s.telemetry == nullptr) return {};
  s.started = false;
  if (s.telemetry->is_virtual()) return s.telemetry->history(s.from_s, s.now_s(), s.period_s);
  s.ticker.stop();
  return std::exchange(s.readings, {});
}

struct SiblingWatch::State {
  // Under 10 % utilisation a sibling counts as idle; it is looked at every 0.5 s (both the
  // reference's).
  static constexpr int kBelowPercent = 10;
  static constexpr double kPeriod_s = 0.5;

  Telemetry* telemetry = nullptr;
  int samples = 0;
  std::map<int, int> idle;
  Ticker ticker;

  void sample() {
    ++samples;
    for (const Sibling& sibling : telemetry->idle_siblings(kBelowPercent)) ++idle[sibling.index];
  }
};

SiblingWatch::SiblingWatch(Telemetry* telemetry) : state_(std::make_unique<State>()) {
  state_->telemetry = telemetry;
  if (telemetry == nullptr || telemetry->is_virtual()) return;
  state_->ticker.start(State::kPeriod_s, false, [state = state_.get()] { state->sample(); });
}

SiblingWatch::~SiblingWatch() = default;

std::map<int, double> SiblingWatch::finish() {
  State& s = *state_;
  s.ticker.stop();
  // Virtual siblings do not change: one look stands for all.
  if (s.telemetry != nullptr && s.telemetry->is_virtual() && s.samples == 0) s.sample();
  std::map<int, double> out;
  for (const auto& [index, count] : s.idle) out[index] = static_cast<double>(count) / s.samples;
  return out;
}

}  // namespace gemmpeak
