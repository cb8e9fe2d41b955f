#include "base/dynlib.hpp"

#include <dlfcn.h>

#include <utility>

namespace gemmpeak {
namespace {

Error loader_error(const char* api, const std::string& fallback) {
  const char* text = ::dlerror();
  return Error{api, 0, text != nullptr ? text : fallback};
}

}  // namespace

DynLib::DynLib(void* raw, std::string path) : raw_(raw), path_(std::move(path)) {}

DynLib::DynLib(DynLib&& other) noexcept
    : raw_(std::exchange(other.raw_, nullptr)), path_(std::move(other.path_)) {}

DynLib& DynLib::operator=(DynLib&& other) noexcept {
  if (this != &other) {
    if (raw_ != nullptr) ::dlclose(raw_);
    raw_ = std::exchange(other.raw_, nullptr);
    path_ = std::move(other.path_);
  }
  return *this;
}

DynLib::~DynLib() {
  if (raw_ != nullptr) ::dlclose(raw_);
}

Result<DynLib> DynLib::open(const std::string& path) {
  // dlopen takes "" for the program itself, which nobody here means.
  if (path.empty()) return Error{"dlopen", 0, "no library named"};
  // NOW: an unresolved symbol is an error here and not a crash in the first call. LOCAL: two
  // libraries' symbols never mix.
  void* raw = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (raw == nullptr) return loader_error("dlopen", "cannot load " + path);
  return DynLib(raw, path);
}

Result<void*> DynLib::symbol(const char* name) const {
  GEMMPEAK_CHECK(raw_ != nullptr, "symbol of a library that was moved away");
  (void)::dlerror();
  void* found = ::dlsym(raw_, name);
  if (found == nullptr) return loader_error("dlsym", path_ + ": no symbol " + name);
  return found;
}

}  // namespace gemmpeak
