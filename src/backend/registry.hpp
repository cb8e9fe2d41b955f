// The registry: finds backend modules, loads them, lists and opens devices. Used by app and tests.
// A module that cannot load is kept with its reason and the fix; it never stops the others.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/device.hpp"
#include "base/dynlib.hpp"

namespace gemmpeak {

struct BackendSlot {
  std::string name;                  // "cuda", "cpu", "sim"
  std::unique_ptr<Backend> backend;  // null: see problem
  std::string problem;               // why it is not there, one sentence
  std::string fix;                   // what would bring it
};

class Registry {
 public:
  Registry() = default;
  Registry(Registry&&) = default;
  // Assigning would close the old libraries before the backends that came from them are gone.
  Registry& operator=(Registry&&) = delete;
  // Backends linked into the program.
  void add(std::string name, std::unique_ptr<Backend> backend);
  // gemmpeak_backend_NAME.so in the first of `folders` that has it.
  void load(const std::string& name, const std::vector<std::string>& folders,
            const BackendSettings& settings, const std::string& fix);
  const std::vector<BackendSlot>& slots() const { return slots_; }

  // "cuda:1", "cpu", "sim:h200", "auto": the named device, which must not outlive the registry. The
  // error lists what there is.
  Result<std::unique_ptr<Device>> open(const std::string& id) const;
  // Every device of every backend that loaded, in D0's order (cuda, ..., cpu, sim last).
  std::vector<DeviceInfo> devices() const;
  // Backends that are not there or list no device, each with its reason and, where known, the fix.
  // Asks every backend for its list, as devices() does.
  std::vector<BackendSlot> problems() const;
  // Devices and problems in one line, for errors.
  std::string inventory() const;
  // `auto`: the first accelerator that is not simulated, else the CPU.
  Result<std::string> automatic() const;

 private:
  std::string device_list() const;  // "there are cuda:0, cpu"

  std::vector<DynLib> libraries_;  // outlive the backends that came from them
  std::vector<BackendSlot> slots_;
};

}  // namespace gemmpeak
