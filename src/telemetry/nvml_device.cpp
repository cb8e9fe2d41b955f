#include "telemetry/nvml_device.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "model/reading.hpp"

namespace gemmpeak {
namespace {

using namespace nvml;

// The same 16 bytes under the other prefix: whether the CUDA runtime gives a MIG slice's UUID or
// the card's depends on its version.
std::string with_other_prefix(const std::string& uuid) {
  if (uuid.starts_with("GPU-")) return "MIG-" + uuid.substr(4);
  if (uuid.starts_with("MIG-") && !uuid.starts_with("MIG-GPU-")) return "GPU-" + uuid.substr(4);
  return {};
}

struct Lookup {
  NvmlDevice device;
  std::optional<Error> failed;  // the first refusal that says more than "not found"
};

bool try_uuid(const Nvml& nvml, const std::string& uuid, Lookup& lookup) {
  if (uuid.empty()) return false;
  const int code = Nvml::call(nvml.fn().by_uuid, uuid.c_str(), &lookup.device.identity);
  if (code == kSuccess && lookup.device.identity != nullptr) {
    lookup.device.joined_by = "UUID " + uuid;
    return true;
  }
  if (!lookup.failed && code != kNotFound && code != kInvalidArgument)
    lookup.failed = nvml.error("nvmlDeviceGetHandleByUUID", code);
  return false;
}

bool try_pci(const Nvml& nvml, const std::string& pci, Lookup& lookup) {
  if (pci.empty()) return false;
  const int code = Nvml::call(nvml.fn().by_pci, pci.c_str(), &lookup.device.identity);
  if (code == kSuccess && lookup.device.identity != nullptr) {
    lookup.device.joined_by = "PCI bus id " + pci;
    return true;
  }
  if (!lookup.failed && code != kNotFound && code != kInvalidArgument)
    lookup.failed = nvml.error("nvmlDeviceGetHandleByPciBusId_v2", code);
  return false;
}

// Fills card and mig from identity. A slice whose card NVML hides keeps its own handle.
void resolve_mig(const Nvml& nvml, NvmlDevice& device) {
  device.card = device.identity;
  if (Nvml::get<unsigned>(nvml.fn().is_mig, device.identity).value_or(0) != 0) {
    device.mig = true;
    Device parent = nullptr;
    if (Nvml::call(nvml.fn().mig_parent, device.identity, &parent) == kSuccess && parent != nullptr)
      device.card = parent;
    return;
  }
  unsigned current = 0;
  unsigned pending = 0;
  if (Nvml::call(nvml.fn().mig_mode, device.identity, &current, &pending) == kSuccess)
    device.mig = current != 0;
}

std::string on_off(int state) { return state == kEnabled ? "on" : "off"; }

class Facts {
 public:
  Facts(const Nvml& nvml, const NvmlDevice& device)
      : nvml_(nvml), fn_(nvml.fn()), device_(device) {}

