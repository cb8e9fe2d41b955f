// The part of NVML's C interface that this project calls, declared here because nvml.h is not on
// every build machine. Used by nvml_library and by the scripted library of the tests. Layouts and
// numbers follow NVIDIA's public nvml.h (API 12 and 13), which keeps them stable; each layout's
// size is asserted. It refuses to hold any behaviour.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gemmpeak::nvml {

struct OpaqueDevice;
using Device = OpaqueDevice*;

// nvmlReturn_t, an int. Only the codes that are told apart here.
inline constexpr int kSuccess = 0;
inline constexpr int kUninitialized = 1;
inline constexpr int kInvalidArgument = 2;
inline constexpr int kNotSupported = 3;
inline constexpr int kNoPermission = 4;
inline constexpr int kNotFound = 6;
inline constexpr int kInsufficientSize = 7;
inline constexpr int kDriverNotLoaded = 9;
inline constexpr int kLibraryNotFound = 12;
inline constexpr int kFunctionNotFound = 13;
inline constexpr int kGpuIsLost = 15;
inline constexpr int kResetRequired = 16;
inline constexpr int kOperatingSystem = 17;
inline constexpr int kVersionMismatch = 18;
inline constexpr int kUnknown = 999;

// nvmlValueType_t.
inline constexpr int kDouble = 0;
inline constexpr int kUnsignedInt = 1;
inline constexpr int kUnsignedLong = 2;
inline constexpr int kUnsignedLongLong = 3;
inline constexpr int kSignedLongLong = 4;
inline constexpr int kSignedInt = 5;
inline constexpr int kUnsignedShort = 6;

// Field ids (NVML_FI_*). The thermal and power-brake counters have two numberings: 251..253 in some
// R580 headers, 269..271 in CUDA 13's (and on driver 580.159), where power smoothing has 251..268.
inline constexpr unsigned kFieldPowerCapTime = 74;   // ns
inline constexpr unsigned kFieldSyncBoostTime = 76;  // ns
inline constexpr unsigned kFieldPowerInstant = 186;  // mW
inline constexpr unsigned kFieldThermalTimesOld = 251;
inline constexpr unsigned kFieldThermalTimesNew = 269;
inline constexpr unsigned kScopeGpu = 0;  // NVML_POWER_SCOPE_GPU; 1 is the whole module

// nvmlPerfPolicyType_t.
inline constexpr int kPolicyPower = 0;
inline constexpr int kPolicyThermal = 1;
inline constexpr int kPolicySyncBoost = 2;

inline constexpr int kClockSm = 1;  // nvmlClockType_t
inline constexpr int kClockMemory = 2;
inline constexpr int kTemperatureGpu = 0;  // nvmlTemperatureSensors_t
inline constexpr int kEnabled = 1;         // nvmlEnableState_t
inline constexpr unsigned kArchitectureAmpere = 7;
inline constexpr unsigned kArchitectureUnknown = 0xffffffffU;
// NVML_NVLINK_MAX_LINKS is 18 up to Blackwell and 36 in the newest header; asking a link that does
// not exist answers "invalid argument".
inline constexpr unsigned kMaxLinks = 36;

union Value {
  double d;
  int si;
  unsigned ui;
  unsigned long ul;
  unsigned long long ull;
  long long sll;
  unsigned short us;
};

struct FieldValue {  // nvmlFieldValue_t
  unsigned field_id;
  unsigned scope_id;
  long long timestamp;
  long long latency_us;
  int value_type;
  int result;  // to be checked before `value`
  Value value;
};
static_assert(sizeof(Value) == 8 && sizeof(FieldValue) == 40);
static_assert(offsetof(FieldValue, timestamp) == 8 && offsetof(FieldValue, value_type) == 24 &&
              offsetof(FieldValue, result) == 28 && offsetof(FieldValue, value) == 32);

struct PciInfo {  // nvmlPciInfo_t
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;  // device id in the upper, vendor id in the lower half
  unsigned pci_subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, bus_id) == 36);

struct Utilization {  // nvmlUtilization_t, percent
  unsigned gpu;
  unsigned memory;
};
static_assert(sizeof(Utilization) == 8);

struct Memory {  // nvmlMemory_t, bytes
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
static_assert(sizeof(Memory) == 24);

struct ViolationTime {  // nvmlViolationTime_t
  unsigned long long reference_us;
  unsigned long long violation_ns;
};
static_assert(sizeof(ViolationTime) == 16);

// The functions, null where the library has none.
struct Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*nvml_version)(char*, unsigned) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, Device*) = nullptr;
  int (*by_uuid)(const char*, Device*) = nullptr;
  int (*by_pci)(const char*, Device*) = nullptr;
  int (*is_mig)(Device, unsigned*) = nullptr;
  int (*mig_parent)(Device, Device*) = nullptr;
  int (*mig_mode)(Device, unsigned*, unsigned*) = nullptr;
  int (*index)(Device, unsigned*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*serial)(Device, char*, unsigned) = nullptr;
  int (*vbios)(Device, char*, unsigned) = nullptr;
  int (*pci_info)(Device, PciInfo*) = nullptr;
  int (*architecture)(Device, unsigned*) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
  int (*field_values)(Device, int, FieldValue*) = nullptr;
  int (*power_usage)(Device, unsigned*) = nullptr;             // mW
  int (*total_energy)(Device, unsigned long long*) = nullptr;  // mJ
  int (*power_limit)(Device, unsigned*) = nullptr;             // mW
  int (*default_power_limit)(Device, unsigned*) = nullptr;     // mW
  int (*enforced_power_limit)(Device, unsigned*) = nullptr;    // mW
  int (*clock)(Device, int, unsigned*) = nullptr;              // MHz
  int (*max_clock)(Device, int, unsigned*) = nullptr;          // MHz
  int (*application_clock)(Device, int, unsigned*) = nullptr;  // MHz
  int (*default_application_clock)(Device, int, unsigned*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;  // degrees C
  int (*reasons)(Device, unsigned long long*) = nullptr;
  int (*violation)(Device, int, ViolationTime*) = nullptr;
  int (*ecc_mode)(Device, int*, int*) = nullptr;
  int (*persistence_mode)(Device, int*) = nullptr;
  int (*compute_mode)(Device, int*) = nullptr;
  int (*nvlink_state)(Device, unsigned, int*) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr;
  // Called with no room only, for the count: the entry's size changed between drivers.
  int (*compute_processes)(Device, unsigned*, void*) = nullptr;
};

}  // namespace gemmpeak::nvml
