// NVML telemetry against a scripted libnvidia-ml.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "nvml_script.hpp"
#include "telemetry/nvml_inventory.hpp"
#include "telemetry/nvml_library.hpp"

namespace gemmpeak {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr const char* kPciA = "0000:3b:00.0";
constexpr const char* kPciB = "0000:86:00.0";

std::string opening_error(const TelemetryRequest& request) {
  auto opened = open_telemetry(request);
  EXPECT_FALSE(opened.ok());
  return opened.ok() ? "" : opened.error().message();
}

TEST(Nvml, AHealthyGpuAnswersEverySensor) {
  const NvmlScript script(h200(kUuidA, kPciA));
  auto telemetry = open_or_fail(cuda_request(kUuidA, kPciA));
  ASSERT_TRUE(telemetry);
  const Reading now = telemetry->read(false);
  EXPECT_EQ(now.power_w, 691.0);
  EXPECT_EQ(now.clock_mhz, 1605.0);
  EXPECT_EQ(now.temperature_c, 61.0);
  EXPECT_EQ(now.energy_j, 5000.0);
  EXPECT_EQ(now.reasons, 0x4u);
  EXPECT_EQ(telemetry->problem(), std::nullopt);
  const TelemetryInfo& info = telemetry->info();
  EXPECT_EQ(info.backend, "nvml");
  EXPECT_TRUE(info.validated);
  EXPECT_TRUE(info.required);
  EXPECT_THAT(info.power_source, HasSubstr("instantaneous, GPU scope (field 186)"));
  EXPECT_THAT(info.power_source, HasSubstr("assumed"));
  EXPECT_EQ(info.rated_clock_mhz, 1980.0);
  EXPECT_EQ(info.power_limit_w, 700.0);
  EXPECT_EQ(info.default_power_limit_w, 700.0);
  EXPECT_THAT(info.missing, IsEmpty());
}

TEST(Nvml, ALightReadingAsksPowerAndClockOnly) {
  const NvmlScript script(h200(kUuidA, kPciA));
  auto telemetry = open_or_fail(cuda_request(kUuidA, kPciA));
  ASSERT_TRUE(telemetry);
  const Reading now = telemetry->read(true);
  EXPECT_TRUE(now.power_w && now.clock_mhz);
  EXPECT_FALSE(now.temperature_c || now.energy_j || now.reasons);
}

TEST(Nvml, FactsForTheHeaderAreThere) {
  const NvmlScript script(h200(kUuidA, kPciA) + "say ComputeRunningProcesses 0 3\n" +
                          "say ApplicationsClock 0 1500\nsay DefaultApplicationsClock 0 1980\n");
  auto telemetry = open_or_fail(cuda_request(kUuidA, kPciA));
  ASSERT_TRUE(telemetry);
  const auto& facts = telemetry->info().facts;
  EXPECT_EQ(facts.at("driver"), "580.65.06");
  EXPECT_EQ(facts.at("NVML"), "13.580.65.06");
  EXPECT_EQ(facts.at("VBIOS"), "96.00.A5.00.01");
  EXPECT_EQ(facts.at("ECC"), "on");
  EXPECT_EQ(facts.at("MIG"), "off");
  EXPECT_EQ(facts.at("persistence"), "on");
  EXPECT_EQ(facts.at("PCI device id"), "10de:2335");
  EXPECT_EQ(facts.at("throttle reasons at start"), "power cap");
  EXPECT_EQ(facts.at("application clock"), "1500 MHz (default 1980 MHz)");
  EXPECT_THAT(facts.at("compute processes at start"), HasSubstr("3"));
  EXPECT_EQ(facts.at("power limit"), "700 W (default 700 W)");
}

TEST(Nvml, ALoweredLimitIsShownAgainstItsDefault) {
  const NvmlScript script(h200(kUuidA, kPciA) +
                          "say EnforcedPowerLimit 0 500000\nsay PowerManagementLimit 0 600000\n");
  auto telemetry = open_or_fail(cuda_request(kUuidA, kPciA));
  ASSERT_TRUE(telemetry);
  EXPECT_EQ(telemetry->info().power_limit_w, 500.0);
  EXPECT_EQ(telemetry->info().facts.at("power limit"),
            "500 W (default 700 W); 600 W was asked for, a lower limit is enforced");
}

// ---- which GPU ----

TEST(NvmlJoin, TheUuidDecidesWhereNvmlsOrderDiffersFromCudas) {
  // CUDA's device 0 is the second GPU here, as with CUDA_VISIBLE_DEVICES=1 or a UUID list.
  const NvmlScript script(h200(kUuidA, kPciA, 100000) + h200(kUuidB, kPciB, 200000));
  auto first = open_or_fail(cuda_request(kUuidB, kPciB));
  auto second = open_or_fail(cuda_request(kUuidA, kPciA));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->read(true).power_w, 200.0);
  EXPECT_EQ(second->read(true).power_w, 100.0);
  EXPECT_EQ(first->info().facts.at("NVML index"), "1");
  EXPECT_THAT(first->info().facts.at("NVML device"), HasSubstr(kUuidB));
}

