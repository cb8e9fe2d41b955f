// CPU telemetry on a made-up sysfs and clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "telemetry/rapl_telemetry.hpp"

namespace gemmpeak {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Rapl : public ::testing::Test {
 protected:
  Rapl() {
    root_ = fs::temp_directory_path() / ("gemmpeak_sysfs_" + std::to_string(::getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~Rapl() override { fs::remove_all(root_); }

  void put(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
  void domain(const std::string& folder, const std::string& name, const std::string& energy_uj) {
    put("sys/class/powercap/" + folder + "/name", name);
    put("sys/class/powercap/" + folder + "/energy_uj", energy_uj);
    put("sys/class/powercap/" + folder + "/max_energy_range_uj", "262143328850");
  }
  void energy(int package, const std::string& uj) {
    put("sys/class/powercap/intel-rapl:" + std::to_string(package) + "/energy_uj", uj);
  }
  void cpu(int number, const std::string& khz) {
    const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(number) + "/cpufreq/";
    put(folder + "scaling_cur_freq", khz);
    put(folder + "cpuinfo_max_freq", "3500000");
    put(folder + "scaling_driver", "intel_pstate");
    put(folder + "scaling_governor", "performance");
  }
  std::unique_ptr<Telemetry> open(std::vector<int> cpus = {0, 1}) {
    return open_rapl({root_.string(), std::move(cpus), [this] { return now_s_; }});
  }

  fs::path root_;
  double now_s_ = 100;
};

TEST_F(Rapl, PowerIsTheEnergyOfAllPackagesOverTime) {
  domain("intel-rapl:0", "package-0", "1000000");
  domain("intel-rapl:1", "package-1", "9000000");
  auto telemetry = open();
  now_s_ += 0.02;
  energy(0, "3000000");   // +2 J
  energy(1, "10000000");  // +1 J
  const Reading now = telemetry->read(false);
  ASSERT_TRUE(now.power_w && now.energy_j);
  EXPECT_NEAR(*now.power_w, 150, 1e-6);
  EXPECT_NEAR(*now.energy_j, 3, 1e-9);
  EXPECT_THAT(telemetry->info().power_source, HasSubstr("2 packages"));
}

TEST_F(Rapl, SubDomainsPsysAndTheMmioTwinAreNotCounted) {
  domain("intel-rapl:0", "package-0", "0");
  domain("intel-rapl:0:0", "core", "0");
  domain("intel-rapl:0:1", "dram", "0");
  domain("intel-rapl:1", "psys", "0");
  domain("intel-rapl-mmio:0", "package-0", "0");
  auto telemetry = open();
  for (const char* folder :
       {"intel-rapl:0", "intel-rapl:0:0", "intel-rapl:0:1", "intel-rapl:1", "intel-rapl-mmio:0"})
    put("sys/class/powercap/" + std::string(folder) + "/energy_uj", "1000000");
  now_s_ += 0.1;
  EXPECT_NEAR(telemetry->read(true).power_w.value_or(0), 10, 1e-6);
}

TEST_F(Rapl, AWrappedCounterGoesOn) {
  domain("intel-rapl:0", "package-0", "262143000000");
  auto telemetry = open();
  now_s_ += 0.1;
  energy(0, "671150");  // 328850 uJ to the end of the range and 671150 after it: 1 J
  const Reading now = telemetry->read(false);
  EXPECT_NEAR(now.energy_j.value_or(0), 1, 1e-6);
  EXPECT_NEAR(now.power_w.value_or(0), 10, 1e-5);
}

TEST_F(Rapl, ReadingsCloserThan5MsHaveNoPowerRatherThanTheLastOne) {
  domain("intel-rapl:0", "package-0", "0");
  auto telemetry = open();
  now_s_ += 0.01;
  energy(0, "1000000");
  EXPECT_NEAR(telemetry->read(true).power_w.value_or(0), 100, 1e-6);
  now_s_ += 0.001;
  EXPECT_FALSE(telemetry->read(true).power_w);
  now_s_ += 0.009;
  energy(0, "3000000");
  EXPECT_NEAR(telemetry->read(true).power_w.value_or(0), 200, 1e-6);
}

TEST_F(Rapl, ThePauseBetweenTwoWindowsIsNoPartOfTheNextOnesPower) {
  domain("intel-rapl:0", "package-0", "0");
  auto telemetry = open();
  now_s_ += 20;
  energy(0, "1000000000");
  EXPECT_FALSE(telemetry->read(true).power_w);
  now_s_ += 0.02;
  energy(0, "1002000000");
  EXPECT_NEAR(telemetry->read(true).power_w.value_or(0), 100, 1e-6);
}

TEST_F(Rapl, AnUnreadableCounterIsNamedWithTheFix) {
  domain("intel-rapl:0", "package-0", "0");
  fs::permissions(root_ / "sys/class/powercap/intel-rapl:0/energy_uj", fs::perms::none);
  // Root may read everything: be nobody (65534) while opening.
  const bool root = ::geteuid() == 0;
  if (root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  auto telemetry = open();
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_FALSE(telemetry->read(false).power_w);
  EXPECT_THAT(telemetry->info().missing.at("power"), HasSubstr("chmod a+r"));
  EXPECT_THAT(telemetry->problem().value_or(""), HasSubstr("run as root"));
}

TEST_F(Rapl, ACounterThatFailsHalfWayIsEmptyFromThenOn) {
  domain("intel-rapl:0", "package-0", "0");
  auto telemetry = open();
  energy(0, "garbage");
  for (int i = 0; i < 4; ++i) {
    now_s_ += 0.02;
    EXPECT_FALSE(telemetry->read(false).power_w);
  }
  EXPECT_THAT(telemetry->info().missing.at("power"), HasSubstr("failed during the run"));
  EXPECT_THAT(telemetry->info().missing.at("energy"), HasSubstr("failed during the run"));
  energy(0, "1000000");
  now_s_ += 0.02;
  EXPECT_FALSE(telemetry->read(false).energy_j);
}

TEST_F(Rapl, TheClockIsTheMeanOfThePinnedCpus) {
  cpu(0, "1000000");
  cpu(1, "2000000");
  cpu(2, "3000000");
  auto telemetry = open({1, 2});
  EXPECT_NEAR(telemetry->read(true).clock_mhz.value_or(0), 2500, 1e-9);
  EXPECT_EQ(telemetry->info().rated_clock_mhz, 3500.0);
  EXPECT_EQ(telemetry->info().facts.at("governor"), "performance");
  EXPECT_THAT(telemetry->info().clock_source, HasSubstr("intel_pstate"));
}

TEST_F(Rapl, CpuinfosConstantIsNotTakenForAClock) {
  put("proc/cpuinfo", "cpu MHz\t\t: 2596.128");
  auto telemetry = open();
  EXPECT_FALSE(telemetry->read(true).clock_mhz);
  EXPECT_THAT(telemetry->info().missing.at("clock"), HasSubstr("/proc/cpuinfo"));
}

TEST_F(Rapl, AMachineWithoutSensorsRunsAndSaysSo) {
  auto telemetry = open();
  EXPECT_EQ(telemetry->info().backend, "none");
  EXPECT_FALSE(telemetry->info().required);
  EXPECT_FALSE(telemetry->info().validated);
  const Reading now = telemetry->read(false);
  EXPECT_FALSE(now.power_w || now.clock_mhz || now.temperature_c || now.energy_j || now.reasons);
  EXPECT_THAT(telemetry->problem().value_or(""), HasSubstr("no RAPL package domain"));
}

TEST_F(Rapl, TheTemperatureIsTheHottestPackage) {
  put("sys/class/thermal/thermal_zone0/type", "acpitz");
  put("sys/class/thermal/thermal_zone0/temp", "99000");
  put("sys/class/thermal/thermal_zone1/type", "x86_pkg_temp");
  put("sys/class/thermal/thermal_zone1/temp", "55000");
  put("sys/class/thermal/thermal_zone2/type", "x86_pkg_temp");
  put("sys/class/thermal/thermal_zone2/temp", "61500");
  EXPECT_EQ(open()->read(false).temperature_c, 61.5);
}

TEST_F(Rapl, WithoutThermalZonesHwmonIsAsked) {
  put("sys/class/hwmon/hwmon0/name", "nvme");
  put("sys/class/hwmon/hwmon0/temp1_input", "90000");
  put("sys/class/hwmon/hwmon1/name", "k10temp");
  put("sys/class/hwmon/hwmon1/temp1_input", "48250");
  EXPECT_EQ(open()->read(false).temperature_c, 48.25);
}

TEST_F(Rapl, OpenTelemetryServesTheCpuFromTheGivenRoot) {
  domain("intel-rapl:0", "package-0", "0");
  cpu(0, "2400000");
  TelemetryRequest request;
  request.device.backend = "cpu";
  request.sysfs_root = root_.string();
  request.cpus = {0};
  auto opened = open_telemetry(request);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ((*opened)->info().backend, "rapl");
  EXPECT_EQ((*opened)->read(true).clock_mhz, 2400.0);
  request.device.backend = "xpu";
  auto none = open_telemetry(request);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ((*none)->info().backend, "none");
  EXPECT_THAT((*none)->problem().value_or(""), HasSubstr("xpu"));
}

}  // namespace
}  // namespace gemmpeak
