// The judges of sensors: when one is given up, and how often its value changes.
#include "telemetry/sensor.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace gemmpeak
