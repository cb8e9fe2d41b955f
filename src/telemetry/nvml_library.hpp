// Nvml: libnvidia-ml opened at run time and initialised, with its functions and its errors in
// words. Used by nvml_telemetry and nvml_inventory. It refuses to fail on a function that this
// driver lacks: calling one answers "function not found", as NVML itself does.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/dynlib.hpp"
#include "base/result.hpp"
#include "telemetry/nvml_abi.hpp"

namespace gemmpeak {

class Nvml {
 public:
  // The Error holds the reason and the fix.
  static Result<std::shared_ptr<const Nvml>> open(const std::string& path);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  const nvml::Functions& fn() const { return fn_; }

  // Calls a function that may be missing.
  template <class Function, class... Args>
  static int call(Function function, Args... args) {
    return function == nullptr ? nvml::kFunctionNotFound : function(args...);
  }
  // An out-parameter of a call as a value: Nvml::get<unsigned>(fn().clock, device, kClockSm).
  template <class T, class Function, class... Args>
  static std::optional<T> get(Function function, Args... args) {
    T out{};
    if (call(function, args..., &out) != nvml::kSuccess) return std::nullopt;
    return out;
  }
  // A text answer ("" if there is none).
  static std::string text(int (*function)(nvml::Device, char*, unsigned), nvml::Device device);
  static std::string text(int (*function)(char*, unsigned));

  // "Insufficient Permissions: <what to do about it>".
  Error error(const char* api, int code) const;
  // One field; its own return code is checked and its type decoded.
  Result<double> field(nvml::Device device, unsigned id, unsigned scope) const;
  // The same for a counter, which is 64 bits wide: a narrower answer is another field's (the ids of
  // some counters differ between drivers).
  Result<double> counter_field(nvml::Device device, unsigned id) const;

 private:
  Nvml(DynLib library, nvml::Functions functions);
  Result<nvml::FieldValue> raw_field(nvml::Device device, unsigned id, unsigned scope) const;
  DynLib library_;
  nvml::Functions fn_;
};

// A field value as a number, by its own type; nothing for an unknown type or NVML's "not
// available".
std::optional<double> decode_field(const nvml::FieldValue& value);
// True if asking again cannot help (not supported, no permission, lost device).
bool nvml_is_final(std::int64_t code);

}  // namespace gemmpeak