TEST(NvmlJoin, WithoutAUuidThePciBusIdDecides) {
  const NvmlScript script(h200(kUuidA, kPciA, 100000) + h200(kUuidB, kPciB, 200000));
  auto telemetry = open_or_fail(cuda_request("", kPciB));
  ASSERT_TRUE(telemetry);
  EXPECT_EQ(telemetry->read(true).power_w, 200.0);
  EXPECT_THAT(telemetry->info().facts.at("NVML device"), HasSubstr("PCI bus id"));
}

TEST(NvmlJoin, AnUnknownDeviceIsAnErrorAndNeverAnotherOne) {
  const NvmlScript script(h200(kUuidA, kPciA));
  EXPECT_THAT(opening_error(cuda_request(kUuidB, kPciB)), HasSubstr("NVML knows no device"));
  EXPECT_THAT(opening_error(cuda_request("", "")), HasSubstr("neither UUID nor PCI bus id"));
}

TEST(NvmlJoin, ARefusedHandleGivesTheReasonAndTheFix) {
  const NvmlScript script(h200(kUuidA, kPciA) + "say Handle 4\n");
  const std::string error = opening_error(cuda_request(kUuidA, kPciA));
  EXPECT_THAT(error, HasSubstr("Insufficient Permissions"));
  EXPECT_THAT(error, HasSubstr("run as root"));
}

// ---- MIG ----

constexpr const char* kSlice = "MIG-cccccccc-0000-0000-0000-000000000003";

TEST(NvmlMig, ASliceReadsTheWholeCardAndIsNotValidated) {
  const NvmlScript script(h200(kUuidA, kPciA) + "say MigMode 0 1\nmig " + kSlice + "\n");
  auto telemetry = open_or_fail(cuda_request(kSlice, kPciA));
  ASSERT_TRUE(telemetry);
  EXPECT_EQ(telemetry->read(true).power_w, 691.0);
  EXPECT_EQ(telemetry->read(true).clock_mhz, 1605.0);
  EXPECT_FALSE(telemetry->info().validated);
  EXPECT_THAT(telemetry->info().facts.at("MIG"), HasSubstr("slice"));
  EXPECT_THAT(telemetry->info().facts.at("power scope"), HasSubstr("whole card"));
}

TEST(NvmlMig, TheSlicesOwnClockIsPreferred) {
  const NvmlScript script(h200(kUuidA, kPciA) + "say MigMode 0 1\nmig " + kSlice +
                          "\nsay ClockInfo 0 1755\n");
  auto telemetry = open_or_fail(cuda_request(kSlice, kPciA));
  ASSERT_TRUE(telemetry);
  EXPECT_EQ(telemetry->read(true).clock_mhz, 1755.0);
}

TEST(NvmlMig, ASliceThatCudaCallsGpuIsFoundAllTheSame) {
  const NvmlScript script(h200(kUuidA, kPciA) + "say MigMode 0 1\nmig " + kSlice + "\n");
  const std::string as_gpu = "GPU-" + std::string(kSlice).substr(4);
  auto telemetry = open_or_fail(cuda_request(as_gpu, kPciA));
  ASSERT_TRUE(telemetry);
  EXPECT_FALSE(telemetry->info().validated);
}

TEST(NvmlMig, ACardUuidUnderTheMigPrefixIsFoundAllTheSame) {
  const NvmlScript script(h200(kUuidA, kPciA) + "say MigMode 0 1\n");
  auto telemetry = open_or_fail(cuda_request("MIG-" + std::string(kUuidA).substr(4), kPciA));
  ASSERT_TRUE(telemetry);
  EXPECT_FALSE(telemetry->info().validated);
}

