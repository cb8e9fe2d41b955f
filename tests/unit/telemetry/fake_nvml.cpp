// A scripted libnvidia-ml: what it answers is read, at nvmlInit, from the file that the environment
// variable GEMMPEAK_FAKE_NVML names. Built as a library that the tests open; with FAKE_NVML_OLD it
// lacks the functions of newer drivers, with FAKE_NVML_STUMP it is no NVML library at all.
//
// The script, one command a line:
//   init CODE                      what nvmlInit answers
//   gpu UUID PCI NAME...           the next GPU by index; the lines below are about it
//   mig UUID                       a slice of the GPU above; the lines below are about the slice
//   say KEY CODE [VALUE...]        answers to KEY, one a call, the last one for ever
//   type KEY TYPE                  the nvmlValueType_t of a field
//   fail KEY AFTER CODE [TIMES]    after AFTER calls KEY answers CODE, for ever or TIMES times
// KEY is the function's name without nvmlDeviceGet, or field:ID, or nvlink:LINK; what is not said
// is not supported.
#ifdef FAKE_NVML_STUMP
extern "C" __attribute__((visibility("default"))) int not_nvml() { return 0; }
#else
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "telemetry/nvml_abi.hpp"

namespace {

namespace abi = gemmpeak::nvml;

struct Answer {
  int code = abi::kNotSupported;
  std::vector<double> values;
  int type = abi::kUnsignedInt;
  int calls = 0;
  int fail_after = -1;
  int fail_code = 0;
  int fail_times = -1;
};

struct Fake {
  std::string uuid, pci, name;
  int index = -1;
  Fake* parent = nullptr;  // of a slice
  std::map<std::string, Answer> answers;
};

std::mutex mutex;
std::deque<Fake> fakes;
int users = 0;  // successful nvmlInit less nvmlShutdown

abi::Device as_device(Fake* fake) { return reinterpret_cast<abi::Device>(fake); }

// The device, or nullptr for a handle this library never gave.
Fake* as_fake(abi::Device device) {
  for (Fake& fake : fakes)
    if (as_device(&fake) == device) return &fake;
  return nullptr;
}

int read_script() {
  fakes.clear();
  int init = abi::kSuccess;
  const char* path = std::getenv("GEMMPEAK_FAKE_NVML");
  std::ifstream file(path != nullptr ? path : "");
  if (!file) return abi::kDriverNotLoaded;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string command, key;
    words >> command;
    if (command == "init") {
      words >> init;
    } else if (command == "gpu") {
      Fake gpu;
      words >> gpu.uuid >> gpu.pci >> std::ws;
      std::getline(words, gpu.name);
      for (const Fake& other : fakes) gpu.index += other.parent == nullptr;
      ++gpu.index;
      fakes.push_back(gpu);
    } else if (command == "mig") {
      Fake slice;
      words >> slice.uuid;
      Fake* card = &fakes.back();
      slice.parent = card->parent != nullptr ? card->parent : card;
      fakes.push_back(slice);
    } else if (command == "say") {
      words >> key;
      Answer& answer = fakes.back().answers[key];
      words >> answer.code;
      answer.values.clear();  // the last "say" counts
      for (double value; words >> value;) answer.values.push_back(value);
    } else if (command == "type") {
      words >> key;
      words >> fakes.back().answers[key].type;
    } else if (command == "fail") {
      words >> key;
      Answer& answer = fakes.back().answers[key];
      words >> answer.fail_after >> answer.fail_code >> answer.fail_times;
    } else if (!command.empty()) {
      std::fprintf(stderr, "fake NVML: unknown command '%s'\n", command.c_str());
      std::abort();
    }
  }
  return init;
}

struct Said {
  int code = abi::kNotSupported;
  double value = 0;
  int type = abi::kUnsignedInt;
};

