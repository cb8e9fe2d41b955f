#include "backends/cpu/cpu_backend.hpp"

#include <sys/utsname.h>

#include <cstdio>
#include <utility>

namespace gemmpeak::cpu {
namespace {

// Variables that change what the libraries compute with or how many threads they use. They are
// recorded, never set; float32 stays IEEE whatever the FPMATH variables say.
constexpr const char* kEnvironment[] = {"DNNL_MAX_CPU_ISA",
                                        "ONEDNN_MAX_CPU_ISA",
                                        "DNNL_CPU_ISA_HINTS",
                                        "ONEDNN_CPU_ISA_HINTS",
                                        "DNNL_DEFAULT_FPMATH_MODE",
                                        "ONEDNN_DEFAULT_FPMATH_MODE",
                                        "OPENBLAS_CORETYPE",
                                        "OPENBLAS_NUM_THREADS",
                                        "OMP_NUM_THREADS",
                                        "OMP_PROC_BIND",
                                        "OMP_PLACES",
                                        "OMP_WAIT_POLICY",
                                        "OMP_DYNAMIC",
                                        "OMP_THREAD_LIMIT",
                                        "GOMP_CPU_AFFINITY",
                                        "GOMP_SPINCOUNT",
                                        "MALLOC_ARENA_MAX"};

// A guess: CPU libraries block for caches, not for tiles of C. Both dimensions are multiples of
// every dtype's alignment and of auto's refine step (256).
constexpr TileHint kTileGuess{256, 256};

std::string quota_text(double cpus) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f CPUs", cpus);
  return text;
}

bool has_vnni(const HostFacts& facts) {
  for (const char* flag : {"avx512_vnni", "avx_vnni", "amx_int8", "asimddp", "i8mm"})
    if (facts.flags.count(flag) != 0) return true;
  return false;
}

// The mask the process came with, also for a backend made while an open device has its caller
// pinned.
const std::vector<int>& original_cpus() {
  static const std::vector<int> cpus = affinity_cpus();
  return cpus;
}

void describe_threads(DeviceInfo& info, const HostFacts& facts, const std::vector<int>& cpus,
                      int requested) {
  std::string list;
  for (const int cpu : cpus) list.append(list.empty() ? "" : ",").append(std::to_string(cpu));
  std::string text = std::to_string(cpus.size()) + " of " + std::to_string(facts.cpus.size()) +
                     " CPUs, pinned to " + list;
  if (requested > static_cast<int>(cpus.size()))
    text.append(" (").append(std::to_string(requested)).append(" asked for)");
  info.attributes["threads"] = text;
  if (facts.cores.size() < facts.cpus.size())
    info.attributes["SMT"] = std::to_string(facts.cpus.size()) + " CPUs are " +
                             std::to_string(facts.cores.size()) + " cores";
  if (facts.quota_cpus) info.attributes["cgroup quota"] = quota_text(*facts.quota_cpus);
}

}  // namespace

DeviceInfo describe_cpu(const HostFacts& facts, const std::vector<int>& cpus,
                        const std::vector<std::unique_ptr<Provider>>& providers,
                        const BackendSettings& settings) {
  DeviceInfo info;
  info.id = "cpu";
  info.backend = "cpu";
  info.kind = DeviceKind::cpu;
  utsname system{};
  const bool known = ::uname(&system) == 0;
  info.name = !facts.model_name.empty() ? facts.model_name
              : known                   ? std::string(system.machine) + " CPU"
                                        : "CPU";
  info.architecture = architecture_of(facts);
  info.units = static_cast<int>(cpus.size());
  info.tile = kTileGuess;
  info.attributes["tile hint"] = "a guess, not checked against the libraries";
  info.memory_bytes = facts.memory_bytes;
  info.llc_bytes = facts.llc_bytes;
  info.rated_clock_mhz = facts.rated_clock_mhz;
  if (const FlopPerClock flop = flop_per_clock(facts); flop.float32 > 0) {
    info.flop_per_clock_per_unit[DType::float32] = flop.float32;
    info.flop_per_clock_per_unit[DType::float64] = flop.float64;
    info.attributes["flop per clock"] = flop.source;
  }
  if (known) info.versions["kernel"] = system.release;
  describe_threads(info, facts, cpus, settings.threads);
  for (const auto& provider : providers) {
    info.versions[provider->name()] = provider->version();
    if (const std::string remark = provider->threading(); !remark.empty())
      info.attributes[provider->name() + " threads"] = remark;
  }
  for (const char* name : kEnvironment) {
    info.environment.emplace_back(name);
    if (const auto set = settings.environment.find(name); set != settings.environment.end())
      info.attributes[std::string("environment ") + name] = set->second;
  }
  return info;
}

std::vector<std::unique_ptr<Provider>> make_providers([[maybe_unused]] const std::string& cpu) {
  std::vector<std::unique_ptr<Provider>> providers;
#ifdef GEMMPEAK_HAVE_DNNL
  if (auto dnnl = make_dnnl_provider(cpu)) providers.push_back(std::move(dnnl));
#endif
#ifdef GEMMPEAK_HAVE_OPENBLAS
  providers.push_back(make_openblas_provider());
#endif
  return providers;
}

CpuBackend::CpuBackend(BackendSettings settings)
    : settings_(std::move(settings)),
      facts_(read_host_facts("", original_cpus())),
      cpus_(choose_cpus(facts_, settings_.threads)),
      providers_(std::make_shared<const std::vector<std::unique_ptr<Provider>>>(
          make_providers("this CPU (" + architecture_of(facts_) + ")"))),
      info_(describe_cpu(facts_, cpus_, *providers_, settings_)) {}

Result<std::vector<DeviceInfo>> CpuBackend::list() { return std::vector<DeviceInfo>{info_}; }

Result<std::unique_ptr<Device>> CpuBackend::open(const std::string& id) {
  if (id != "cpu" && id != "cpu:0") return error_text("the CPU backend has one device, 'cpu'");
  return make_cpu_device(info_, cpus_, has_vnni(facts_), providers_);
}

}  // namespace gemmpeak::cpu

#define GEMMPEAK_EXPORT extern "C" __attribute__((visibility("default")))

GEMMPEAK_EXPORT int gemmpeak_backend_abi();
GEMMPEAK_EXPORT gemmpeak::Backend* gemmpeak_backend_entry(const gemmpeak::BackendSettings&);

int gemmpeak_backend_abi() { return gemmpeak::kBackendAbi; }

gemmpeak::Backend* gemmpeak_backend_entry(const gemmpeak::BackendSettings& settings) {
  return new gemmpeak::cpu::CpuBackend(settings);
}
