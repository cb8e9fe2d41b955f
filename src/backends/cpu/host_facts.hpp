// HostFacts: what Linux says of the CPUs and memory this process may use: affinity, topology,
// caches, cgroup quota and limits, ISA. Used by the CPU backend and its tests (which put a made-up
// tree under `root`). It refuses to guess: a file that is not there leaves its field empty.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gemmpeak::cpu {

struct HostFacts {
  std::string model_name;  // of /proc/cpuinfo
  std::string vendor;      // "GenuineIntel", "AuthenticAMD", ...
  int family = 0;
  int model = 0;
  std::set<std::string> flags;
  bool hybrid = false;                  // performance and efficiency cores mixed
  std::vector<int> cpus;                // allowed by the affinity mask, ascending
  std::vector<std::vector<int>> cores;  // `cpus` grouped by physical core
  std::optional<double> quota_cpus;     // cgroup CPU quota in CPUs
  std::int64_t llc_bytes = 0;           // last-level caches that `cpus` reach, added up
  std::int64_t memory_bytes = 0;        // physical, or the cgroup's limit where that is less
  std::optional<double> rated_clock_mhz;
};

HostFacts read_host_facts(const std::string& root, std::vector<int> allowed_cpus);

// Memory to be had now: MemAvailable, or what the cgroups above leave where that is less.
struct HostMemory {
  std::int64_t free_bytes = 0;
  std::int64_t total_bytes = 0;
};
HostMemory read_host_memory(const std::string& root);

// CPUs this process may run on, by its affinity mask.
std::vector<int> affinity_cpus();

// Which CPUs the threads go to: one per physical core and no more than the quota gives, or
// `requested` of them (then second SMT siblings too, never more than allowed).
std::vector<int> choose_cpus(const HostFacts& facts, int requested);

// "avx2", "avx512", "amx", ... by the flags.
std::string architecture_of(const HostFacts& facts);
// Floating-point operations per core and clock with every FMA unit busy, from the vendors'
// documents; 0 where the number or width of the units is not known from the flags alone.
struct FlopPerClock {
  double float32 = 0;
  double float64 = 0;
  std::string source;
};
FlopPerClock flop_per_clock(const HostFacts& facts);

}  // namespace gemmpeak::cpu
