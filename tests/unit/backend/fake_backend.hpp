// A backend that lists what it is told and opens nothing. Used by the registry's tests and the
// made-up module that is loaded there.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/device.hpp"

namespace gemmpeak::testing_backend {

class FakeBackend final : public Backend {
 public:
  FakeBackend(std::string name, DeviceKind kind, std::vector<std::string> ids)
      : name_(std::move(name)) {
    for (std::string& id : ids) {
      DeviceInfo info;
      info.id = std::move(id);
      info.backend = name_;
      info.kind = kind;
      devices_.push_back(std::move(info));
    }
  }
  // One whose list fails.
  FakeBackend(std::string name, Error problem)
      : name_(std::move(name)), problem_(std::move(problem)), fails_(true) {}

  std::string name() const override { return name_; }
  Result<std::vector<DeviceInfo>> list() override {
    if (fails_) return problem_;
    return devices_;
  }
  Result<std::unique_ptr<Device>> open(const std::string& id) override {
    return error_text("asked for " + id);
  }

 private:
  std::string name_;
  std::vector<DeviceInfo> devices_;
  Error problem_;
  bool fails_ = false;
};

}  // namespace gemmpeak::testing_backend