TEST(NvmlMig, RefusedPowerIsAProblemWithReasonAndFix) {
  const NvmlScript script("gpu " + std::string(kUuidA) + " " + kPciA +
                          " NVIDIA H200\nsay MigMode 0 1\nsay field:186 4\nsay PowerUsage 4\n"
                          "say ClockInfo 4\nmig " +
                          kSlice + "\nsay PowerUsage 3\nsay ClockInfo 3\n");
  auto telemetry = open_or_fail(cuda_request(kSlice, kPciA));
  ASSERT_TRUE(telemetry);
  const auto problem = telemetry->problem();
  ASSERT_TRUE(problem);
  EXPECT_THAT(*problem, HasSubstr("power cannot be read"));
  EXPECT_THAT(*problem, HasSubstr("clock cannot be read"));
  EXPECT_THAT(*problem, HasSubstr("Insufficient Permissions"));
  EXPECT_THAT(*problem, HasSubstr("run as root"));
}

// ---- NVML cannot serve ----

TEST(NvmlOpen, AMissingLibraryIsAnErrorWithTheFix) {
  const std::string error =
      opening_error(cuda_request(kUuidA, kPciA, "/nonexistent/libnvidia-ml.so.1"));
  EXPECT_THAT(error, HasSubstr("NVML library /nonexistent/libnvidia-ml.so.1 could not be loaded"));
  EXPECT_THAT(error, HasSubstr("libnvidia-compute"));
  EXPECT_THAT(error, HasSubstr("NVIDIA_DRIVER_CAPABILITIES=utility,compute"));
}

TEST(NvmlOpen, ARefusedInitIsAnErrorWithTheFix) {
  const NvmlScript script("init 9\n");
  const std::string error = opening_error(cuda_request(kUuidA, kPciA));
  EXPECT_THAT(error, HasSubstr("nvmlInit_v2: Driver Not Loaded"));
  EXPECT_THAT(error, HasSubstr("modprobe nvidia"));
}

TEST(NvmlOpen, ALibraryWithoutNvmlsFunctionsIsAnError) {
  EXPECT_THAT(opening_error(cuda_request(kUuidA, kPciA, FAKE_NVML_STUMP)),
              HasSubstr("is no NVML library"));
}

TEST(NvmlOpen, AnOldLibraryServesByPciWithAveragedPower) {
  const NvmlScript script(h200(kUuidA, kPciA, 100000) + h200(kUuidB, kPciB, 200000) +
                          "say ViolationStatus:0 0 2500000000\n");
  auto telemetry = open_or_fail(cuda_request(kUuidB, kPciB, FAKE_NVML_OLD));
  ASSERT_TRUE(telemetry);
  EXPECT_EQ(telemetry->read(false).power_w, 150.0);
  EXPECT_EQ(telemetry->read(false).reasons, 0x4u);
  EXPECT_THAT(telemetry->info().power_source, HasSubstr("1 s average"));
  EXPECT_THAT(telemetry->info().power_source, HasSubstr("Function Not Found"));
  EXPECT_EQ(telemetry->info().power_refresh_s, 1.0);
  EXPECT_THAT(telemetry->throttle_seconds(), ElementsAre(Pair("power cap", 2.5)));
}

// ---- power ----

TEST(NvmlPower, WithoutTheInstantaneousFieldTheAverageIsUsedAndNamed) {
  const NvmlScript script(h200(kUuidA, kPciA) + "say field:186 3\n");
  auto telemetry = open_or_fail(cuda_request(kUuidA, kPciA));
  ASSERT_TRUE(telemetry);
  EXPECT_EQ(telemetry->read(true).power_w, 150.0);
  EXPECT_THAT(telemetry->info().power_source, HasSubstr("1 s average (nvmlDeviceGetPowerUsage"));
  EXPECT_EQ(telemetry->problem(), std::nullopt);
}

TEST(NvmlPower, ThePlainCallIsNotCalledAnAverageOnGa100AndBefore) {
  // 0x20b210de: an A100. 7: Ampere, 5: Volta.
  for (const char* card : {"say Architecture 0 7\nsay PciInfo 0 548540638\n",
                           "say Architecture 0 5\nsay PciInfo 0 498405598\n"}) {
    const NvmlScript script("gpu " + std::string(kUuidA) + " " + kPciA +
                            " GPU\nsay PowerUsage 0 300000\nsay ClockInfo 0 1410\n" + card);
    auto telemetry = open_or_fail(cuda_request(kUuidA, kPciA));
    ASSERT_TRUE(telemetry);
    EXPECT_EQ(telemetry->read(true).power_w, 300.0);
    EXPECT_THAT(telemetry->info().power_source, HasSubstr("not averaged")) << card;
  }
}

