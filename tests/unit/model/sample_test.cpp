#include "model/sample.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "filled_records.hpp"

namespace gemmpeak {
namespace {

Reading reading(double t_s, std::optional<double> power_w, std::optional<double> clock_mhz,
                std::optional<double> energy_j = {}) {
  Reading out;
  out.t_s = t_s;
  out.power_w = power_w;
  out.clock_mhz = clock_mhz;
  out.energy_j = energy_j;
  return out;
}

TEST(Summarise, NoReadingsLeaveEverySensorEmpty) {
  const SensorSummary summary = summarise({});
  EXPECT_EQ(summary.readings, 0);
  EXPECT_FALSE(summary.power_w || summary.clock_min_mhz || summary.clock_mean_mhz ||
               summary.clock_max_mhz || summary.temperature_c || summary.energy_j ||
               summary.reasons);
}

TEST(Summarise, EachSensorIsReducedOverTheReadingsThatHaveIt) {
  std::vector<Reading> readings = {reading(0, 700, 1500), reading(1, {}, 1470),
                                   reading(2, 710, {})};
  readings[0].temperature_c = 60;
  readings[1].temperature_c = 61;
  readings[0].reasons = 0x4;
  readings[2].reasons = 0x20;
  const SensorSummary summary = summarise(readings);
  EXPECT_EQ(summary.readings, 3);
  EXPECT_EQ(summary.power_w, 705);
  EXPECT_EQ(summary.clock_min_mhz, 1470);
  EXPECT_EQ(summary.clock_mean_mhz, 1485);
  EXPECT_EQ(summary.clock_max_mhz, 1500);
  EXPECT_EQ(summary.temperature_c, 61);
  EXPECT_EQ(summary.reasons, 0x24u);
}

TEST(Summarise, EnergyIsTheCounterDifferenceFromOneSecondOn) {
  EXPECT_EQ(summarise({reading(0, {}, {}, 100.0), reading(0.9, {}, {}, 700.0)}).energy_j,
            std::nullopt);
  const SensorSummary summary =
      summarise({reading(0, 1, 1), reading(1, {}, {}, 100.0), reading(3, {}, {}, 1500.0)});
  EXPECT_EQ(summary.energy_j, 1400);
  EXPECT_EQ(summary.energy_span_s, 2);
}

TEST(Summarise, AnEnergyCounterThatFellTellsNothing) {
  EXPECT_EQ(summarise({reading(0, {}, {}, 900.0), reading(2, {}, {}, 10.0)}).energy_j,
            std::nullopt);
}

TEST(LoopSample, RatesComeFromMeanMedianAndMinimumTime) {
  LoopSample sample;
  sample.shape = {1000, 1000, 500};  // 1e9 flop
  EXPECT_EQ(sample.mean_tflops(), 0);
  EXPECT_EQ(sample.median_tflops(), 0);
  EXPECT_EQ(sample.max_tflops(), 0);
  sample.seconds = {1e-3, 2e-3, 6e-3};
  EXPECT_DOUBLE_EQ(sample.mean_tflops(), 1.0 / 3);
  EXPECT_DOUBLE_EQ(sample.median_tflops(), 0.5);
  EXPECT_DOUBLE_EQ(sample.max_tflops(), 1.0);
}

TEST(LoopSample, RatesOfDimensionsWhoseProductPasses64BitsAreRight) {
  LoopSample sample;
  sample.shape = {2147483647, 2147483647, 2147483647};
  sample.seconds = {1.0};
  EXPECT_NEAR(sample.mean_tflops() / (2 * std::pow(2147483647.0, 3) / 1e12), 1, 1e-15);
}

TEST(LoopSample, RatesAndSensorsAreTheReferences) {
  std::ifstream file(std::string(GEMMPEAK_TEST_DATA) +
                     "/golden/reference/saturated_statistics.json");
  const Json document = Json::parse(file, nullptr, false);
  ASSERT_TRUE(document.contains("cases"));
  const auto near = [](double ours, const Json& theirs) {
    EXPECT_NEAR(ours, theirs.get<double>(), 1e-12 * theirs.get<double>());
  };
  const auto same = [&near](std::optional<double> ours, const Json& theirs) {
    ASSERT_EQ(ours.has_value(), theirs.is_number());
    if (ours) near(*ours, theirs);
  };
  for (const Json& item : document["cases"]) {
    const Json& in = item["in"];
    LoopSample sample;
    sample.shape = {in["shape"][0], in["shape"][1], in["shape"][2]};
    for (std::size_t i = in["warmup"]; i < in["times_ms"].size(); ++i)
      sample.seconds.push_back(in["times_ms"][i].get<double>() / 1e3);
    near(sample.mean_tflops(), item["out"]["mean"]);
    near(sample.median_tflops(), item["out"]["median"]);
    near(sample.max_tflops(), item["out"]["max"]);
    if (in["readings"].is_null()) continue;
    std::vector<Reading> readings;
    const auto value = [](const Json& json) {
      return json.is_null() ? std::nullopt : std::optional(json.get<double>());
    };
    for (const Json& pair : in["readings"])
      readings.push_back(reading(0, value(pair[0]), value(pair[1])));
    const SensorSummary summary = summarise(readings);
    const Json& telemetry = item["out"]["telemetry"];
    same(summary.power_w, telemetry["power"]);
    same(summary.clock_min_mhz, telemetry["clock_min"]);
    same(summary.clock_mean_mhz, telemetry["clock_mean"]);
    same(summary.clock_max_mhz, telemetry["clock_max"]);
  }
}

TEST(BurstSample, ARateBeyondTheIterationsIsZero) {
  EXPECT_GT(filled_burst().tflops(0), filled_burst().tflops(1));
  EXPECT_EQ(filled_burst().tflops(2), 0);
}

TEST(HeldSample, RateIsAllFlopOverTheWholeWindow) {
  HeldSample sample;
  sample.shape = {1000, 1000, 500};  // 1e9 flop
  sample.chunk_seconds = {0.4, 0.4};
  sample.chunk_products = 500;
  EXPECT_EQ(sample.tflops(), 0);
  sample.window.span_s = 1.0;  // gaps between chunks count
  EXPECT_DOUBLE_EQ(sample.tflops(), 1.0);
}

TEST(HeldSample, JoulesPerTflopAreWattsOverRate) {
  HeldSample sample;
  sample.shape = {1000, 1000, 500};
  sample.chunk_seconds = {1, 1};
  sample.chunk_products = 1000;
  sample.window.span_s = 2.0;  // 1 TFLOP/s
  EXPECT_EQ(sample.joules_per_tflop(), std::nullopt);
  sample.window.sensors.energy_j = 950;
  sample.window.sensors.energy_span_s = 1.9;  // the counter was read inside the window: 500 W
  EXPECT_DOUBLE_EQ(sample.joules_per_tflop().value(), 500);
}

template <class Record>
Json through_text(const Record& record) {
  return Json::parse(to_json(record).dump());
}

TEST(SampleJson, EveryRecordComesBackFromItsText) {
  const auto again = [](const auto& read) {
    EXPECT_TRUE(read.ok()) << read.error().message();
    return to_json(read.value()).dump();
  };
  EXPECT_EQ(again(loop_from_json(through_text(filled_loop()))), to_json(filled_loop()).dump());
  EXPECT_EQ(again(burst_from_json(through_text(filled_burst()))), to_json(filled_burst()).dump());
  EXPECT_EQ(again(held_from_json(through_text(filled_held()))), to_json(filled_held()).dump());
  EXPECT_EQ(again(verify_from_json(through_text(filled_verify()))),
            to_json(filled_verify()).dump());
}

TEST(SampleJson, FieldsComeBackAsTheyWere) {
  const auto held = held_from_json(through_text(filled_held()));
  ASSERT_TRUE(held.ok());
  EXPECT_EQ(held->set_bytes, 5000000000);
  EXPECT_EQ(held->window.sensors.reasons, 0x24u);
  EXPECT_EQ(held->window.host_s, 0.1 + 0.2);
  const auto loop = loop_from_json(through_text(filled_loop()));
  ASSERT_TRUE(loop.ok());
  EXPECT_EQ(loop->seconds, filled_loop().seconds);
  EXPECT_EQ(loop->outcome.state, OutcomeState::noisy);
  EXPECT_EQ(loop->outcome.reason, "spread 4.1 %");
}

TEST(SampleJson, DoublesComeBackBitForBit) {
  std::mt19937_64 random(7);
  VerifyRecord record;
  for (int i = 0; i < 4000; ++i) {
    record.worst_ratio = std::bit_cast<double>(random());
    if (std::isnan(record.worst_ratio)) continue;
    const auto read = verify_from_json(through_text(record));
    ASSERT_TRUE(read.ok());
    ASSERT_EQ(std::bit_cast<std::uint64_t>(read->worst_ratio),
              std::bit_cast<std::uint64_t>(record.worst_ratio));
  }
}

TEST(SampleJson, ValuesThatJsonHasNoNumberForComeBack) {
  VerifyRecord record = filled_verify();
  record.worst_ratio = std::numeric_limits<double>::infinity();
  EXPECT_EQ(verify_from_json(through_text(record))->worst_ratio, record.worst_ratio);
  record.worst_ratio = -record.worst_ratio;
  EXPECT_EQ(verify_from_json(through_text(record))->worst_ratio, record.worst_ratio);
  record.worst_ratio = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(verify_from_json(through_text(record))->worst_ratio));
}

TEST(SampleJson, EmptyOptionalsAreAbsent) {
  LoopSample sample;
  const Json json = to_json(sample);
  EXPECT_FALSE(json["window"].contains("device_clock_mhz"));
  EXPECT_EQ(json["window"]["sensors"].size(), 1u);  // readings
  EXPECT_FALSE(json["outcome"].contains("reason"));
  const auto read = loop_from_json(json);
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read->window.sensors.power_w.has_value());
}

