// The NVML device that is a given DeviceInfo, what is worth knowing of it at the start, and its
// neighbours on the board. Used by nvml_telemetry. It refuses to join by index: NVML's order and
// CUDA's differ under CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER and MIG.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/device_info.hpp"
#include "telemetry/nvml_library.hpp"

namespace gemmpeak {

struct NvmlDevice {
  nvml::Device identity = nullptr;  // the MIG slice's handle under MIG, else the card's
  nvml::Device card = nullptr;
  bool mig = false;       // a slice, or a card in MIG mode
  std::string joined_by;  // "UUID GPU-...", "PCI bus id 0000:3b:00.0"
};

// By UUID first, then by PCI bus id. The Error holds the reason and the fix.
Result<NvmlDevice> find_nvml_device(const Nvml& nvml, const DeviceInfo& device);

// Lines for the log's header: driver, VBIOS, limits, ECC, MIG, persistence, clocks, reasons, ...
// What cannot be read is left out.
std::map<std::string, std::string> nvml_facts(const Nvml& nvml, const NvmlDevice& device);

struct NvmlNeighbour {
  int index = 0;  // NVML's
  nvml::Device handle = nullptr;
};
// The other GPUs of the same name where both ends have an active NVLink: one board, one power and
// cooling budget. NVLink, because a PCIe card has its own.
std::vector<NvmlNeighbour> nvml_board_neighbours(const Nvml& nvml, nvml::Device card);

}  // namespace gemmpeak
