#include "backend/registry.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace gemmpeak {
namespace {

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

std::string with_fix(const std::string& problem, const std::string& fix) {
  return fix.empty() ? problem : problem + " (" + fix + ")";
}

// D0's order: accelerators as their backends were added, then CPUs, then simulations.
int order_of(DeviceKind kind) {
  return kind == DeviceKind::gpu ? 0 : kind == DeviceKind::cpu ? 1 : 2;
}

// The backend of the module at `path`; `library` keeps it loaded.
Result<std::unique_ptr<Backend>> backend_of(const DynLib& library, const std::string& path,
                                            const BackendSettings& settings) {
  auto abi = library.function<int (*)()>("gemmpeak_backend_abi");
  if (!abi) return error_text(path + " is no backend module: " + abi.error().text);
  if (const int got = (*abi)(); got != kBackendAbi)
    return error_text(path + " was built for backend interface " + std::to_string(got) +
                      ", this program has " + std::to_string(kBackendAbi));
  auto entry = library.function<BackendEntry>("gemmpeak_backend_entry");
  if (!entry) return error_text(path + " is no backend module: " + entry.error().text);
  std::unique_ptr<Backend> backend((*entry)(settings));
  if (!backend) return error_text(path + " gave no backend");
  return backend;
}

}  // namespace

void Registry::add(std::string name, std::unique_ptr<Backend> backend) {
  slots_.push_back({std::move(name), std::move(backend), {}, {}});
}

void Registry::load(const std::string& name, const std::vector<std::string>& folders,
                    const BackendSettings& settings, const std::string& fix) {
  const std::string file = "gemmpeak_backend_" + name + ".so";
  const auto failed = [&](std::string problem) {
    slots_.push_back({name, nullptr, std::move(problem), fix});
  };
  for (const std::string& folder : folders) {
    const std::string path = (std::filesystem::path(folder) / file).string();
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    auto library = DynLib::open(path);
    if (!library) return failed("cannot load " + path + ": " + library.error().text);
    auto backend = backend_of(*library, path, settings);
    if (!backend) return failed(backend.error().message());
    libraries_.push_back(std::move(library).value());
    slots_.push_back({name, std::move(backend).value(), {}, {}});
    return;
  }
  failed(file + " is not in " + (folders.empty() ? "any folder (none given)" : joined(folders)));
}

std::vector<DeviceInfo> Registry::devices() const {
  std::vector<DeviceInfo> all;
  for (const BackendSlot& slot : slots_) {
    if (!slot.backend) continue;
    auto listed = slot.backend->list();
    if (!listed) continue;  // problems() has the reason
    for (DeviceInfo& device : *listed) all.push_back(std::move(device));
  }
  std::stable_sort(all.begin(), all.end(), [](const DeviceInfo& a, const DeviceInfo& b) {
    return order_of(a.kind) < order_of(b.kind);
  });
  return all;
}

std::vector<BackendSlot> Registry::problems() const {
  std::vector<BackendSlot> out;
  for (const BackendSlot& slot : slots_) {
    if (!slot.backend) {
      out.push_back({slot.name, nullptr, slot.problem, slot.fix});
    } else if (auto listed = slot.backend->list(); !listed) {
      out.push_back({slot.name, nullptr, listed.error().message(), {}});
    } else if (listed->empty()) {
      out.push_back({slot.name, nullptr, "has no device", {}});
    }
  }
  return out;
}

std::string Registry::device_list() const {
  std::vector<std::string> ids;
  for (const DeviceInfo& device : devices()) ids.push_back(device.id);
  if (ids.empty()) return "there is no device";
  return (ids.size() == 1 ? "there is only " : "there are ") + joined(ids);
}

std::string Registry::inventory() const {
  std::string text = device_list();
  for (const BackendSlot& slot : problems())
    text += "; " + slot.name + ": " + with_fix(slot.problem, slot.fix);
  return text;
}

Result<std::unique_ptr<Device>> Registry::open(const std::string& id) const {
  if (id == "auto") {
    auto chosen = automatic();
    if (!chosen) return chosen.error();
    return open(*chosen);
  }
  const std::string name = id.substr(0, id.find(':'));
  const auto slot = std::find_if(slots_.begin(), slots_.end(),
                                 [&](const BackendSlot& s) { return s.name == name; });
  if (slot == slots_.end())
    return error_text("no device " + (id.empty() ? "of an empty name" : "'" + id + "'") + ": " +
                      inventory());
  if (!slot->backend)
    return error_text("no device '" + id + "': " + with_fix(slot->problem, slot->fix) + "; " +
                      device_list());
  auto device = slot->backend->open(id);
  if (!device) {
    Error error = device.error();
    error.text = "cannot open '" + id + "': " + error.text + "; " + inventory();
    return error;
  }
  return device;
}

Result<std::string> Registry::automatic() const {
  const std::vector<DeviceInfo> all = devices();  // accelerators first, simulations last
  if (!all.empty() && all.front().kind != DeviceKind::sim) return all.front().id;
  return error_text("no device to choose: " + inventory());
}

}  // namespace gemmpeak