TEST(SampleJson, EveryMissingOrMistypedMemberIsAnErrorThatNamesIt) {
  const Json good = to_json(filled_held());
  static const std::vector<std::string> derived = {"tflops", "joules_per_tflop"};
  for (const auto& [name, value] : good.items()) {
    if (std::find(derived.begin(), derived.end(), name) != derived.end()) continue;
    Json broken = good;
    broken.erase(name);
    const auto missing = held_from_json(broken);
    ASSERT_FALSE(missing.ok()) << name;
    EXPECT_NE(missing.error().text.find("'" + name + "'"), std::string::npos);
    broken = good;
    broken[name] = nullptr;
    EXPECT_FALSE(held_from_json(broken).ok()) << name;
  }
  EXPECT_FALSE(held_from_json(Json::array()).ok());
  EXPECT_FALSE(held_from_json(nullptr).ok());
}

TEST(SampleJson, BadInnerValuesAreErrors) {
  Json json = to_json(filled_burst());
  json["iterations"][1]["seconds"] = "fast";
  const auto bad_iteration = burst_from_json(json);
  ASSERT_FALSE(bad_iteration.ok());
  EXPECT_NE(bad_iteration.error().text.find("iteration 1"), std::string::npos);
  json = to_json(filled_loop());
  json["outcome"]["state"] = "splendid";
  EXPECT_NE(loop_from_json(json).error().text.find("splendid"), std::string::npos);
  json = to_json(filled_loop());
  json["shape"] = {1, 2};
  EXPECT_FALSE(loop_from_json(json).ok());
  json = to_json(filled_loop());
  json["window"]["sensors"]["reasons"] = -1;
  EXPECT_FALSE(loop_from_json(json).ok());
  json = to_json(filled_held());
  json["operand_sets"] = 5000000000;
  EXPECT_FALSE(held_from_json(json).ok());
}

}  // namespace
}  // namespace gemmpeak
