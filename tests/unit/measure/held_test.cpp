// Back to back, warm-up and soak.
#include <gtest/gtest.h>

#include <atomic>

#include "backends/sim/sim_backend.hpp"
#include "host_device.hpp"
#include "measure/bench.hpp"
#include "measure/trust.hpp"
#include "stats/stats.hpp"

namespace gemmpeak {
namespace {

struct SimBench {
  explicit SimBench(SimSpec spec = *sim_spec("h200"), BenchSettings settings = {})
      : device(make_sim_device(std::move(spec))),
        telemetry(device->own_telemetry()),
        bench(*device, telemetry.get(), settings, &stop) {}
  std::atomic<int> stop{0};
  std::unique_ptr<Device> device;
  std::unique_ptr<Telemetry> telemetry;
  Bench bench;
};

TEST(Held, HoldsTheSaturatedClockWithoutAGap) {
  SimBench sim;
  const HeldSample held = sim.bench.held({8192, 8192, 8192}, {4, 8, 0.5});
  ASSERT_TRUE(held.outcome.ok()) << held.outcome.reason;
  EXPECT_TRUE(held.steady);
  EXPECT_LT(held.warm_s, 8);
  EXPECT_NEAR(held.window.span_s, 4, 0.1);
  EXPECT_NEAR(held.window.host_s, held.window.span_s, 1e-3);
  EXPECT_EQ(held.operand_sets, 2);
  EXPECT_NEAR(*held.window.sensors.power_w, 700, 10);
  EXPECT_NEAR(held.tflops(), 660, 40);
  // Without gaps all time is product time: the rate is what the kernel does at the window's clock.
  const double kernel_s = sim_product_s(*sim_spec("h200"), sim.bench.problem(held.shape), 0,
                                        *held.window.device_clock_mhz);
  EXPECT_NEAR(held.tflops(), held.shape.flop() / kernel_s / 1e12, 0.01 * held.tflops());
  EXPECT_NEAR(*held.joules_per_tflop(), 700 / held.tflops(), 0.02);
}

TEST(Held, IsSlowerThanTheLoopWithGaps) {
  SimBench sim;
  const GemmShape shape{2816, 1536, 6144};
  const double held = sim.bench.held(shape, {2, 4, 0.5}).tflops();
  (void)sim.bench.saturated(shape, {500, 500, {}});
  const LoopSample loop = sim.bench.saturated(shape, {50, 500, {}});
  EXPECT_LT(loop.window.duty, 0.7);
  EXPECT_GT(loop.mean_tflops(), 1.05 * held);
}

TEST(Held, SetsAreTwiceTheCacheAndAtLeastTwo) {
  SimBench sim;
  const HeldSample small = sim.bench.held({1024, 1024, 1024}, {0.3, 1, 0.1});
  ASSERT_TRUE(small.outcome.ok()) << small.outcome.reason;
  EXPECT_EQ(small.set_bytes, 3 * 2 * 1024 * 1024);
  EXPECT_GE(small.operand_sets * small.set_bytes, 2 * (60LL << 20));
  EXPECT_LT((small.operand_sets - 1) * small.set_bytes, 2 * (60LL << 20));
}

TEST(Held, StopFlagEndsIt) {
  SimBench sim;
  sim.stop = 1;
  EXPECT_EQ(sim.bench.held({4096, 4096, 4096}, {4, 8, 0.5}).outcome.state, OutcomeState::skipped);
}

TEST(Held, WorksOnADeviceThatWorksWhileItEnqueues) {
  testing::HostDevice device;
  device.world.info.llc_bytes = 1 << 20;
  device.world.product_s = 0.01;
  BenchSettings settings;
  settings.dtype = settings.output = DType::float32;
  Bench bench(device, nullptr, settings, nullptr);
  const HeldSample held = bench.held({64, 64, 64}, {0.5, 1, 0.1});
  ASSERT_TRUE(held.outcome.ok()) << held.outcome.reason;
  EXPECT_TRUE(held.steady);
  EXPECT_EQ(held.chunk_products, 3);
  EXPECT_NEAR(held.window.host_s, held.window.span_s, 1e-9);
  EXPECT_NEAR(held.tflops(), held.shape.flop() / 0.01 / 1e12, 1e-9);
}

TEST(WarmUp, EndsOncePlateauedAndNotBeforeItsLeast) {
  SimBench sim;
  int calls = 0;
  const WarmUpReport report =
      sim.bench.warm_up({4096, 4096, 4096}, 2, 45, [&](double, double) { ++calls; });
  EXPECT_TRUE(report.plateaued);
  EXPECT_GE(report.seconds, 2);
  EXPECT_LT(report.seconds, 6);
  EXPECT_EQ(report.products, 25 * calls);
  EXPECT_TRUE(report.clock_mhz && report.power_w);
}

TEST(WarmUp, GivesUpAtItsMost) {
  SimSpec spec = *sim_spec("h200");
  spec.noise = 0.5;  // never within 2 %
  SimBench sim(spec);
  const WarmUpReport report = sim.bench.warm_up({4096, 4096, 4096}, 1, 3, {});
  EXPECT_FALSE(report.plateaued);
  EXPECT_GE(report.seconds, 3);
  EXPECT_LT(report.seconds, 3.5);
}

TEST(WarmUp, FixedLastsAsLongAsAsked) {
  SimBench sim;
  const WarmUpReport report = sim.bench.warm_up_fixed({4096, 4096, 4096}, 3, {});
  EXPECT_GE(report.seconds, 3);
  EXPECT_LT(report.seconds, 3.2);
}

TEST(Soak, HeatsUntilTheClockStopsFalling) {
  SimBench sim;
  std::vector<double> clocks;
  const WarmUpReport report =
      sim.bench.soak({20480, 20480, 20480}, 20,
                     [&](double, std::optional<double> mhz) { clocks.push_back(mhz.value_or(0)); });
  EXPECT_TRUE(report.plateaued);
  EXPECT_LT(report.seconds, 20);
  EXPECT_EQ(report.products % 100, 0);
  ASSERT_GE(clocks.size(), 4u);
  EXPECT_LT(clocks.back(), 1700);
}

TEST(Soak, WithoutSensorsItLastsAsLongAsAsked) {
  SimSpec spec = *sim_spec("h200");
  spec.telemetry = false;
  SimBench sim(spec);
  const WarmUpReport report = sim.bench.soak({8192, 8192, 8192}, 5, {});
  EXPECT_FALSE(report.plateaued);
  EXPECT_GE(report.seconds, 5);
}

TEST(Soak, RunsInBf16WhateverIsMeasured) {
  BenchSettings settings;
  settings.dtype = DType::float64;
  settings.output = DType::float64;
  SimBench sim(*sim_spec("h200"), settings);
  const WarmUpReport report = sim.bench.soak({8192, 8192, 8192}, 2, {});
  EXPECT_LT(report.seconds / report.products, 3e-3);  // float64 products take 22 ms
  EXPECT_LT(*report.clock_mhz, 1700);
}

TEST(Energy, IsTakenBetweenTheCountersSteps) {
  // A counter that steps by 70 J every 100 ms, read every 20 ms for 2 s.
  std::vector<Reading> readings;
  for (int i = 0; i <= 100; ++i) {
    Reading reading;
    reading.t_s = 0.02 * i;
    reading.energy_j = 70.0 * ((i + 3) / 5);
    readings.push_back(reading);
  }
  const auto energy = measure::energy_between_steps(readings);
  ASSERT_TRUE(energy);
  EXPECT_NEAR(energy->joules / energy->span_s, 700, 1);
  readings.resize(40);
  EXPECT_FALSE(measure::energy_between_steps(readings));  // under a second
}

TEST(Trust, ARateAboveTheClocksPeakIsImpossible) {
  const DeviceInfo device = sim_spec("h200")->info;
  WindowFacts window;
  measure::Evidence evidence;
  evidence.span_s = evidence.host_s = 1;
  evidence.fastest_flop_per_s = 1000e12;
  EXPECT_FALSE(measure::distrust(device, DType::bfloat16, window, evidence));  // no clock known
  window.sensors.clock_max_mhz = 1980;                                         // 1070 TFLOPS
  EXPECT_FALSE(measure::distrust(device, DType::bfloat16, window, evidence));
  window.sensors.clock_max_mhz = 1800;  // 973
  EXPECT_TRUE(measure::distrust(device, DType::bfloat16, window, evidence));
  window.device_clock_mhz = 1980;
  EXPECT_TRUE(measure::distrust(device, DType::bfloat16, window, evidence));  // too short to count
  window.device_clock_precise = true;
  EXPECT_FALSE(measure::distrust(device, DType::bfloat16, window, evidence));
}

TEST(Trust, ShortWindowsMayDifferByTheHostsLatency) {
  const DeviceInfo device;
  measure::Evidence evidence;
  evidence.span_s = 1e-3;
  evidence.host_s = 1.25e-3;
  EXPECT_FALSE(measure::distrust(device, DType::bfloat16, {}, evidence));
  evidence.host_s = 1.35e-3;
  EXPECT_TRUE(measure::distrust(device, DType::bfloat16, {}, evidence));
  EXPECT_TRUE(measure::host_was_late(evidence));
  evidence.judge_host = false;
  EXPECT_FALSE(measure::distrust(device, DType::bfloat16, {}, evidence));
}

}  // namespace
}  // namespace gemmpeak
