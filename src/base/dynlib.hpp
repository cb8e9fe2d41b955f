// DynLib: a shared library opened at run time, and its symbols. Used for backend modules, NVML and
// other vendor libraries that may be missing. It refuses to abort: a missing library or symbol is an
// Error with the loader's own words.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"

namespace gemmpeak {

class DynLib {
 public:
  static Result<DynLib> open(const std::string& path);
  DynLib(DynLib&& other) noexcept;
  DynLib& operator=(DynLib&& other) noexcept;
  ~DynLib();

  Result<void*> symbol(const char* name) const;
  template <class Function>
  Result<Function> function(const char* name) const {
    auto found = symbol(name);
    if (!found) return found.error();
    return reinterpret_cast<Function>(*found);
  }
  const std::string& path() const { return path_; }

 private:
  DynLib(void* raw, std::string path);
  void* raw_ = nullptr;
  std::string path_;
};

}  // namespace gemmpeak
