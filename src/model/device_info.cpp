#include "model/device_info.hpp"

namespace gemmpeak {

std::string DeviceInfo::identity() const {
  std::string out = backend + "|" + name + "|" + (uuid.empty() ? pci_bus_id : uuid) + "|" +
                    std::to_string(units);
  for (const auto& [key, value] : versions) out += "|" + key + "=" + value;
  return out;
}

std::optional<double> peak_flop_per_s(const DeviceInfo& device, DType dtype, double clock_mhz) {
  const auto row = device.flop_per_clock_per_unit.find(dtype);
  if (row == device.flop_per_clock_per_unit.end() || device.units <= 0) return std::nullopt;
  return row->second * device.units * clock_mhz * 1e6;
}

}  // namespace gemmpeak