Said ask(abi::Device device, const std::string& key) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (users == 0) return {abi::kUninitialized};
  Fake* fake = as_fake(device);
  if (fake == nullptr) return {abi::kInvalidArgument};
  const auto found = fake->answers.find(key);
  if (found == fake->answers.end()) return {};
  Answer& answer = found->second;
  const int call = answer.calls++;
  if (answer.fail_after >= 0 && call >= answer.fail_after &&
      (answer.fail_times <= 0 || call < answer.fail_after + answer.fail_times))
    return {answer.fail_code};
  Said out{answer.code, 0, answer.type};
  if (!answer.values.empty()) {
    const std::size_t last = answer.values.size() - 1;
    out.value = answer.values[static_cast<std::size_t>(call) < last ? call : last];
  }
  return out;
}

template <class T>
int answer(abi::Device device, const char* key, T* out) {
  const Said said = ask(device, key);
  if (said.code == abi::kSuccess) *out = static_cast<T>(said.value);
  return said.code;
}

int copy_text(const std::string& text, char* out, unsigned length) {
  if (text.size() + 1 > length) return abi::kInsufficientSize;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return abi::kSuccess;
}

template <class Matches>
int find(abi::Device* out, Matches matches) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (users == 0) return abi::kUninitialized;
  for (Fake& fake : fakes) {
    if (!matches(fake)) continue;
    const auto refusal = fake.answers.find("Handle");
    if (refusal != fake.answers.end()) return refusal->second.code;
    *out = as_device(&fake);
    return abi::kSuccess;
  }
  return abi::kNotFound;
}

int initialise() {
  const std::lock_guard<std::mutex> lock(mutex);
  // Counted as the real one is: handles stay valid while anybody uses the library.
  const int code = users > 0 ? abi::kSuccess : read_script();
  if (code == abi::kSuccess) ++users;
  return code;
}

int device_count(unsigned* out) {
  const std::lock_guard<std::mutex> lock(mutex);
  *out = 0;
  for (const Fake& fake : fakes) *out += fake.parent == nullptr;
  return abi::kSuccess;
}

int by_index(unsigned index, abi::Device* out) {
  return find(out, [index](const Fake& fake) { return fake.index == static_cast<int>(index); });
}

int by_pci(const char* pci, abi::Device* out) {
  return find(out, [pci](const Fake& fake) { return fake.pci == pci; });
}

#ifndef FAKE_NVML_OLD
// The value in the member of its type, every other byte set, so that reading another member shows.
abi::Value encode(double value, int type) {
  abi::Value out;
  std::memset(&out, 0xA5, sizeof out);
  switch (type) {
    case abi::kDouble:
      out.d = value;
      break;
    case abi::kUnsignedInt:
      out.ui = static_cast<unsigned>(value);
      break;
    case abi::kUnsignedLong:
      out.ul = static_cast<unsigned long>(value);
      break;
    case abi::kUnsignedLongLong:
      out.ull = static_cast<unsigned long long>(value);
      break;
    case abi::kSignedLongLong:
      out.sll = static_cast<long long>(value);
      break;
    case abi::kSignedInt:
      out.si = static_cast<int>(value);
      break;
    case abi::kUnsignedShort:
      out.us = static_cast<unsigned short>(value);
      break;
    default:
      break;
  }
  return out;
}
#endif

}  // namespace

#define FAKE_API extern "C" __attribute__((visibility("default")))

