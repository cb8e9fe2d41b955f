#include "telemetry/nvml_inventory.hpp"

#include <fmt/format.h>

#include <utility>

#include "telemetry/nvml_library.hpp"

namespace gemmpeak {
namespace {

NvmlGpu describe(const Nvml& nvml, unsigned index) {
  const nvml::Functions& fn = nvml.fn();
  NvmlGpu out;
  out.index = static_cast<int>(index);
  nvml::Device device = nullptr;
  if (const int code = Nvml::call(fn.by_index, index, &device); code != nvml::kSuccess) {
    out.problem = nvml.error("nvmlDeviceGetHandleByIndex_v2", code).message();
    return out;
  }
  out.name = Nvml::text(fn.name, device);
  out.uuid = Nvml::text(fn.uuid, device);
  if (const auto pci = Nvml::get<nvml::PciInfo>(fn.pci_info, device))
    out.pci_bus_id = fmt::format("{:04x}:{:02x}:{:02x}.0", pci->domain, pci->bus, pci->device);
  if (const auto memory = Nvml::get<nvml::Memory>(fn.memory, device))
    out.memory_bytes = static_cast<std::int64_t>(memory->total);
  unsigned current = 0;
  unsigned pending = 0;
  if (Nvml::call(fn.mig_mode, device, &current, &pending) == nvml::kSuccess) out.mig = current != 0;
  return out;
}

}  // namespace

Result<NvmlInventory> nvml_inventory(const std::string& library) {
  auto nvml = Nvml::open(library);
  if (!nvml) return nvml.error();
  const nvml::Functions& fn = (*nvml)->fn();
  NvmlInventory out;
  out.driver = Nvml::text(fn.driver_version);
  out.nvml_version = Nvml::text(fn.nvml_version);
  unsigned count = 0;
  if (const int code = Nvml::call(fn.count, &count); code != nvml::kSuccess)
    return (*nvml)->error("nvmlDeviceGetCount_v2", code);
  for (unsigned i = 0; i < count; ++i) out.gpus.push_back(describe(**nvml, i));
  return out;
}

}  // namespace gemmpeak
