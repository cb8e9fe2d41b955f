// Sampler and SiblingWatch against a telemetry read by a real thread; also built with the thread
// sanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "backends/sim/sim_backend.hpp"
#include "telemetry/telemetry.hpp"

namespace gemmpeak {
namespace {

double steady_now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Counts its reads; fails (empty fields) from the `fails_at`th on.
class CountingTelemetry : public Telemetry {
 public:
  std::atomic<int> reads{0};
  std::atomic<int> light_reads{0};
  int fails_at = 1 << 30;

  const TelemetryInfo& info() const override { return info_; }
  Reading read(bool light) override {
    const int n = ++reads;
    if (light) ++light_reads;
    Reading out;
    if (n < fails_at) {
      out.power_w = 100.0 + n;
      out.clock_mhz = 1000;
    }
    return out;
  }
  std::optional<std::string> problem() override { return std::nullopt; }
  std::vector<Sibling> idle_siblings(int) override { return {{1, 0}}; }

 private:
  TelemetryInfo info_;
};

void wait_for_reads(const CountingTelemetry& telemetry, int reads) {
  while (telemetry.reads.load() < reads) std::this_thread::yield();
}

TEST(Sampler, ReadsInTheBackgroundInTimeOrder) {
  CountingTelemetry telemetry;
  Sampler sampler(&telemetry, steady_now_s);
  const double begin_s = steady_now_s();
  sampler.start(0.0005, true);
  wait_for_reads(telemetry, 8);
  const auto readings = sampler.stop();
  const double end_s = steady_now_s();
  ASSERT_GE(readings.size(), 8u);
  EXPECT_EQ(static_cast<int>(readings.size()), telemetry.reads.load());
  EXPECT_EQ(telemetry.light_reads.load(), telemetry.reads.load());
  for (std::size_t i = 0; i < readings.size(); ++i) {
    EXPECT_GE(readings[i].t_s, i == 0 ? begin_s : readings[i - 1].t_s);
    EXPECT_LE(readings[i].t_s, end_s);
    EXPECT_DOUBLE_EQ(*readings[i].power_w, 101.0 + static_cast<double>(i));
  }
}

TEST(Sampler, StopsReadingOnceStoppedAndStartsAfresh) {
  CountingTelemetry telemetry;
  Sampler sampler(&telemetry, steady_now_s);
  sampler.start(0.0005, false);
  wait_for_reads(telemetry, 2);
  EXPECT_GE(sampler.stop().size(), 2u);
  const int reads = telemetry.reads.load();
  EXPECT_TRUE(sampler.stop().empty());
  EXPECT_EQ(telemetry.reads.load(), reads);
  sampler.start(10, false);
  wait_for_reads(telemetry, reads + 1);  // the first reading does not wait for the period
  EXPECT_EQ(sampler.stop().size(), 1u);
  EXPECT_EQ(telemetry.light_reads.load(), 0);
}

TEST(Sampler, TelemetryFailingHalfWayGivesEmptyReadings) {
  CountingTelemetry telemetry;
  telemetry.fails_at = 3;
  Sampler sampler(&telemetry, steady_now_s);
  sampler.start(0.0005, true);
  wait_for_reads(telemetry, 5);
  const auto readings = sampler.stop();
  EXPECT_TRUE(readings[1].power_w.has_value());
  EXPECT_FALSE(readings[2].power_w.has_value());
  EXPECT_FALSE(readings[4].clock_mhz.has_value());
}

TEST(Sampler, WithoutTelemetryIsEmpty) {
  Sampler sampler(nullptr, steady_now_s);
  sampler.start(0.0005, true);
  EXPECT_TRUE(sampler.stop().empty());
}

TEST(Sampler, VirtualTelemetryAnswersForThePastWindow) {
  auto device = make_sim_device(*sim_spec("h200"));
  auto telemetry = device->own_telemetry();
  Sampler sampler(telemetry.get(), [&] { return device->now_s(); });
  const double begin_s = device->now_s();
  sampler.start(0.02, false);
  device->sleep_s(1);
  const auto readings = sampler.stop();
  ASSERT_NEAR(static_cast<double>(readings.size()), 50, 1);
  EXPECT_GE(readings.front().t_s, begin_s);
  EXPECT_LE(readings.back().t_s, begin_s + 1);
  EXPECT_EQ(*readings.back().reasons, 0x1u);  // idle
}

TEST(Siblings, AreSampledOverTheWholeWatch) {
  CountingTelemetry telemetry;
  SiblingWatch quick(&telemetry);
  EXPECT_TRUE(quick.finish().empty());  // ended before the first look: nothing is known
  SiblingWatch none(nullptr);
  EXPECT_TRUE(none.finish().empty());
  SimSpec spec = *sim_spec("h200");
  spec.siblings = {{1, 3}, {2, 95}};
  auto device = make_sim_device(spec);
  auto sim_telemetry = device->own_telemetry();
  SiblingWatch watch(sim_telemetry.get());
  EXPECT_EQ(watch.finish(), (std::map<int, double>{{1, 1.0}}));
}

}  // namespace
}  // namespace gemmpeak