#ifdef FAKE_NVML_OLD
FAKE_API int nvmlInit() { return initialise(); }
FAKE_API int nvmlDeviceGetCount(unsigned* out) { return device_count(out); }
FAKE_API int nvmlDeviceGetHandleByIndex(unsigned i, abi::Device* out) { return by_index(i, out); }
FAKE_API int nvmlDeviceGetHandleByPciBusId(const char* p, abi::Device* out) {
  return by_pci(p, out);
}
FAKE_API int nvmlDeviceGetCurrentClocksThrottleReasons(abi::Device d, unsigned long long* out) {
  return answer(d, "Reasons", out);
}
#else
FAKE_API int nvmlInit_v2() { return initialise(); }
FAKE_API int nvmlDeviceGetCount_v2(unsigned* out) { return device_count(out); }
FAKE_API int nvmlDeviceGetHandleByIndex_v2(unsigned i, abi::Device* out) {
  return by_index(i, out);
}
FAKE_API int nvmlDeviceGetHandleByPciBusId_v2(const char* p, abi::Device* out) {
  return by_pci(p, out);
}
FAKE_API int nvmlDeviceGetHandleByUUID(const char* uuid, abi::Device* out) {
  return find(out, [uuid](const Fake& fake) { return fake.uuid == uuid; });
}
FAKE_API int nvmlDeviceGetCurrentClocksEventReasons(abi::Device d, unsigned long long* out) {
  return answer(d, "Reasons", out);
}
FAKE_API int nvmlDeviceIsMigDeviceHandle(abi::Device device, unsigned* out) {
  const std::lock_guard<std::mutex> lock(mutex);
  const Fake* fake = as_fake(device);
  if (fake == nullptr) return abi::kInvalidArgument;
  *out = fake->parent != nullptr;
  return abi::kSuccess;
}
FAKE_API int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(abi::Device device, abi::Device* out) {
  const std::lock_guard<std::mutex> lock(mutex);
  const Fake* fake = as_fake(device);
  if (fake == nullptr || fake->parent == nullptr) return abi::kInvalidArgument;
  *out = as_device(fake->parent);
  return abi::kSuccess;
}
FAKE_API int nvmlDeviceGetMigMode(abi::Device d, unsigned* current, unsigned* pending) {
  *pending = 0;
  return answer(d, "MigMode", current);
}
FAKE_API int nvmlDeviceGetArchitecture(abi::Device d, unsigned* out) {
  return answer(d, "Architecture", out);
}
FAKE_API int nvmlDeviceGetFieldValues(abi::Device d, int count, abi::FieldValue* values) {
  for (int i = 0; i < count; ++i) {
    std::string key = "field:";
    key += std::to_string(values[i].field_id);
    if (values[i].scope_id != 0) key.append("@").append(std::to_string(values[i].scope_id));
    const Said said = ask(d, key);
    values[i].result = said.code;
    values[i].value_type = said.type;
    values[i].value = encode(said.value, said.type);  // undefined unless the code is success
  }
  return abi::kSuccess;
}
FAKE_API int nvmlDeviceGetComputeRunningProcesses_v3(abi::Device d, unsigned* count, void*) {
  const int code = answer(d, "ComputeRunningProcesses", count);
  return code == abi::kSuccess && *count != 0 ? abi::kInsufficientSize : code;
}
#endif

