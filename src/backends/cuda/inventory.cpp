#include "backends/cuda/inventory.hpp"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>

namespace gemmpeak::cuda {
namespace {

// cuBLAS's own tile of most large products on these devices; the wave rules were derived with it.
constexpr TileHint kTile{128, 256};

std::string cuda_version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  ...": the first word that looks like
// a driver version. Empty where the file is not there (containers may hide it).
std::string kernel_driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string word;
  while (file >> word)
    if (word.find('.') != std::string::npos &&
        word.find_first_not_of("0123456789.") == std::string::npos)
      return word;
  return {};
}

Error no_devices(cudaError_t code) {
  int driver = 0;
  (void)cudaGetLastError();
  if (cudaDriverGetVersion(&driver) != cudaSuccess) (void)cudaGetLastError();
  std::string text;
  switch (code) {
    case cudaErrorNoDevice:
      text =
          "no NVIDIA GPU is visible; check that one is installed and that CUDA_VISIBLE_DEVICES "
          "does "
          "not hide it";
      break;
    case cudaErrorInsufficientDriver:
      text = driver == 0
                 ? "no NVIDIA driver; install one (libcuda.so.1 was not found)"
                 : fmt::format(
                       "the NVIDIA driver supports CUDA {} and this build needs {}; install a "
                       "newer driver or build with an older toolkit",
                       cuda_version(driver), cuda_version(CUDART_VERSION));
      break;
    case cudaErrorStubLibrary:
      text =
          "the CUDA library found is the toolkit's stub; take its stubs folder off LD_LIBRARY_PATH "
          "and install an NVIDIA driver";
      break;
    case cudaErrorSystemNotReady:
      text =
          "the NVIDIA system is not ready; start nvidia-fabricmanager (NVSwitch systems need it)";
      break;
    case cudaErrorSystemDriverMismatch:
      text =
          "the NVIDIA kernel module and libcuda.so differ in version; reboot after the driver "
          "update";
      break;
    default:
      text = fmt::format("{} ({}); see what nvidia-smi says", cudaGetErrorString(code),
                         cudaGetErrorName(code));
  }
  return Error{"cudaGetDeviceCount", static_cast<std::int64_t>(code), text};
}

Error query_failed(const char* api, int ordinal, cudaError_t code) {
  (void)cudaGetLastError();
  return Error{api, static_cast<std::int64_t>(code),
               fmt::format("device {}: {}", ordinal, cudaGetErrorString(code))};
}

std::string uuid_text(const cudaUUID_t& uuid, bool mig) {
  std::string out = mig ? "MIG-" : "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return out;
}

std::string pci_text(int ordinal) {
  char raw[32] = {};
  if (cudaDeviceGetPCIBusId(raw, sizeof raw, ordinal) != cudaSuccess) {
    (void)cudaGetLastError();
    return {};
  }
  std::string out(raw);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::map<std::string, std::string> library_versions() {
  std::map<std::string, std::string> versions;
  int number = 0;
  if (cudaDriverGetVersion(&number) == cudaSuccess) versions["cuda driver"] = cuda_version(number);
  if (cudaRuntimeGetVersion(&number) == cudaSuccess)
    versions["cuda runtime"] = cuda_version(number);
  const std::size_t lt = cublasLtGetVersion();  // 130100: major * 10000 + minor * 100 + patch
  versions["cublasLt"] = fmt::format("{}.{}.{}", lt / 10000, lt / 100 % 100, lt % 100);
  if (const std::string driver = kernel_driver_version(); !driver.empty())
    versions["driver"] = driver;
  return versions;
}

Result<InventoryRow> describe(int ordinal) {
  cudaDeviceProp properties{};
  if (const cudaError_t code = cudaGetDeviceProperties(&properties, ordinal); code != cudaSuccess)
    return query_failed("cudaGetDeviceProperties", ordinal, code);
  InventoryRow row;
  row.ordinal = ordinal;
  row.cc = {properties.major, properties.minor};
  DeviceInfo& info = row.info;
  info.id = fmt::format("cuda:{}", ordinal);
  info.backend = "cuda";
  info.kind = DeviceKind::gpu;
  info.name = properties.name;
  info.architecture = fmt::format("sm_{}{}", properties.major, properties.minor);
  // A MIG slice says so in its name ("NVIDIA H200 MIG 3g.71gb"); the runtime has no query for it.
  const bool mig = info.name.find(" MIG ") != std::string::npos;
  info.uuid = uuid_text(properties.uuid, mig);
  info.pci_bus_id = pci_text(ordinal);
  info.units = properties.multiProcessorCount;
  info.tile = kTile;
  // mamf-finder checked its wave geometry on H200 and B200, whole devices.
  info.geometry_validated =
      !mig && properties.minor == 0 && (properties.major == 9 || properties.major == 10);
  info.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  info.llc_bytes = properties.l2CacheSize;
  int khz = 0;
  if (cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, ordinal) == cudaSuccess && khz > 0)
    info.rated_clock_mhz = khz / 1000.0;
  else
    (void)cudaGetLastError();
  info.flop_per_clock_per_unit = flop_per_clock(row.cc);
  info.versions = library_versions();
  info.attributes["compute capability"] = row.cc.str();
  info.attributes["ECC"] = properties.ECCEnabled != 0 ? "on" : "off";
  info.attributes["MIG"] = mig ? "slice" : "whole device";
  info.attributes["clock domain"] = "SM";
  info.attributes["memory bus"] = fmt::format("{} bits", properties.memoryBusWidth);
  info.environment = environment_names();
  return row;
}

}  // namespace

Result<std::vector<InventoryRow>> inventory() {
  int count = 0;
  if (const cudaError_t code = cudaGetDeviceCount(&count); code != cudaSuccess)
    return no_devices(code);
  if (count == 0) return no_devices(cudaErrorNoDevice);
  std::vector<InventoryRow> rows;
  for (int i = 0; i < count; ++i) {
    auto row = describe(i);
    if (!row) return row.error();
    rows.push_back(std::move(*row));
  }
  return rows;
}

}  // namespace gemmpeak::cuda
