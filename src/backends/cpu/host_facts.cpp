#include "backends/cpu/host_facts.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

namespace gemmpeak::cpu {
namespace {

// Files of /proc and /sys claim a size of 0 or a page, so they are read to their end.
std::optional<std::string> slurp(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<std::string> first_word(const std::string& path) {
  const auto text = slurp(path);
  if (!text) return std::nullopt;
  std::istringstream stream(*text);
  std::string word;
  if (!(stream >> word)) return std::nullopt;
  return word;
}

std::optional<double> number(const std::string& word) {
  std::istringstream stream(word);
  double value = 0;
  if (!(stream >> value)) return std::nullopt;
  return value;
}

std::optional<double> number_in(const std::string& path) {
  const auto word = first_word(path);
  return word ? number(*word) : std::nullopt;
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\n");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

void read_cpuinfo(const std::string& root, HostFacts& facts) {
  std::istringstream text(slurp(root + "/proc/cpuinfo").value_or(""));
  for (std::string line; std::getline(text, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) {
      if (!facts.flags.empty()) break;  // the first processor is enough
      continue;
    }
    const std::string key = trimmed(line.substr(0, colon)), value = trimmed(line.substr(colon + 1));
    if (key == "model name") facts.model_name = value;
    if (key == "vendor_id") facts.vendor = value;
    if (key == "cpu family") facts.family = static_cast<int>(number(value).value_or(0));
    if (key == "model") facts.model = static_cast<int>(number(value).value_or(0));
    if (key == "flags" || key == "Features") {
      std::istringstream words(value);
      for (std::string word; words >> word;) facts.flags.insert(word);
    }
  }
}

std::string cpu_folder(const std::string& root, int cpu) {
  return root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
}

std::vector<std::vector<int>> group_by_core(const std::string& root, const std::vector<int>& cpus) {
  std::vector<std::vector<int>> cores;
  std::map<std::string, std::size_t> seen;
  for (const int cpu : cpus) {
    const std::string topology = cpu_folder(root, cpu) + "/topology/";
    auto key = first_word(topology + "core_cpus_list");
    if (!key) key = first_word(topology + "thread_siblings_list");  // before Linux 5.3
    const auto [at, added] = seen.emplace(key.value_or("cpu" + std::to_string(cpu)), cores.size());
    if (added) cores.emplace_back();
    cores[at->second].push_back(cpu);
  }
  return cores;
}

// "32768K" or "32M".
std::int64_t cache_bytes(const std::string& text) {
  const double value = number(text).value_or(0);
  const char unit = text.empty() ? ' ' : text.back();
  return static_cast<std::int64_t>(value * (unit == 'K' ? 1024 : unit == 'M' ? 1048576 : 1));
}

std::int64_t read_llc(const std::string& root, const std::vector<int>& cpus) {
  std::map<std::string, std::int64_t> caches;  // by the CPUs that share one
  int deepest = 0;
  for (const int cpu : cpus)
    for (int index = 0;; ++index) {
      const std::string folder = cpu_folder(root, cpu) + "/cache/index" + std::to_string(index);
      const auto level = number_in(folder + "/level");
      if (!level) break;
      if (*level < deepest) continue;
      if (*level > deepest) caches.clear();
      deepest = static_cast<int>(*level);
      caches[first_word(folder + "/shared_cpu_list").value_or(std::to_string(cpu))] =
          cache_bytes(first_word(folder + "/size").value_or(""));
    }
  std::int64_t total = 0;
  for (const auto& [sharers, bytes] : caches) total += bytes;
  return total;
}

// The folders of this process's cgroup and its parents for one controller, innermost first. The
// mount itself comes last, because a container's /proc/self/cgroup may name a path outside of its
// mount. v2 is the line with an empty controller list.
std::vector<std::string> cgroup_folders(const std::string& root, const std::string& controller) {
  std::istringstream text(slurp(root + "/proc/self/cgroup").value_or(""));
  std::string wanted(1, ',');
  wanted.append(controller).append(1, ',');
  std::vector<std::string> folders;
  for (std::string line; std::getline(text, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string controllers(1, ',');
    controllers.append(line, first + 1, second - first - 1).append(1, ',');
    const bool v2 = controllers == ",,";
    if (v2 != controller.empty()) continue;
    if (!v2 && controllers.find(wanted) == std::string::npos) continue;
    const std::string mount = root + "/sys/fs/cgroup" + (v2 ? "" : "/" + controller);
    for (std::string path = line.substr(second + 1); path.size() > 1;) {
      folders.push_back(mount + path);
      path.resize(path.rfind('/'));
    }
    folders.push_back(mount);
    break;
  }
  return folders;
}

std::optional<double> read_quota(const std::string& root) {
  std::optional<double> least;
  const auto consider = [&least](std::optional<double> quota, std::optional<double> period) {
    if (!quota || !period || *quota <= 0 || *period <= 0) return;  // "max" and -1: no limit
    least = std::min(least.value_or(*quota / *period), *quota / *period);
  };
  for (const std::string& folder : cgroup_folders(root, "")) {
    std::istringstream words(slurp(folder + "/cpu.max").value_or(""));
    std::string quota, period;
    words >> quota >> period;
    consider(number(quota), number(period));
  }
  for (const std::string& folder : cgroup_folders(root, "cpu"))
    consider(number_in(folder + "/cpu.cfs_quota_us"), number_in(folder + "/cpu.cfs_period_us"));
  return least;
}

std::int64_t meminfo_bytes(const std::string& text, const std::string& key) {
  const auto at = text.find(key + ":");
  if (at == std::string::npos) return 0;
  return static_cast<std::int64_t>(number(text.substr(at + key.size() + 1)).value_or(0)) * 1024;
}

// Page cache that the kernel gives up before it kills; counted as free.
double reclaimable(const std::string& folder, const std::string& key) {
  std::istringstream text(slurp(folder + "/memory.stat").value_or(""));
  std::string name;
  for (double value = 0; text >> name >> value;)
    if (name == key) return value;
  return 0;
}

void limit_by(HostMemory& memory, const std::string& folder, const char* limit_file,
              const char* usage_file, const char* cache_key) {
  const auto limit = number_in(folder + "/" + limit_file);  // "max" is no number
  if (!limit || *limit >= static_cast<double>(memory.total_bytes)) return;
  memory.total_bytes = static_cast<std::int64_t>(*limit);
  const double used =
      number_in(folder + "/" + usage_file).value_or(0) - reclaimable(folder, cache_key);
  memory.free_bytes =
      std::min(memory.free_bytes, static_cast<std::int64_t>(std::max(0.0, *limit - used)));
}

bool has(const HostFacts& facts, const char* flag) { return facts.flags.count(flag) != 0; }

}  // namespace

HostMemory read_host_memory(const std::string& root) {
  const std::string meminfo = slurp(root + "/proc/meminfo").value_or("");
  HostMemory memory{meminfo_bytes(meminfo, "MemAvailable"), meminfo_bytes(meminfo, "MemTotal")};
  for (const std::string& folder : cgroup_folders(root, ""))
    limit_by(memory, folder, "memory.max", "memory.current", "inactive_file");
  for (const std::string& folder : cgroup_folders(root, "memory"))
    limit_by(memory, folder, "memory.limit_in_bytes", "memory.usage_in_bytes",
             "total_inactive_file");
  return memory;
}

HostFacts read_host_facts(const std::string& root, std::vector<int> allowed_cpus) {
  HostFacts facts;
  facts.cpus = std::move(allowed_cpus);
  read_cpuinfo(root, facts);
  // Linux makes one PMU for each kind of core on Intel's hybrids.
  std::error_code ignored;
  facts.hybrid = std::filesystem::exists(root + "/sys/devices/cpu_atom", ignored);
  facts.cores = group_by_core(root, facts.cpus);
  facts.quota_cpus = read_quota(root);
  facts.llc_bytes = read_llc(root, facts.cpus);
  facts.memory_bytes = read_host_memory(root).total_bytes;
  if (!facts.cpus.empty())
    if (const auto khz =
            number_in(cpu_folder(root, facts.cpus.front()) + "/cpufreq/cpuinfo_max_freq"))
      facts.rated_clock_mhz = *khz / 1000;
  return facts;
}

std::vector<int> affinity_cpus() {
  // Sized for the largest kernel configuration (CONFIG_NR_CPUS 8192); a smaller set would be
  // refused.
  constexpr int kMaxCpus = 8192;
  std::vector<int> cpus;
  cpu_set_t* set = CPU_ALLOC(kMaxCpus);
  if (set == nullptr) return cpus;
  const std::size_t size = CPU_ALLOC_SIZE(kMaxCpus);
  CPU_ZERO_S(size, set);
  if (sched_getaffinity(0, size, set) == 0)
    for (int cpu = 0; cpu < kMaxCpus; ++cpu)
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), size, set)) cpus.push_back(cpu);
  CPU_FREE(set);
  return cpus;
}

std::vector<int> choose_cpus(const HostFacts& facts, int requested) {
  std::vector<int> order;  // first siblings, then second ones
  for (std::size_t sibling = 0; order.size() < facts.cpus.size(); ++sibling)
    for (const std::vector<int>& core : facts.cores)
      if (sibling < core.size()) order.push_back(core[sibling]);
  std::size_t count = facts.cores.size();
  // A fraction of a CPU is left unused: a thread that runs half the time stalls all the others.
  if (facts.quota_cpus)
    count = std::min(count, static_cast<std::size_t>(std::max(1.0, std::floor(*facts.quota_cpus))));
  if (requested > 0) count = static_cast<std::size_t>(requested);
  order.resize(std::min(count, order.size()));
  return order;
}

std::string architecture_of(const HostFacts& facts) {
  if (has(facts, "amx_tile")) return "amx";
  if (has(facts, "avx512f")) return "avx512";
  if (has(facts, "avx2")) return "avx2";
  if (has(facts, "avx")) return "avx";
  if (has(facts, "sve2")) return "sve2";
  if (has(facts, "sve")) return "sve";
  if (has(facts, "asimd")) return "neon";
  return has(facts, "sse2") ? "sse2" : "";
}

FlopPerClock flop_per_clock(const HostFacts& facts) {
  if (facts.hybrid || !has(facts, "fma") || !has(facts, "avx2")) return {};
  const bool avx512 = has(facts, "avx512f");
  if (facts.vendor == "AuthenticAMD") {
    // Zen and Zen+ (family 17h below model 30h) split 256-bit operations in two.
    if (facts.family == 0x17 && facts.model < 0x30)
      return {16, 8, "two 128-bit FMA units (AMD Software Optimization Guide, family 17h)"};
    // Zen 4 does 512-bit operations in two passes: the same flop per clock as with 256 bits.
    if (facts.family == 0x17 || facts.family == 0x19)
      return {32, 16, "two 256-bit FMA units (AMD Software Optimization Guides, 17h and 19h)"};
    return {};  // Zen 5 has 256- or 512-bit units, by product
  }
  if (facts.vendor == "GenuineIntel" && facts.family == 6) {
    if (avx512) return {};  // one or two 512-bit units, by product; the flags do not tell
    // Gracemont and Crestmont (Alder Lake-N, Sierra Forest) have 128-bit units.
    if (facts.model == 0xBE || facts.model == 0xAF) return {};
    return {32, 16, "two 256-bit FMA units (Intel Optimization Reference Manual, Haswell on)"};
  }
  return {};
}

}  // namespace gemmpeak::cpu