FAKE_API int nvmlShutdown() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (users == 0) return abi::kUninitialized;
  --users;
  return abi::kSuccess;
}
FAKE_API const char* nvmlErrorString(int code) {
  switch (code) {
    case abi::kNotSupported:
      return "Not Supported";
    case abi::kNoPermission:
      return "Insufficient Permissions";
    case abi::kDriverNotLoaded:
      return "Driver Not Loaded";
    case abi::kGpuIsLost:
      return "GPU is lost";
    case abi::kFunctionNotFound:
      return "Function Not Found";
    default:
      return "Unknown Error";
  }
}
FAKE_API int nvmlSystemGetDriverVersion(char* out, unsigned n) {
  return copy_text("580.65.06", out, n);
}
FAKE_API int nvmlSystemGetNVMLVersion(char* out, unsigned n) {
  return copy_text("13.580.65.06", out, n);
}
FAKE_API int nvmlDeviceGetIndex(abi::Device device, unsigned* out) {
  const std::lock_guard<std::mutex> lock(mutex);
  const Fake* fake = as_fake(device);
  if (fake == nullptr || fake->index < 0) return abi::kInvalidArgument;
  *out = static_cast<unsigned>(fake->index);
  return abi::kSuccess;
}
FAKE_API int nvmlDeviceGetName(abi::Device device, char* out, unsigned n) {
  const std::lock_guard<std::mutex> lock(mutex);
  const Fake* fake = as_fake(device);
  return fake == nullptr ? abi::kInvalidArgument : copy_text(fake->name, out, n);
}
FAKE_API int nvmlDeviceGetUUID(abi::Device device, char* out, unsigned n) {
  const std::lock_guard<std::mutex> lock(mutex);
  const Fake* fake = as_fake(device);
  return fake == nullptr ? abi::kInvalidArgument : copy_text(fake->uuid, out, n);
}
FAKE_API int nvmlDeviceGetVbiosVersion(abi::Device, char* out, unsigned n) {
  return copy_text("96.00.A5.00.01", out, n);
}
FAKE_API int nvmlDeviceGetPciInfo_v3(abi::Device d, abi::PciInfo* out) {
  *out = {};
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (const Fake* fake = as_fake(d); fake != nullptr)
      (void)std::sscanf(fake->pci.c_str(), "%x:%x:%x", &out->domain, &out->bus, &out->device);
  }
  return answer(d, "PciInfo", &out->pci_device_id);
}
FAKE_API int nvmlDeviceGetMemoryInfo(abi::Device d, abi::Memory* out) {
  return answer(d, "MemoryInfo", &out->total);
}
FAKE_API int nvmlDeviceGetPowerUsage(abi::Device d, unsigned* out) {
  return answer(d, "PowerUsage", out);
}
FAKE_API int nvmlDeviceGetTotalEnergyConsumption(abi::Device d, unsigned long long* out) {
  return answer(d, "TotalEnergyConsumption", out);
}
FAKE_API int nvmlDeviceGetPowerManagementLimit(abi::Device d, unsigned* out) {
  return answer(d, "PowerManagementLimit", out);
}
FAKE_API int nvmlDeviceGetPowerManagementDefaultLimit(abi::Device d, unsigned* out) {
  return answer(d, "PowerManagementDefaultLimit", out);
}
FAKE_API int nvmlDeviceGetEnforcedPowerLimit(abi::Device d, unsigned* out) {
  return answer(d, "EnforcedPowerLimit", out);
}
FAKE_API int nvmlDeviceGetClockInfo(abi::Device d, int domain, unsigned* out) {
  return answer(d, domain == abi::kClockSm ? "ClockInfo" : "MemoryClockInfo", out);
}
FAKE_API int nvmlDeviceGetMaxClockInfo(abi::Device d, int domain, unsigned* out) {
  return answer(d, domain == abi::kClockSm ? "MaxClockInfo" : "MaxMemoryClockInfo", out);
}
FAKE_API int nvmlDeviceGetApplicationsClock(abi::Device d, int, unsigned* out) {
  return answer(d, "ApplicationsClock", out);
}
FAKE_API int nvmlDeviceGetDefaultApplicationsClock(abi::Device d, int, unsigned* out) {
  return answer(d, "DefaultApplicationsClock", out);
}
FAKE_API int nvmlDeviceGetTemperature(abi::Device d, int sensor, unsigned* out) {
  return sensor == 0 ? answer(d, "Temperature", out) : abi::kInvalidArgument;
}
FAKE_API int nvmlDeviceGetViolationStatus(abi::Device d, int policy, abi::ViolationTime* out) {
  out->reference_us = 1;
  return answer(d, ("ViolationStatus:" + std::to_string(policy)).c_str(), &out->violation_ns);
}
FAKE_API int nvmlDeviceGetEccMode(abi::Device d, int* current, int* pending) {
  const int code = answer(d, "EccMode", current);
  *pending = *current;
  return code;
}
FAKE_API int nvmlDeviceGetPersistenceMode(abi::Device d, int* out) {
  return answer(d, "PersistenceMode", out);
}
FAKE_API int nvmlDeviceGetNvLinkState(abi::Device d, unsigned link, int* out) {
  if (link >= 18) return abi::kInvalidArgument;
  return answer(d, ("nvlink:" + std::to_string(link)).c_str(), out);
}
FAKE_API int nvmlDeviceGetUtilizationRates(abi::Device d, abi::Utilization* out) {
  return answer(d, "UtilizationRates", &out->gpu);
}
#endif
