// The CPU backend: one device, "cpu", of all cores this process may use. Used through the module's
// two C entries only. It refuses element types for which no library has an optimised product here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/device.hpp"
#include "backends/cpu/host_facts.hpp"
#include "backends/cpu/provider.hpp"

namespace gemmpeak::cpu {

using ProviderList = std::shared_ptr<const std::vector<std::unique_ptr<Provider>>>;

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(BackendSettings settings);
  std::string name() const override { return "cpu"; }
  Result<std::vector<DeviceInfo>> list() override;
  Result<std::unique_ptr<Device>> open(const std::string& id) override;

 private:
  BackendSettings settings_;
  HostFacts facts_;  // read before any thread is pinned
  std::vector<int> cpus_;
  ProviderList providers_;
  DeviceInfo info_;
};

// DeviceInfo of these facts, threads and libraries.
DeviceInfo describe_cpu(const HostFacts& facts, const std::vector<int>& cpus,
                        const std::vector<std::unique_ptr<Provider>>& providers,
                        const BackendSettings& settings);

// `vnni`: the CPU adds 8-bit products in 32 bits.
std::unique_ptr<Device> make_cpu_device(DeviceInfo info, std::vector<int> cpus, bool vnni,
                                        ProviderList providers);

}  // namespace gemmpeak::cpu
