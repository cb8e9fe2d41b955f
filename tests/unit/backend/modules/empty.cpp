// A module that fits and has nothing to give.
#include "backend/device.hpp"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))
FAKE_EXPORT int gemmpeak_backend_abi();
FAKE_EXPORT gemmpeak::Backend* gemmpeak_backend_entry(const gemmpeak::BackendSettings&);

int gemmpeak_backend_abi() { return gemmpeak::kBackendAbi; }
gemmpeak::Backend* gemmpeak_backend_entry(const gemmpeak::BackendSettings&) { return nullptr; }