TEST(NvmlPower, EachValueTypeIsDecodedByItself) {
  for (int type = nvml::kDouble; type <= nvml::kUnsignedShort; ++type) {
    const double mw = type == nvml::kUnsignedShort ? 65000 : 654321;
    const NvmlScript script(h200(kUuidA, kPciA, mw) + "type field:186 " + std::to_string(type) +
                            "\n");
    auto telemetry = open_or_fail(cuda_request(kUuidA, kPciA));
    ASSERT_TRUE(telemetry);
    EXPECT_EQ(telemetry->read(true).power_w, mw / 1e3) << "type " << type;
    EXPECT_THAT(telemetry->info().power_source, HasSubstr("186")) << "type " << type;
  }
}

TEST(NvmlPower, AnUnknownTypeIsNoReading) {
  const NvmlScript script(h200(kUuidA, kPciA) + "type field:186 42\n");
  auto telemetry = open_or_fail(cuda_request(kUuidA, kPciA));
  ASSERT_TRUE(telemetry);
  EXPECT_EQ(telemetry->read(true).power_w, 150.0);
  EXPECT_THAT(telemetry->info().power_source, HasSubstr("no usable value (type 42)"));
}

TEST(NvmlPower, NotAvailableAndZeroAreNoReadings) {
  for (const char* value : {"4294967295", "0"}) {
    const NvmlScript script(h200(kUuidA, kPciA) + "say field:186 3\n" + "gpu " + kUuidB + " " +
                            kPciB + " G\nsay ClockInfo 0 900\nsay field:186 0 " + value +
                            "\nsay PowerUsage 0 " + value + "\n");
    auto telemetry = open_or_fail(cuda_request(kUuidB, kPciB));
    ASSERT_TRUE(telemetry);
    EXPECT_FALSE(telemetry->read(true).power_w) << value;
    EXPECT_THAT(telemetry->problem().value_or(""), HasSubstr("power cannot be read")) << value;
  }
}

TEST(NvmlPower, MissingEnergyIsNamedAndNoProblem) {
  const NvmlScript script("gpu " + std::string(kUuidA) + " " + kPciA +
                          " GPU\nsay field:186 0 70000\nsay ClockInfo 0 1590\n");
  auto telemetry = open_or_fail(cuda_request(kUuidA, kPciA));
  ASSERT_TRUE(telemetry);
  EXPECT_FALSE(telemetry->read(false).energy_j);
  EXPECT_THAT(telemetry->info().missing.at("energy"), HasSubstr("Not Supported"));
  EXPECT_EQ(telemetry->problem(), std::nullopt);
  EXPECT_FALSE(telemetry->info().rated_clock_mhz) << "the rated clock is optional";
}

// ---- failing half-way ----

TEST(NvmlFailure, ASensorThatFailsForGoodIsEmptyFromThenOn) {
  // One call at the opening, two readings, then the GPU is lost.
  const NvmlScript script(h200(kUuidA, kPciA) + "fail field:186 3 15\n");
  auto telemetry = open_or_fail(cuda_request(kUuidA, kPciA));
  ASSERT_TRUE(telemetry);
  const TelemetryInfo& before = telemetry->info();
  EXPECT_TRUE(telemetry->read(true).power_w);
  EXPECT_TRUE(telemetry->read(true).power_w);
  for (int i = 0; i < 5; ++i) {
    const Reading now = telemetry->read(true);
    EXPECT_FALSE(now.power_w);
    EXPECT_EQ(now.clock_mhz, 1605.0) << "the other sensors go on";
  }
  EXPECT_THAT(telemetry->info().missing.at("power"), HasSubstr("failed during the run"));
  EXPECT_THAT(telemetry->info().missing.at("power"), HasSubstr("GPU is lost"));
  EXPECT_THAT(telemetry->problem().value_or(""), HasSubstr("GPU is lost"));
  EXPECT_THAT(before.missing, IsEmpty()) << "an older view stays as it was, and valid";
}

TEST(NvmlFailure, AHiccupLeavesOneReadingEmpty) {
  const NvmlScript script(h200(kUuidA, kPciA) + "fail ClockInfo 3 999 1\n");
  auto telemetry = open_or_fail(cuda_request(kUuidA, kPciA));
  ASSERT_TRUE(telemetry);
  std::vector<bool> answered;
  for (int i = 0; i < 4; ++i) answered.push_back(telemetry->read(true).clock_mhz.has_value());
  // The first two calls were the opening's: one of the sensor, one for the header's facts.
  EXPECT_THAT(answered, ElementsAre(true, false, true, true));
  EXPECT_THAT(telemetry->info().missing, IsEmpty());
}

