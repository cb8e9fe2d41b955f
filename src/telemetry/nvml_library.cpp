#include "telemetry/nvml_library.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <utility>

namespace gemmpeak {
namespace {

using namespace nvml;

// The longest text NVML asks room for is 96 bytes (NVML_DEVICE_NAME_V2_BUFFER_SIZE).
constexpr unsigned kTextBytes = 128;

std::string fix_for(std::int64_t code) {
  switch (code) {
    case kNoPermission:
      return "run as root, or ask the administrator to allow this user (a MIG slice or a virtual "
             "GPU "
             "may be refused for good)";
    case kDriverNotLoaded:
      return "load the NVIDIA kernel driver (modprobe nvidia, or install and reboot)";
    case kVersionMismatch:
      return "the loaded kernel driver and libnvidia-ml differ in version: reboot after the driver "
             "update, or use the container image's matching driver files";
    case kOperatingSystem:
      return "the GPU's device files are blocked: in a container run with --gpus, on a cluster ask "
             "for the GPU";
    case kGpuIsLost:
    case kResetRequired:
      return "the GPU has stopped answering: reset it or reboot (see dmesg for Xid messages)";
    case kFunctionNotFound:
      return "this driver's NVML is too old for it: update the driver";
    default:
      return {};
  }
}

// The first of `names` that the library has: newest first, all of one signature.
template <class Function>
void load(const DynLib& library, Function& out, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (auto found = library.function<Function>(name)) {
      out = *found;
      return;
    }
  }
}

void load_lookup(const DynLib& lib, Functions& fn) {
  load(lib, fn.init, {"nvmlInit_v2", "nvmlInit"});
  load(lib, fn.shutdown, {"nvmlShutdown"});
  load(lib, fn.error_string, {"nvmlErrorString"});
  load(lib, fn.driver_version, {"nvmlSystemGetDriverVersion"});
  load(lib, fn.nvml_version, {"nvmlSystemGetNVMLVersion"});
  load(lib, fn.count, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  load(lib, fn.by_index, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  load(lib, fn.by_uuid, {"nvmlDeviceGetHandleByUUID"});
  load(lib, fn.by_pci, {"nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetHandleByPciBusId"});
  load(lib, fn.is_mig, {"nvmlDeviceIsMigDeviceHandle"});
  load(lib, fn.mig_parent, {"nvmlDeviceGetDeviceHandleFromMigDeviceHandle"});
  load(lib, fn.mig_mode, {"nvmlDeviceGetMigMode"});
  load(lib, fn.index, {"nvmlDeviceGetIndex"});
  load(lib, fn.name, {"nvmlDeviceGetName"});
  load(lib, fn.uuid, {"nvmlDeviceGetUUID"});
  load(lib, fn.serial, {"nvmlDeviceGetSerial"});
  load(lib, fn.vbios, {"nvmlDeviceGetVbiosVersion"});
  // v2's shorter struct is a prefix of v3's, but for the reserved words at its end.
  load(lib, fn.pci_info, {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2"});
  load(lib, fn.architecture, {"nvmlDeviceGetArchitecture"});
  load(lib, fn.memory, {"nvmlDeviceGetMemoryInfo"});
}

void load_sensors(const DynLib& lib, Functions& fn) {
  load(lib, fn.field_values, {"nvmlDeviceGetFieldValues"});
  load(lib, fn.power_usage, {"nvmlDeviceGetPowerUsage"});
  load(lib, fn.total_energy, {"nvmlDeviceGetTotalEnergyConsumption"});
  load(lib, fn.power_limit, {"nvmlDeviceGetPowerManagementLimit"});
  load(lib, fn.default_power_limit, {"nvmlDeviceGetPowerManagementDefaultLimit"});
  load(lib, fn.enforced_power_limit, {"nvmlDeviceGetEnforcedPowerLimit"});
  load(lib, fn.clock, {"nvmlDeviceGetClockInfo"});
  load(lib, fn.max_clock, {"nvmlDeviceGetMaxClockInfo"});
  load(lib, fn.application_clock, {"nvmlDeviceGetApplicationsClock"});
  load(lib, fn.default_application_clock, {"nvmlDeviceGetDefaultApplicationsClock"});
  load(lib, fn.temperature, {"nvmlDeviceGetTemperature"});
  load(lib, fn.reasons,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  load(lib, fn.violation, {"nvmlDeviceGetViolationStatus"});
  load(lib, fn.ecc_mode, {"nvmlDeviceGetEccMode"});
  load(lib, fn.persistence_mode, {"nvmlDeviceGetPersistenceMode"});
  load(lib, fn.compute_mode, {"nvmlDeviceGetComputeMode"});
  load(lib, fn.nvlink_state, {"nvmlDeviceGetNvLinkState"});
  load(lib, fn.utilization, {"nvmlDeviceGetUtilizationRates"});
  load(lib, fn.compute_processes,
       {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
        "nvmlDeviceGetComputeRunningProcesses"});
}

template <class Unsigned>
std::optional<double> unless_unavailable(Unsigned value) {
  // NVML_VALUE_NOT_AVAILABLE is all ones.
  if (value == std::numeric_limits<Unsigned>::max()) return std::nullopt;
  return static_cast<double>(value);
}

}  // namespace

Nvml::Nvml(DynLib library, Functions functions) : library_(std::move(library)), fn_(functions) {}

Nvml::~Nvml() { (void)call(fn_.shutdown); }

Result<std::shared_ptr<const Nvml>> Nvml::open(const std::string& path) {
  auto library = DynLib::open(path);
  if (!library)
    return error_text(fmt::format(
        "NVML library {} could not be loaded ({}): install the NVIDIA driver's userspace "
        "(libnvidia-compute) or, in a container, run with --gpus and "
        "NVIDIA_DRIVER_CAPABILITIES=utility,compute",
        path, library.error().text));
  Functions fn;
  load_lookup(*library, fn);
  load_sensors(*library, fn);
  if (fn.init == nullptr)
    return error_text(fmt::format(
        "{} is no NVML library (it has no nvmlInit_v2): install the NVIDIA driver's userspace "
        "(libnvidia-compute)",
        path));
  const int code = fn.init();
  // Made before the check, so that its error() can speak; a failed init needs no shutdown.
  std::shared_ptr<Nvml> out(new Nvml(std::move(*library), fn));
  if (code != kSuccess) {
    Error failed = out->error("nvmlInit_v2", code);
    out->fn_.shutdown = nullptr;
    return failed;
  }
  return std::shared_ptr<const Nvml>(std::move(out));
}

std::string Nvml::text(int (*function)(Device, char*, unsigned), Device device) {
  std::array<char, kTextBytes> raw{};
  if (call(function, device, raw.data(), kTextBytes - 1) != kSuccess) return {};
  return raw.data();
}

std::string Nvml::text(int (*function)(char*, unsigned)) {
  std::array<char, kTextBytes> raw{};
  if (call(function, raw.data(), kTextBytes - 1) != kSuccess) return {};
  return raw.data();
}

Error Nvml::error(const char* api, int code) const {
  const char* said = fn_.error_string != nullptr ? fn_.error_string(code) : nullptr;
  std::string text = said != nullptr ? said : "NVML error";
  if (const std::string fix = fix_for(code); !fix.empty()) text += ": " + fix;
  return Error{api, code, std::move(text)};
}

Result<FieldValue> Nvml::raw_field(Device device, unsigned id, unsigned scope) const {
  FieldValue value{};
  value.field_id = id;
  value.scope_id = scope;
  value.result = kUnknown;  // a library that writes nothing is not a reading
  int code = call(fn_.field_values, device, 1, &value);
  if (code == kSuccess) code = value.result;
  if (code != kSuccess) return error("nvmlDeviceGetFieldValues", code);
  return value;
}

Result<double> Nvml::field(Device device, unsigned id, unsigned scope) const {
  auto value = raw_field(device, id, scope);
  if (!value) return value.error();
  if (const auto number = decode_field(*value)) return *number;
  return Error{"nvmlDeviceGetFieldValues", 0,
               fmt::format("field {} has no usable value (type {})", id, value->value_type)};
}

Result<double> Nvml::counter_field(Device device, unsigned id) const {
  auto value = raw_field(device, id, kScopeGpu);
  if (!value) return value.error();
  const int type = value->value_type;
  const bool wide = type == kUnsignedLongLong || type == kUnsignedLong || type == kSignedLongLong;
  const auto number = decode_field(*value);
  if (wide && number) return *number;
  return Error{"nvmlDeviceGetFieldValues", 0, fmt::format("field {} is no counter here", id)};
}

std::optional<double> decode_field(const FieldValue& field) {
  switch (field.value_type) {
    case kDouble:
      if (!std::isfinite(field.value.d)) return std::nullopt;
      return field.value.d;
    case kUnsignedInt:
      return unless_unavailable(field.value.ui);
    case kUnsignedLong:
      return unless_unavailable(field.value.ul);
    case kUnsignedLongLong:
      return unless_unavailable(field.value.ull);
    case kSignedLongLong:
      return static_cast<double>(field.value.sll);
    case kSignedInt:
      return field.value.si;
    case kUnsignedShort:
      return unless_unavailable(field.value.us);
    default:
      return std::nullopt;
  }
}

bool nvml_is_final(std::int64_t code) {
  switch (code) {
    case kUninitialized:
    case kInvalidArgument:
    case kNotSupported:
    case kNoPermission:
    case kDriverNotLoaded:
    case kFunctionNotFound:
    case kGpuIsLost:
    case kResetRequired:
    case kOperatingSystem:
      return true;
    default:
      return false;
  }
}

}  // namespace gemmpeak
