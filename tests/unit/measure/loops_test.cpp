// M2..M5: the order of a loop, its numbers, its trust; on a host device (order) and on the
// simulated one (time, sensors, faults).
#include <gtest/gtest.h>

#include <atomic>

#include "backends/sim/sim_backend.hpp"
#include "host_device.hpp"
#include "measure/bench.hpp"
#include "stats/stats.hpp"

namespace gemmpeak {
namespace {

using testing::HostDevice;

BenchSettings small_settings(DType dtype = DType::float32) {
  BenchSettings settings;
  settings.dtype = dtype;
  settings.output = dtype_info(dtype).output;
  settings.flush_bytes = 1 << 16;
  return settings;
}

// A Bench on a simulated device and its own sensors.
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

TEST(SaturatedLoop, OnlyTheProductLiesBetweenItsTwoMarks) {
  HostDevice device;
  Bench bench(device, nullptr, small_settings(), nullptr);
  ASSERT_TRUE(bench.saturated({16, 16, 16}, {1, 2, {}}).outcome.ok());  // makes plan and operands
  device.world.log.clear();
  device.world.logging = true;
  ASSERT_TRUE(bench.saturated({16, 16, 16}, {1, 2, {}}).outcome.ok());
  const std::vector<std::string> expected = {
      "mark 0", "set",  "copy",   "mark 1", "gemm",   "mark 2",  //
      "set",    "copy", "mark 3", "gemm",   "mark 4",            //
      "set",    "copy", "mark 5", "gemm",   "mark 6", "synchronize"};
  EXPECT_EQ(device.world.log, expected);
}

TEST(SaturatedLoop, GivesTheTimedIterationsAndTheDuty) {
  HostDevice device;
  device.world.product_s = 2e-3;
  Bench bench(device, nullptr, small_settings(), nullptr);
  const LoopSample sample = bench.saturated({16, 16, 16}, {3, 5, {}});
  ASSERT_TRUE(sample.outcome.ok()) << sample.outcome.reason;
  ASSERT_EQ(sample.seconds.size(), 5u);
  for (const double s : sample.seconds) EXPECT_NEAR(s, 2e-3, 1e-9);
  EXPECT_NEAR(sample.window.span_s, 8 * (2e-3 + 2e-5), 1e-9);
  EXPECT_NEAR(sample.window.duty, 2e-3 / (2e-3 + 2e-5), 1e-9);
  EXPECT_EQ(sample.algorithm, "first loops");
  EXPECT_NEAR(sample.mean_tflops(), 2.0 * 16 * 16 * 16 / 2e-3 / 1e12, 1e-12);
}

TEST(SaturatedLoop, LoopBoundKeepsAtLeastThreeTimedIterations) {
  HostDevice device;
  device.world.product_s = 0.05;
  BenchSettings settings = small_settings();
  settings.loop_max_s = 0.5;
  Bench bench(device, nullptr, settings, nullptr);
  const LoopSample cut = bench.saturated({16, 16, 16}, {10, 20, {}});
  EXPECT_EQ(cut.seconds.size(), 6u);  // two thirds of the nine iterations of half a second
  EXPECT_LE(cut.window.span_s, 0.5);
  device.world.product_s = 5;
  const LoopSample least = bench.saturated({16, 16, 32}, {10, 20, {}});
  EXPECT_EQ(least.seconds.size(), 3u);
  device.world.product_s = 1e-4;
  EXPECT_EQ(bench.saturated({16, 16, 48}, {10, 20, {}}).seconds.size(), 20u);
}

TEST(SaturatedLoop, StopFlagEndsItWithWhatItHas) {
  HostDevice device;
  std::atomic<int> stop{0};
  Bench bench(device, nullptr, small_settings(), &stop);
  LoopRequest request{0, 4, {}};
  stop = 1;
  const LoopSample sample = bench.saturated({16, 16, 16}, request);
  EXPECT_EQ(sample.outcome.state, OutcomeState::skipped);
  EXPECT_EQ(sample.outcome.reason, "interrupted");
}

TEST(SaturatedLoop, DisagreeingClocksAreUntrusted) {
  HostDevice device;
  Bench bench(device, nullptr, small_settings(), nullptr);
  device.world.product_s = 0.01;
  device.world.host_extra_s = 2e-4;  // 0.2 % of ten products
  EXPECT_TRUE(bench.saturated({16, 16, 16}, {0, 10, {}}).outcome.ok());
  device.world.host_extra_s = 3e-3;  // 3 %
  EXPECT_EQ(bench.saturated({16, 16, 16}, {0, 10, {}}).outcome.state, OutcomeState::untrusted);
  // What runs on the host while the device works is no disagreement.
  bool ran = false;
  const LoopRequest busy{0, 10, [&] { ran = true; }};
  EXPECT_TRUE(bench.saturated({16, 16, 16}, busy).outcome.ok());
  EXPECT_TRUE(ran);
}

TEST(SaturatedLoop, NegativeTimesAreUntrusted) {
  HostDevice device;
  device.world.mark_step_s = -2e-3;
  Bench bench(device, nullptr, small_settings(), nullptr);
  const LoopSample sample = bench.saturated({16, 16, 16}, {0, 3, {}});
  EXPECT_EQ(sample.outcome.state, OutcomeState::untrusted);
  EXPECT_NE(sample.outcome.reason.find("out of order"), std::string::npos);
}

TEST(Providers, TheFasterOneIsChosenOnceForEachShapeAndNamed) {
  HostDevice device;
  device.world.provider_s = {3e-3, 1e-3, 2e-3};
  Bench bench(device, nullptr, small_settings(), nullptr);
  EXPECT_EQ(bench.saturated({16, 16, 16}, {0, 3, {}}).algorithm, "other1 loops");
  device.world.provider_s = {1e-4, 1e-3, 2e-3};
  EXPECT_EQ(bench.saturated({16, 16, 16}, {0, 3, {}}).algorithm, "other1 loops");
  EXPECT_EQ(bench.saturated({16, 16, 32}, {0, 3, {}}).algorithm, "first loops");
  LoopRequest asked{0, 3, {}, 2};
  EXPECT_EQ(bench.saturated({16, 16, 16}, asked).algorithm, "other2 loops");
  EXPECT_EQ(bench.verify({16, 16, 16}).algorithm, "other1 loops");
}

TEST(Memory, WhatDoesNotFitIsSaidWithItsSize) {
  HostDevice device;
  device.world.free_bytes = 1 << 20;
  BenchSettings settings = small_settings();
  settings.max_workspace_bytes = 0;
  Bench bench(device, nullptr, settings, nullptr);
  const GemmShape fits{256, 256, 256};
  EXPECT_EQ(bench.bytes_needed(fits), 4 * 256 * 256 * 4 + (1 << 16));
  EXPECT_TRUE(bench.does_not_fit(fits));  // 1.06 MiB of 0.9
  EXPECT_FALSE(bench.does_not_fit({224, 224, 224}));
}

TEST(Memory, ArenasOfEarlierShapesGiveWay) {
  SimSpec spec = *sim_spec("h200");
  spec.info.memory_bytes = 4LL << 30;
  SimBench sim(spec);
  // Wide, tall and deep shapes each fit; the largest A, B and C together do not.
  for (const GemmShape shape :
       {GemmShape{65536, 256, 8192}, GemmShape{256, 65536, 8192}, GemmShape{20480, 20480, 1024}}) {
    ASSERT_FALSE(sim.bench.does_not_fit(shape)) << shape.str();
    EXPECT_TRUE(sim.bench.saturated(shape, {2, 3, {}}).outcome.ok()) << shape.str();
  }
}

TEST(SimLoop, ReadsTheKernelsOwnTime) {
  SimSpec spec = *sim_spec("h200");
  spec.noise = 0;
  SimBench sim(spec);
  const GemmShape shape{2048, 2048, 1024};
  const LoopSample sample = sim.bench.saturated(shape, {2, 10, {}});
  ASSERT_TRUE(sample.outcome.ok()) << sample.outcome.reason;
  const double kernel_s = sim_product_s(spec, sim.bench.problem(shape), 0, spec.boost_mhz);
  EXPECT_NEAR(sample.seconds.front(), kernel_s, 0.02 * kernel_s);
  EXPECT_EQ(sample.algorithm, "sim tile128x256 rank0");
  EXPECT_TRUE(sample.window.sensors.clock_max_mhz.has_value());
  EXPECT_TRUE(sample.window.device_clock_mhz.has_value());
}

TEST(SimLoop, SaturatesThePowerLimitAndLosesClock) {
  SimBench sim;
  const GemmShape shape{8192, 8192, 8192};
  LoopSample sample;
  for (int i = 0; i < 3; ++i) sample = sim.bench.saturated(shape, {50, 100, {}});
  ASSERT_TRUE(sample.outcome.ok()) << sample.outcome.reason;
  EXPECT_NEAR(*sample.window.sensors.power_w, 700, 25);
  EXPECT_LT(*sample.window.sensors.clock_mean_mhz, 1700);
  EXPECT_NEAR(*sample.window.device_clock_mhz, *sample.window.sensors.clock_mean_mhz, 30);
  EXPECT_NE(*sample.window.sensors.reasons & 0x4, 0u);
  EXPECT_GT(sample.mean_tflops(), 600);
  EXPECT_LT(sample.mean_tflops(), 780);
  EXPECT_GT(sample.window.duty, 0.85);
}

TEST(SimLoop, IsDeterministic) {
  SimBench one, two;
  const LoopSample a = one.bench.saturated({4096, 4096, 4096}, {8, 20, {}});
  const LoopSample b = two.bench.saturated({4096, 4096, 4096}, {8, 20, {}});
  EXPECT_EQ(a.seconds, b.seconds);
}

TEST(SimBurst, StartsAtBoostAfterIdlingAndSaysWhichClockItHad) {
  SimBench sim;
  const GemmShape shape{3072, 2816, 20480};
  (void)sim.bench.saturated({8192, 8192, 8192}, {100, 200, {}});
  const BurstSample burst = sim.bench.burst(shape, {20, 0.25});
  ASSERT_TRUE(burst.outcome.ok()) << burst.outcome.reason;
  ASSERT_EQ(burst.iterations.size(), 20u);
  const BurstSample longer = sim.bench.burst(shape, {100, 0.25});
  ASSERT_TRUE(longer.outcome.ok()) << longer.outcome.reason;
  EXPECT_GE(*burst.iterations.front().clock_mhz, 0.97 * 1980);
  EXPECT_LT(*longer.iterations.back().clock_mhz, 0.97 * 1980);
  EXPECT_NEAR(*burst.iterations[10].device_clock_mhz, *burst.iterations[10].clock_mhz, 30);
  EXPECT_TRUE(burst.iterations.front().power_w.has_value());
  // Some 10 ms are over before a sensor of 25 ms has seen them.
  EXPECT_FALSE(burst.power_resolved);
  EXPECT_TRUE(sim.bench.burst({8192, 8192, 8192}, {100, 0.25}).power_resolved);
}

TEST(SimBurst, WithoutIdleTheClockIsStillDown) {
  SimBench sim;
  (void)sim.bench.saturated({8192, 8192, 8192}, {100, 200, {}});
  const BurstSample burst = sim.bench.burst({3072, 2816, 20480}, {2, 0.0});
  EXPECT_LT(*burst.iterations.front().clock_mhz, 0.97 * 1980);
}

TEST(SimBurst, WithoutTelemetryTheDeviceClockRemains) {
  SimSpec spec = *sim_spec("h200");
  spec.telemetry = false;
  SimBench sim(spec);
  ASSERT_EQ(sim.telemetry, nullptr);
  const BurstSample burst = sim.bench.burst({3072, 2816, 20480}, {20, 0.25});
  ASSERT_TRUE(burst.outcome.ok());
  EXPECT_FALSE(burst.iterations.front().clock_mhz.has_value());
  EXPECT_NEAR(*burst.iterations.front().device_clock_mhz, 1980, 60);
  EXPECT_EQ(burst.window.sensors.readings, 0);
}

TEST(SimFaults, EachBecomesItsOutcomeAndTheRestGoesOn) {
  SimSpec spec = *sim_spec("h200");
  const auto is = [](std::int64_t k) {
    return [k](const GemmShape& shape) { return shape.k == k; };
  };
  spec.faults = {{SimFaultKind::refused, is(1024), -1, 1, 1.5},
                 {SimFaultKind::out_of_memory, is(2048), -1, 1, 1.5},
                 {SimFaultKind::failing, is(3072), -1, 1, 1.5},
                 {SimFaultKind::wrong, is(4096), -1, 5, 1.5},
                 {SimFaultKind::unwritten, is(5120), -1, 32768, 1.5},
                 {SimFaultKind::too_fast, is(6144), -1, 1, 1.5}};
  SimBench sim(spec);
  const auto outcome = [&](std::int64_t k) {
    return sim.bench.saturated({2048, 2048, k}, {2, 5, {}}).outcome.state;
  };
  EXPECT_EQ(outcome(1024), OutcomeState::unsupported);
  EXPECT_EQ(outcome(2048), OutcomeState::out_of_memory);
  EXPECT_EQ(outcome(3072), OutcomeState::error);
  EXPECT_EQ(outcome(4096), OutcomeState::ok);
  EXPECT_EQ(outcome(6144), OutcomeState::untrusted);
  EXPECT_EQ(outcome(8192), OutcomeState::ok);
  const VerifyRecord wrong = sim.bench.verify({2048, 2048, 4096});
  EXPECT_EQ(wrong.outcome.state, OutcomeState::wrong_result);
  EXPECT_GT(wrong.bad, 0);
  const VerifyRecord unwritten = sim.bench.verify({2048, 2048, 5120});
  EXPECT_EQ(unwritten.unwritten, 32768);
  EXPECT_TRUE(sim.bench.verify({2048, 2048, 8192}).outcome.ok());
}

TEST(SimFaults, LostDeviceStaysLost) {
  SimSpec spec = *sim_spec("h200");
  spec.faults = {{SimFaultKind::crash, [](const GemmShape& s) { return s.k == 1024; }, -1, 1, 1.5}};
  SimBench sim(spec);
  EXPECT_TRUE(sim.bench.saturated({2048, 2048, 2048}, {2, 5, {}}).outcome.ok());
  EXPECT_EQ(sim.bench.saturated({2048, 2048, 1024}, {2, 5, {}}).outcome.state, OutcomeState::error);
  EXPECT_TRUE(sim.device->dead());
  EXPECT_EQ(sim.bench.saturated({2048, 2048, 2048}, {2, 5, {}}).outcome.state, OutcomeState::error);
  EXPECT_EQ(sim.bench.held({2048, 2048, 2048}, {}).outcome.state, OutcomeState::error);
}

TEST(SimFaults, MarksThatLieAreUntrusted) {
  SimSpec spec = *sim_spec("h200");
  spec.mark_scale = 0.95;
  SimBench sim(spec);
  const LoopSample loop = sim.bench.saturated({8192, 8192, 8192}, {2, 20, {}});
  EXPECT_EQ(loop.outcome.state, OutcomeState::untrusted);
  EXPECT_NE(loop.outcome.reason.find("host's clock"), std::string::npos);
  EXPECT_EQ(sim.bench.held({8192, 8192, 8192}, {1, 1, 0.2}).outcome.state, OutcomeState::untrusted);
  EXPECT_EQ(sim.bench.burst({8192, 8192, 8192}, {20, 0.1}).outcome.state, OutcomeState::untrusted);
}

TEST(SimFaults, TelemetryThatFailsHalfWayLeavesFieldsEmpty) {
  SimSpec spec = *sim_spec("h200");
  spec.telemetry_fails_at_s = 0;
  SimBench sim(spec);
  const LoopSample loop = sim.bench.saturated({4096, 4096, 4096}, {2, 20, {}});
  EXPECT_TRUE(loop.outcome.ok());
  EXPECT_FALSE(loop.window.sensors.power_w.has_value());
  EXPECT_FALSE(loop.window.sensors.clock_max_mhz.has_value());
  EXPECT_TRUE(sim.telemetry->problem().has_value());
  EXPECT_TRUE(sim.bench.held({4096, 4096, 4096}, {1, 1, 0.2}).outcome.ok());
  EXPECT_TRUE(sim.bench.burst({4096, 4096, 4096}, {5, 0.1}).outcome.ok());
}

TEST(SimFaults, SlowSiblingIsSlowByItsFactor) {
  SimSpec slow = *sim_spec("h200");
  slow.slow_factor = 3;
  SimBench a, b(slow);
  const double fast_s = stats::median(a.bench.saturated({2048, 2048, 1024}, {2, 9, {}}).seconds);
  const double slow_s = stats::median(b.bench.saturated({2048, 2048, 1024}, {2, 9, {}}).seconds);
  EXPECT_NEAR(slow_s / fast_s, 3, 0.3);  // launches are not slower
}

TEST(Flush, FollowsTheCacheAndTheKindOfDevice) {
  DeviceInfo gpu;
  gpu.kind = DeviceKind::gpu;
  gpu.llc_bytes = 50LL << 20;
  EXPECT_EQ(default_flush_bytes(gpu), 256LL << 20);
  gpu.llc_bytes = 180LL << 20;
  EXPECT_EQ(default_flush_bytes(gpu), 360LL << 20);
  DeviceInfo cpu;
  cpu.kind = DeviceKind::cpu;
  cpu.llc_bytes = 480LL << 20;
  EXPECT_EQ(default_flush_bytes(cpu), 64LL << 20);
  cpu.llc_bytes = 16LL << 20;
  EXPECT_EQ(default_flush_bytes(cpu), 32LL << 20);
}

}  // namespace
}  // namespace gemmpeak