  std::map<std::string, std::string> collect() {
    put("driver", Nvml::text(fn_.driver_version));
    put("NVML", Nvml::text(fn_.nvml_version));
    put("NVML device", device_.joined_by);
    put("VBIOS", Nvml::text(fn_.vbios, device_.card));
    put("serial", Nvml::text(fn_.serial, device_.card));
    if (const auto index = Nvml::get<unsigned>(fn_.index, device_.card))
      put("NVML index", fmt::format("{}", *index));
    if (const auto pci = Nvml::get<PciInfo>(fn_.pci_info, device_.card)) {
      put("PCI device id",
          fmt::format("{:04x}:{:04x}", pci->pci_device_id & 0xffffU, pci->pci_device_id >> 16U));
      put("PCI bus id", fmt::format("{:04x}:{:02x}:{:02x}.0", pci->domain, pci->bus, pci->device));
    }
    modes();
    clocks();
    if (const auto bits = Nvml::get<unsigned long long>(fn_.reasons, device_.card)) {
      const auto names = throttle_names(*bits);
      put("throttle reasons at start",
          names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
    }
    processes();
    return std::move(out_);
  }

 private:
  void put(const std::string& name, std::string value) {
    if (!value.empty()) out_[name] = std::move(value);
  }

  void modes() {
    int current = 0;
    int pending = 0;
    if (Nvml::call(fn_.ecc_mode, device_.card, &current, &pending) == kSuccess)
      put("ECC", current == pending ? on_off(current)
                                    : fmt::format("{} ({} after the next reboot)", on_off(current),
                                                  on_off(pending)));
    if (const auto mode = Nvml::get<int>(fn_.persistence_mode, device_.card))
      put("persistence", on_off(*mode));
    if (const auto mode = Nvml::get<int>(fn_.compute_mode, device_.card)) {
      // nvmlComputeMode_t
      static constexpr const char* kModes[] = {"default", "exclusive thread", "prohibited",
                                               "exclusive process"};
      put("compute mode", *mode >= 0 && *mode < 4 ? kModes[*mode] : fmt::format("{}", *mode));
    }
    unsigned mig = 0;
    unsigned mig_pending = 0;
    if (device_.mig)
      put("MIG", device_.identity != device_.card
                     ? "slice; power and clock limits are the whole card's"
                     : "on; power and clock limits are the whole card's");
    else if (Nvml::call(fn_.mig_mode, device_.card, &mig, &mig_pending) == kSuccess)
      put("MIG", "off");
  }

  void clocks() {
    const auto mhz = [this](auto function, int domain) -> std::string {
      const auto value = Nvml::get<unsigned>(function, device_.card, domain);
      return value ? fmt::format("{} MHz", *value) : std::string();
    };
    put("SM clock at start", mhz(fn_.clock, kClockSm));
    put("memory clock at start", mhz(fn_.clock, kClockMemory));
    put("highest memory clock", mhz(fn_.max_clock, kClockMemory));
    const std::string set = mhz(fn_.application_clock, kClockSm);
    const std::string standard = mhz(fn_.default_application_clock, kClockSm);
    put("application clock", set.empty() || standard.empty() || set == standard
                                 ? set
                                 : fmt::format("{} (default {})", set, standard));
  }

  void processes() {
    // With no room the answer is the count alone, and "insufficient size" if it is not zero.
    unsigned count = 0;
    const int code =
        Nvml::call(fn_.compute_processes, device_.card, &count, static_cast<void*>(nullptr));
    if (code == kSuccess || code == kInsufficientSize)
      put("compute processes at start", fmt::format("{} (this one may be among them)", count));
  }

  const Nvml& nvml_;
  const Functions& fn_;
  const NvmlDevice& device_;
  std::map<std::string, std::string> out_;
};

bool has_active_nvlink(const Nvml& nvml, Device device) {
  for (unsigned link = 0; link < kMaxLinks; ++link) {
    int state = 0;
    const int code = Nvml::call(nvml.fn().nvlink_state, device, link, &state);
    if (code == kSuccess && state == kEnabled) return true;
    if (code == kFunctionNotFound || code == kInvalidArgument) return false;  // past the last link
  }
  return false;
}

}  // namespace

Result<NvmlDevice> find_nvml_device(const Nvml& nvml, const DeviceInfo& device) {
  if (device.uuid.empty() && device.pci_bus_id.empty())
    return error_text(fmt::format(
        "{} has neither UUID nor PCI bus id to find it by in NVML, and its number would be a guess",
        device.id));
  Lookup lookup;
  const bool found = try_uuid(nvml, device.uuid, lookup) ||
                     try_uuid(nvml, with_other_prefix(device.uuid), lookup) ||
                     try_pci(nvml, device.pci_bus_id, lookup);
  if (!found) {
    if (lookup.failed) return *lookup.failed;
    return error_text(
        fmt::format("NVML knows no device {} at {}: in a container, the GPU that CUDA uses must be "
                    "passed to NVML "
                    "too (--gpus, NVIDIA_VISIBLE_DEVICES)",
                    device.uuid.empty() ? device.id : device.uuid,
                    device.pci_bus_id.empty() ? "an unknown PCI bus id" : device.pci_bus_id));
  }
  resolve_mig(nvml, lookup.device);
  return lookup.device;
}

std::map<std::string, std::string> nvml_facts(const Nvml& nvml, const NvmlDevice& device) {
  return Facts(nvml, device).collect();
}

std::vector<NvmlNeighbour> nvml_board_neighbours(const Nvml& nvml, Device card) {
  std::vector<NvmlNeighbour> out;
  const auto own_index = Nvml::get<unsigned>(nvml.fn().index, card);
  const std::string own_uuid = Nvml::text(nvml.fn().uuid, card);
  const std::string own_name = Nvml::text(nvml.fn().name, card);
  if (own_name.empty() || !has_active_nvlink(nvml, card)) return out;
  const unsigned count = Nvml::get<unsigned>(nvml.fn().count).value_or(0);
  for (unsigned i = 0; i < count; ++i) {
    const auto other = Nvml::get<Device>(nvml.fn().by_index, i);
    if (!other || *other == card || (own_index && *own_index == i)) continue;
    if (!own_uuid.empty() && Nvml::text(nvml.fn().uuid, *other) == own_uuid) continue;
    if (Nvml::text(nvml.fn().name, *other) != own_name) continue;
    if (has_active_nvlink(nvml, *other)) out.push_back({static_cast<int>(i), *other});
  }
  return out;
}

}  // namespace gemmpeak