TEST(NvmlFailure, ThreeFailuresInARowAreTheEnd) {
  const NvmlScript script(h200(kUuidA, kPciA) + "fail Temperature 1 999 3\n");
  auto telemetry = open_or_fail(cuda_request(kUuidA, kPciA));
  ASSERT_TRUE(telemetry);
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(telemetry->read(false).temperature_c);
  EXPECT_THAT(telemetry->info().missing.at("temperature"), HasSubstr("Unknown Error"));
}

TEST(NvmlFailure, OneThreadMayReadWhileAnotherLooksAtTheInfo) {
  const NvmlScript script(h200(kUuidA, kPciA) + "fail field:186 200 15\nfail Temperature 300 15\n");
  auto telemetry = open_or_fail(cuda_request(kUuidA, kPciA));
  ASSERT_TRUE(telemetry);
  std::atomic<bool> done{false};
  std::thread reader([&] {
    for (int i = 0; i < 400; ++i) (void)telemetry->read(false);
    done = true;
  });
  std::size_t most = 0;
  do {
    const TelemetryInfo& info = telemetry->info();
    most = std::max(most, info.missing.size());
    EXPECT_EQ(info.backend, "nvml");
    for (const auto& [name, why] : info.missing) EXPECT_FALSE(why.empty()) << name;
  } while (!done);
  reader.join();
  EXPECT_EQ(telemetry->info().missing.size(), 2u);
  EXPECT_LE(most, 2u);
}

// ---- throttling ----

TEST(NvmlReasons, ReasonsAreBitsAndUnknownOnesAreKept) {
  const NvmlScript script(h200(kUuidA, kPciA) + "say Reasons 0 4132\n");
  auto telemetry = open_or_fail(cuda_request(kUuidA, kPciA));
  ASSERT_TRUE(telemetry);
  const auto reasons = telemetry->read(false).reasons;
  ASSERT_TRUE(reasons);
  EXPECT_EQ(*reasons, 0x1024u);
  EXPECT_THAT(throttle_names(*reasons), ElementsAre("power cap", "software thermal", "bit 0x1000"));
}

std::string counters(int first) {
  std::string out =
      "say field:74 0 7000000000\ntype field:74 3\nsay field:76 0 0\ntype field:76 3\n";
  for (int i = 0; i < 3; ++i) {
    const std::string key = "field:" + std::to_string(first + i);
    out += "say " + key + " 0 " + std::to_string(1000000000LL * (i + 1)) + "\ntype " + key + " 3\n";
  }
  return out;
}

TEST(NvmlThrottleSeconds, BothNumberingsOfTheCountersAreFound) {
  for (const int first : {251, 269}) {
    const NvmlScript script(h200(kUuidA, kPciA) + counters(first));
    auto telemetry = open_or_fail(cuda_request(kUuidA, kPciA));
    ASSERT_TRUE(telemetry);
    EXPECT_THAT(
        telemetry->throttle_seconds(),
        ElementsAre(Pair("hardware thermal", 2.0), Pair("power brake", 3.0), Pair("power cap", 7.0),
                    Pair("software thermal", 1.0), Pair("sync boost", 0.0)))
        << first;
  }
}

TEST(NvmlThrottleSeconds, SettingsUnderTheOtherNumberingAreNotTakenForCounters) {
  // The newer ids answer here too, but as 32-bit settings.
  const NvmlScript script(h200(kUuidA, kPciA) + counters(251) +
                          "say field:269 0 1\nsay field:270 0 90\nsay field:271 0 5000\n");
  auto telemetry = open_or_fail(cuda_request(kUuidA, kPciA));
  ASSERT_TRUE(telemetry);
  EXPECT_EQ(telemetry->throttle_seconds().at("power brake"), 3.0);
}

TEST(NvmlThrottleSeconds, EachFieldsOwnCodeIsChecked) {
  const NvmlScript script(h200(kUuidA, kPciA) + "say field:74 4 7000000000\ntype field:74 3\n");
  auto telemetry = open_or_fail(cuda_request(kUuidA, kPciA));
  ASSERT_TRUE(telemetry);
  EXPECT_THAT(telemetry->throttle_seconds(), IsEmpty());
}

