// The simulated device keeps the contract of a device and its own laws.
#include <gtest/gtest.h>

#include "backends/sim/sim_backend.hpp"

namespace gemmpeak {
namespace {

TEST(SimBackend, ListsAndOpensItsDevices) {
  auto backend = make_sim_backend({});
  const auto devices = backend->list();
  ASSERT_TRUE(devices.ok());
  EXPECT_EQ(devices->size(), 3u);
  auto h200 = backend->open("sim:h200");
  ASSERT_TRUE(h200.ok());
  EXPECT_EQ((*h200)->info().units, 132);
  EXPECT_EQ((*h200)->info().kind, DeviceKind::sim);
  EXPECT_TRUE((*h200)->info().geometry_validated);
  const auto unknown = backend->open("sim:h300");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().text.find("sim:h200"), std::string::npos);
}

TEST(SimDevice, PeaksAreTheVendors) {
  const DeviceInfo h200 = sim_spec("h200")->info;
  EXPECT_NEAR(*peak_flop_per_s(h200, DType::bfloat16, 1830) / 1e12, 989, 2);
  EXPECT_NEAR(*peak_flop_per_s(h200, DType::float64, 1980) / 1e12, 67, 1);
  const DeviceInfo a100 = sim_spec("a100")->info;
  EXPECT_NEAR(*peak_flop_per_s(a100, DType::bfloat16, 1410) / 1e12, 312, 1);
}

TEST(SimDevice, RefusesWhatItsHardwareLacks) {
  auto device = make_sim_device(*sim_spec("h200"));
  EXPECT_FALSE(device->capability(DType::nvfp4).supported);
  EXPECT_FALSE(device->plan(reference_problem(DType::nvfp4, {256, 256, 256}), {}).ok());
  EXPECT_FALSE(device->plan(reference_problem(DType::float8_e4m3fn, {256, 256, 250}), {}).ok());
  EXPECT_TRUE(device->plan(reference_problem(DType::float8_e4m3fn, {256, 256, 256}), {}).ok());
}

TEST(SimDevice, MemoryIsCountedAndGivenBack) {
  auto device = make_sim_device(*sim_spec("h200"));
  const std::int64_t before = device->memory()->free_bytes;
  {
    auto buffer = device->allocate(1LL << 30);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(device->memory()->free_bytes, before - (1LL << 30));
  }
  EXPECT_EQ(device->memory()->free_bytes, before);
  const auto refused = device->allocate(before + 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text.find("out of memory"), std::string::npos);
}

TEST(SimDevice, QueueRunsAheadOfTheHost) {
  auto device = make_sim_device(*sim_spec("h200"));
  auto stream = device->make_stream().value();
  auto buffer = device->allocate(4LL << 30).value();
  ASSERT_TRUE(stream->reserve(2, 0).ok());
  const double begin_s = device->now_s();
  ASSERT_TRUE(stream->enqueue_mark(0).ok());
  ASSERT_TRUE(stream->enqueue_set({buffer.get(), 0, buffer->bytes()}, 0).ok());
  ASSERT_TRUE(stream->enqueue_mark(1).ok());
  EXPECT_LT(device->now_s() - begin_s, 2e-5);
  EXPECT_FALSE(*stream->passed(1));
  ASSERT_TRUE(stream->wait(1).ok());
  EXPECT_NEAR(*stream->elapsed_s(0, 1), 1e-3, 1e-4);
  EXPECT_NEAR(device->now_s() - begin_s, *stream->elapsed_s(0, 1), 5e-5);
  EXPECT_FALSE(stream->enqueue_mark(2).ok());  // never reserved
}

TEST(SimDevice, FullWavesBeatPartialOnes) {
  SimSpec spec = *sim_spec("h200");
  spec.texture = 0;
  const auto rate = [&](GemmShape shape) {
    return shape.flop() / sim_product_s(spec, reference_problem(DType::bfloat16, shape), 0, 1980);
  };
  // 132 tiles of 128x256 are one wave; one column of tiles more needs a second.
  EXPECT_GT(rate({1536, 2816, 8192}), 1.3 * rate({1536, 3072, 8192}));
  // K hides the wave's fixed cost.
  EXPECT_GT(rate({1536, 2816, 16384}), rate({1536, 2816, 2048}));
}

TEST(SimDevice, HeatCostsClock) {
  SimSpec spec = *sim_spec("h200");
  auto cold = make_sim_device(spec);
  spec.ambient_c = 95;  // over the slowdown threshold
  auto hot = make_sim_device(spec);
  const auto reading = [](Device& device) {
    device.sleep_s(5);
    return device.own_telemetry()->read(false);
  };
  const Reading a = reading(*cold), b = reading(*hot);
  EXPECT_LT(*b.clock_mhz, *a.clock_mhz);
  EXPECT_NE(*b.reasons & 0x20, 0u);
  EXPECT_EQ(*a.reasons & 0x20, 0u);
}

TEST(SimTelemetry, SensorsCanBeMissing) {
  SimSpec spec = *sim_spec("h200");
  spec.power_sensor = false;
  spec.extra_reasons = 0x80;
  auto device = make_sim_device(spec);
  auto telemetry = device->own_telemetry();
  ASSERT_TRUE(telemetry->problem().has_value());
  EXPECT_EQ(telemetry->info().missing.count("power"), 1u);
  const Reading reading = telemetry->read(false);
  EXPECT_FALSE(reading.power_w.has_value());
  EXPECT_TRUE(reading.clock_mhz.has_value());
  EXPECT_NE(*reading.reasons & 0x80, 0u);
}

TEST(SimTelemetry, EnergyIsTheIntegralOfPower) {
  auto device = make_sim_device(*sim_spec("h200"));
  auto telemetry = device->own_telemetry();
  device->sleep_s(1);
  const Reading a = telemetry->read(false);
  device->sleep_s(2);
  const Reading b = telemetry->read(false);
  EXPECT_NEAR((*b.energy_j - *a.energy_j) / 2, *b.power_w, 1);
}

}  // namespace
}  // namespace gemmpeak
