// The module's two entries and its Backend.
#include <fmt/format.h>

#include <new>

#include "backends/cuda/device.hpp"
#include "backends/cuda/inventory.hpp"

namespace gemmpeak::cuda {
namespace {

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(const BackendSettings& settings) : environment_(settings.environment) {}
  std::string name() const override { return "cuda"; }

  Result<std::vector<DeviceInfo>> list() override {
    return guarded("list", [&]() -> Result<std::vector<DeviceInfo>> {
      auto rows = inventory();
      if (!rows) return rows.error();
      std::vector<DeviceInfo> devices;
      for (InventoryRow& row : *rows) {
        listed_[row.info.id] = row.cc;
        devices.push_back(std::move(row.info));
      }
      return devices;
    });
  }

  // A context takes longer to make than the whole of `gemmpeak devices` may.
  std::optional<Capability> capability(const DeviceInfo& device, DType dtype) override {
    const auto cc = listed_.find(device.id);
    if (cc == listed_.end()) return std::nullopt;
    return dtype_capability(dtype, cc->second, device.name, environment_);
  }

  Result<std::unique_ptr<Device>> open(const std::string& id) override {
    return guarded("open", [&]() -> Result<std::unique_ptr<Device>> {
      auto rows = inventory();
      if (!rows) return rows.error();
      std::string known;
      for (InventoryRow& row : *rows) {
        if (id == row.info.id || (id == "cuda" && row.ordinal == 0))
          return CudaDevice::open(std::move(row.info), row.ordinal, row.cc, environment_);
        known += (known.empty() ? "" : ", ") + row.info.id + " (" + row.info.name + ")";
      }
      return error_text(fmt::format("there is no device {}; there is {}", id, known));
    });
  }

 private:
  Environment environment_;
  std::map<std::string, ComputeCapability> listed_;
};

}  // namespace
}  // namespace gemmpeak::cuda

#define GEMMPEAK_EXPORT extern "C" __attribute__((visibility("default")))

GEMMPEAK_EXPORT int gemmpeak_backend_abi() { return gemmpeak::kBackendAbi; }

// Null only where the host has no memory left. The caller owns the result.
GEMMPEAK_EXPORT gemmpeak::Backend* gemmpeak_backend_entry(
    const gemmpeak::BackendSettings& settings) {
  try {
    return new gemmpeak::cuda::CudaBackend(settings);
  } catch (const std::exception&) {
    return nullptr;
  }
}
