// The judges of sensors: when one is given up, and how often its value changes.
#include "telemetry/sensor.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace gemmpeak {
namespace {

TEST(SensorHealth, AnAnswerForgivesEarlierFailures) {
  SensorHealth health;
  health.start();
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(health.failed(false));
    EXPECT_FALSE(health.failed(false));
    health.answered();
  }
  EXPECT_TRUE(health.alive());
  EXPECT_TRUE(health.failed(true));
  EXPECT_FALSE(health.alive());
}

TEST(RefreshMeter, FindsTheIntervalOfASensorSampledFaster) {
  RefreshMeter meter;
  for (int i = 0; i < 400 && !meter.interval_s(); ++i) {
    const double t = i * 0.02;
    meter.note(t, static_cast<int>(t / 0.1 + 1e-9) * 1.5);  // a new value each 100 ms
  }
  ASSERT_TRUE(meter.interval_s());
  EXPECT_NEAR(*meter.interval_s(), 0.1, 1e-9);
}

TEST(RefreshMeter, RepeatedValuesDoNotStretchTheInterval) {
  RefreshMeter meter;
  for (int i = 0; i < 4000 && !meter.interval_s(); ++i) {
    const double t = i * 0.005;
    const int step = static_cast<int>(t / 0.1 + 1e-9);
    meter.note(t, step % 3 == 0 ? 1 : step);  // one in three refreshes looks the same for longer
  }
  ASSERT_TRUE(meter.interval_s());
  EXPECT_NEAR(*meter.interval_s(), 0.1, 0.006);
}

TEST(RefreshMeter, CoarseSamplingSaysNothing) {
  RefreshMeter meter;
  for (int i = 0; i < 1000; ++i) meter.note(i * 0.05, i);
  EXPECT_FALSE(meter.interval_s());
}

// Reads a counter that steps every 100 ms as a sampler of `period_s` would, through the pacer.
struct Paced {
  int asked = 0;
  int steps = 0;
  double latest_s = 0;  // how long after a step it was seen, at worst
};
Paced paced(double from_s, double period_s, double span_s, StepPacer& pacer) {
  Paced out;
  int seen = -1;
  for (double t = from_s; t < from_s + span_s; t += period_s) {
    if (!pacer.due(t)) continue;
    ++out.asked;
    const int step = static_cast<int>(t / 0.1 + 1e-9);
    pacer.note(t, step);
    if (seen >= 0 && step != seen) {
      ++out.steps;
      out.latest_s = std::max(out.latest_s, t - step * 0.1);
    }
    seen = step;
  }
  return out;
}

TEST(StepPacer, AsksSeldomAndStillSeesEachStepOnTime) {
  StepPacer pacer;
  const Paced fine = paced(0.037, 0.005, 5, pacer);
  EXPECT_EQ(fine.steps, 50);
  EXPECT_LE(fine.latest_s, 0.005 + 1e-9);
  EXPECT_LT(fine.asked, 400);  // of 1000
  const Paced coarse = paced(20.013, 0.02, 5, pacer);
  EXPECT_EQ(coarse.steps, 50);
  EXPECT_LE(coarse.latest_s, 0.02 + 1e-9);
  EXPECT_LT(coarse.asked, 120);  // of 250
}

TEST(StepPacer, AChangeOverAPauseIsNotTakenForTheMomentOfAStep) {
  StepPacer pacer;
  pacer.note(0, 1);
  pacer.note(9.95, 2);  // changed some time in between
  EXPECT_TRUE(pacer.due(9.96));
  pacer.note(9.96, 2);
  pacer.note(9.98, 3);
  EXPECT_FALSE(pacer.due(10.0));
  EXPECT_TRUE(pacer.due(10.07));
}

}  // namespace
}  // namespace gemmpeak
