// A module that fits: its device is named by a variable of the settings.
#include "../fake_backend.hpp"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))
FAKE_EXPORT int gemmpeak_backend_abi();
FAKE_EXPORT gemmpeak::Backend* gemmpeak_backend_entry(const gemmpeak::BackendSettings&);

int gemmpeak_backend_abi() { return gemmpeak::kBackendAbi; }
gemmpeak::Backend* gemmpeak_backend_entry(const gemmpeak::BackendSettings& settings) {
  const auto id = settings.environment.find("FAKE_ID");
  return new gemmpeak::testing_backend::FakeBackend(
      "fake", gemmpeak::DeviceKind::gpu,
      {id == settings.environment.end() ? "fake:0" : id->second});
}