TEST(NvmlThrottleSeconds, TheViolationStatusStandsInForMissingFields) {
  const NvmlScript script(h200(kUuidA, kPciA) + "say ViolationStatus:0 0 4000000000\n" +
                          "say ViolationStatus:1 0 500000000\n");
  auto telemetry = open_or_fail(cuda_request(kUuidA, kPciA));
  ASSERT_TRUE(telemetry);
  EXPECT_THAT(telemetry->throttle_seconds(),
              ElementsAre(Pair("power cap", 4.0), Pair("thermal", 0.5)));
}

// ---- siblings ----

std::vector<int> idle_indices(Telemetry& telemetry) {
  std::vector<int> out;
  for (const Sibling& sibling : telemetry.idle_siblings(10)) out.push_back(sibling.index);
  return out;
}

std::string linked(const std::string& uuid, const std::string& pci, const std::string& use) {
  return h200(uuid, pci) + "say nvlink:17 0 1\nsay UtilizationRates 0 " + use + "\n";
}

TEST(NvmlSiblings, IdleOnesAreThoseUnderThePercentageNow) {
  const NvmlScript script(linked(kUuidA, kPciA, "99") + linked(kUuidB, kPciB, "3 97 9 10"));
  auto telemetry = open_or_fail(cuda_request(kUuidA, kPciA));
  ASSERT_TRUE(telemetry);
  EXPECT_THAT(idle_indices(*telemetry), ElementsAre(1));
  EXPECT_THAT(idle_indices(*telemetry), IsEmpty());
  EXPECT_THAT(idle_indices(*telemetry), ElementsAre(1));
  EXPECT_THAT(idle_indices(*telemetry), IsEmpty()) << "10 % is not under 10 %";
}

TEST(NvmlSiblings, NvlinkOnOneEndOnlyIsNoSibling) {
  const NvmlScript script(linked(kUuidA, kPciA, "99") + h200(kUuidB, kPciB) +
                          "say nvlink:0 0 0\nsay UtilizationRates 0 0\n");
  auto near_end = open_or_fail(cuda_request(kUuidA, kPciA));
  auto far_end = open_or_fail(cuda_request(kUuidB, kPciB));
  ASSERT_TRUE(near_end && far_end);
  EXPECT_THAT(idle_indices(*near_end), IsEmpty());
  EXPECT_THAT(idle_indices(*far_end), IsEmpty());
}

TEST(NvmlSiblings, AnotherModelIsNoSibling) {
  const NvmlScript script(linked(kUuidA, kPciA, "99") + "gpu " + kUuidB + " " + kPciB +
                          " NVIDIA H100\nsay nvlink:0 0 1\nsay UtilizationRates 0 0\n");
  auto telemetry = open_or_fail(cuda_request(kUuidA, kPciA));
  ASSERT_TRUE(telemetry);
  EXPECT_THAT(idle_indices(*telemetry), IsEmpty());
}

TEST(NvmlSiblings, AnUnreadableUtilisationIsNotIdleness) {
  const NvmlScript script(linked(kUuidA, kPciA, "99") + h200(kUuidB, kPciB) +
                          "say nvlink:0 0 1\nsay UtilizationRates 4\n");
  auto telemetry = open_or_fail(cuda_request(kUuidA, kPciA));
  ASSERT_TRUE(telemetry);
  EXPECT_THAT(idle_indices(*telemetry), IsEmpty());
}

// ---- the list of all GPUs ----

TEST(NvmlInventory, ListsEveryGpuAndKeepsGoingPastARefusedOne) {
  const NvmlScript script(h200(kUuidA, kPciA) + "say MemoryInfo 0 150754820096\nmig " + kSlice +
                          "\n" + h200(kUuidB, kPciB) + "say Handle 15\n");
  auto inventory = nvml_inventory(FAKE_NVML_FULL);
  ASSERT_TRUE(inventory.ok());
  EXPECT_EQ(inventory->driver, "580.65.06");
  ASSERT_EQ(inventory->gpus.size(), 2u);
  EXPECT_EQ(inventory->gpus[0].uuid, kUuidA);
  EXPECT_EQ(inventory->gpus[0].name, "NVIDIA H200");
  EXPECT_EQ(inventory->gpus[0].memory_bytes, 150754820096);
  EXPECT_EQ(inventory->gpus[0].pci_bus_id, kPciA);
  EXPECT_THAT(inventory->gpus[1].problem, HasSubstr("GPU is lost"));
  EXPECT_FALSE(nvml_inventory("/nonexistent.so").ok());
}

}  // namespace
}  // namespace gemmpeak
