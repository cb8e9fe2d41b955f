// NvmlScript: writes a script for the fake NVML library and points it there. Used by the NVML
// tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "telemetry/telemetry.hpp"

namespace gemmpeak {

inline constexpr const char* kUuidA = "GPU-aaaaaaaa-0000-0000-0000-000000000001";
inline constexpr const char* kUuidB = "GPU-bbbbbbbb-0000-0000-0000-000000000002";

class NvmlScript {
 public:
  explicit NvmlScript(const std::string& text) {
    path_ = (std::filesystem::temp_directory_path() /
             ("gemmpeak_nvml_" + std::to_string(::getpid()) + ".txt"))
                .string();
    std::ofstream(path_) << text;
    ::setenv("GEMMPEAK_FAKE_NVML", path_.c_str(), 1);
  }
  ~NvmlScript() {
    ::unsetenv("GEMMPEAK_FAKE_NVML");
    std::filesystem::remove(path_);
  }
  NvmlScript(const NvmlScript&) = delete;
  NvmlScript& operator=(const NvmlScript&) = delete;

 private:
  std::string path_;
};

// A healthy H200 as an R580 driver shows it; lines may follow.
inline std::string h200(const std::string& uuid, const std::string& pci, double power_mw = 691000) {
  return "gpu " + uuid + " " + pci + " NVIDIA H200\n" + "say field:186 0 " +
         std::to_string(power_mw) +
         "\n"
         "say PowerUsage 0 150000\n"
         "say TotalEnergyConsumption 0 5000000\n"
         "say ClockInfo 0 1605\n"
         "say MaxClockInfo 0 1980\n"
         "say Temperature 0 61\n"
         "say Reasons 0 4\n"
         "say EnforcedPowerLimit 0 700000\n"
         "say PowerManagementLimit 0 700000\n"
         "say PowerManagementDefaultLimit 0 700000\n"
         "say Architecture 0 9\n"
         "say PciInfo 0 590680286\n"  // 0x233510de
         "say MigMode 0 0\n"
         "say EccMode 0 1\n"
         "say PersistenceMode 0 1\n";
}

inline TelemetryRequest cuda_request(const std::string& uuid, const std::string& pci,
                                     const std::string& library = FAKE_NVML_FULL) {
  TelemetryRequest request;
  request.device.id = "cuda:0";
  request.device.backend = "cuda";
  request.device.uuid = uuid;
  request.device.pci_bus_id = pci;
  request.nvml_library = library;
  return request;
}

// The telemetry, or a failed test and null.
inline std::unique_ptr<Telemetry> open_or_fail(const TelemetryRequest& request) {
  auto opened = open_telemetry(request);
  if (!opened) {
    ADD_FAILURE() << opened.error().message();
    return nullptr;
  }
  return std::move(*opened);
}

}  // namespace gemmpeak
