// A module of another interface version; its entry must never be called.
#include <cstdlib>

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))
FAKE_EXPORT int gemmpeak_backend_abi();
FAKE_EXPORT void* gemmpeak_backend_entry(const void*);

int gemmpeak_backend_abi() { return 0; }
void* gemmpeak_backend_entry(const void*) { std::abort(); }
