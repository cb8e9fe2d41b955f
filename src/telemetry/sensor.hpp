// Two small judges for sensors: SensorHealth, when a failing sensor is given up, and RefreshMeter,
// how often a sensor's value really changes. Used by the telemetries of this room. They read no
// clock and no sensor themselves.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

namespace gemmpeak {

// A sensor answers, hiccups, and at some point is lost for good: NVML answers "unknown error" or
// "no data" now and then under load, and one empty reading is no reason to lose the run's power.
class SensorHealth {
 public:
  // Three failures one after the other are no hiccup (the samplers read every 0.5 to 20 ms).
  static constexpr int kFailuresInRow = 3;

  bool alive() const { return alive_; }
  void start() { alive_ = true; }
  void answered() { failures_ = 0; }
  // `final`: asking again cannot help. True if the sensor is lost by this failure.
  bool failed(bool final) {
    if (!final && ++failures_ < kFailuresInRow) return false;
    alive_ = false;
    return true;
  }

 private:
  bool alive_ = false;
  int failures_ = 0;
};

// The refresh interval from readings that come faster than the sensor changes.
class RefreshMeter {
 public:
  // Readings further apart than this are another window, or too coarse to see a 100 ms refresh.
  static constexpr double kGap_s = 0.03;
  // Enough intervals for a stable lower quartile.
  static constexpr std::size_t kIntervals = 16;

  // True once, when the interval is known.
  bool note(double t_s, double value) {
    if (result_) return false;
    const bool gap = !last_t_s_ || t_s - *last_t_s_ > kGap_s;
    const bool changed = !gap && value != last_value_;
    last_t_s_ = t_s;
    last_value_ = value;
    if (gap) change_t_s_.reset();
    if (!changed) return false;
    if (change_t_s_) intervals_.push_back(t_s - *change_t_s_);
    change_t_s_ = t_s;
    if (intervals_.size() < kIntervals) return false;
    // The lower quartile: a steady load repeats values, which makes intervals longer, never
    // shorter.
    std::nth_element(intervals_.begin(), intervals_.begin() + kIntervals / 4, intervals_.end());
    result_ = intervals_[kIntervals / 4];
    return true;
  }
  std::optional<double> interval_s() const { return result_; }

 private:
  std::optional<double> last_t_s_;
  double last_value_ = 0;
  std::optional<double> change_t_s_;
  std::vector<double> intervals_;
  std::optional<double> result_;
};

// A counter that is dear to ask and steps rarely: NVML's energy counter takes 3 ms a call (inside
// the driver) and steps every 100 ms, where every other sensor takes 2 us (H200, driver 580.159).
// Asked again only shortly before the next step, it costs less than half, and the steps are still found on
// time.
class StepPacer {
 public:
  // Passed over of the 100 ms between two steps: late enough to save, early enough for a sampler of
  // 20 ms to look once more before the step.
  static constexpr double kPause_s = 0.07;
  // A change counts as a step seen when it happens if the value was looked at so shortly before.
  static constexpr double kFresh_s = 0.03;

  bool due(double t_s) const { return !step_t_s_ || t_s - *step_t_s_ >= kPause_s; }
  void note(double t_s, double value) {
    const bool changed = last_t_s_ && value != last_value_;
    const bool fresh = last_t_s_ && t_s - *last_t_s_ <= kFresh_s;
    if (changed && fresh) step_t_s_ = t_s;
    if (changed && !fresh) step_t_s_.reset();
    last_t_s_ = t_s;
    last_value_ = value;
  }

 private:
  std::optional<double> last_t_s_;
  double last_value_ = 0;
  std::optional<double> step_t_s_;
};

}  // namespace gemmpeak
