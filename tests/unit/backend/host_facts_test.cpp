// The CPU backend's view of Linux, on made-up /proc and /sys trees.
#include "backends/cpu/host_facts.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>

namespace gemmpeak::cpu {
namespace {

class HostFactsTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = testing::TempDir() + "host_facts_" + test->name();
    std::filesystem::remove_all(root_);
    write("/proc/meminfo", "MemTotal:       16000 kB\nMemFree: 10 kB\nMemAvailable:   12000 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void cpuinfo(const std::string& vendor, int family, int model, const std::string& flags) {
    write("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: " + vendor + "\ncpu family\t: " +
                               std::to_string(family) + "\nmodel\t\t: " + std::to_string(model) +
                               "\nmodel name\t: Made Up 9000\nflags\t\t: " + flags + "\n\n");
  }
  // `pairs` cores of two SMT siblings: c and c + pairs.
  void smt(int pairs) {
    for (int cpu = 0; cpu < 2 * pairs; ++cpu) {
      const int core = cpu % pairs;
      const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
      const std::string siblings = std::to_string(core) + "," + std::to_string(core + pairs);
      write(folder + "/topology/core_cpus_list", siblings + "\n");
      write(folder + "/cache/index0/level", "1\n");
      write(folder + "/cache/index0/size", "32K\n");
      write(folder + "/cache/index0/shared_cpu_list", siblings + "\n");
      write(folder + "/cache/index1/level", "3\n");
      write(folder + "/cache/index1/size", core < pairs / 2 ? "32M\n" : "32768K\n");
      write(folder + "/cache/index1/shared_cpu_list", core < pairs / 2 ? "low\n" : "high\n");
    }
  }
  static std::vector<int> cpus(int count) {
    std::vector<int> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  std::string root_;
};

TEST_F(HostFactsTest, OneThreadGoesToEachPhysicalCoreOfTheAffinityMask) {
  smt(4);
  const HostFacts facts = read_host_facts(root_, cpus(8));
  EXPECT_EQ(facts.cores.size(), 4u);
  EXPECT_EQ(choose_cpus(facts, 0), (std::vector<int>{0, 1, 2, 3}));
  const HostFacts part = read_host_facts(root_, {1, 5, 6});
  EXPECT_EQ(choose_cpus(part, 0), (std::vector<int>{1, 6}));
}

TEST_F(HostFactsTest, ThreadsAskedForUseSecondSiblingsLastAndNeverMoreThanAllowed) {
  smt(4);
  const HostFacts facts = read_host_facts(root_, cpus(8));
  EXPECT_EQ(choose_cpus(facts, 2), (std::vector<int>{0, 1}));
  EXPECT_EQ(choose_cpus(facts, 6), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(choose_cpus(facts, 100).size(), 8u);
}

TEST_F(HostFactsTest, CpusWithoutTopologyCountAsCores) {
  EXPECT_EQ(choose_cpus(read_host_facts(root_, {3, 7}), 0), (std::vector<int>{3, 7}));
}

TEST_F(HostFactsTest, TheQuotaOfCgroupV2LimitsTheThreadsAlsoWhenAParentSetsIt) {
  write("/proc/self/cgroup", "0::/outer/inner\n");
  write("/sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/outer/cpu.max", "250000 100000\n");
  const HostFacts facts = read_host_facts(root_, cpus(8));
  EXPECT_EQ(facts.quota_cpus, 2.5);
  EXPECT_EQ(choose_cpus(facts, 0).size(), 2u);
}

TEST_F(HostFactsTest, TheQuotaOfCgroupV1IsReadAndMinusOneIsNone) {
  write("/proc/self/cgroup", "4:memory:/\n2:cpu,cpuacct:/job\n");
  write("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000\n");
  write("/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  const HostFacts facts = read_host_facts(root_, cpus(8));
  EXPECT_EQ(facts.quota_cpus, 0.5);
  EXPECT_EQ(choose_cpus(facts, 0).size(), 1u) << "never fewer than one";
  write("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
  EXPECT_FALSE(read_host_facts(root_, cpus(8)).quota_cpus.has_value());
}

TEST_F(HostFactsTest, AContainersForeignCgroupPathFallsBackToTheMount) {
  write("/proc/self/cgroup", "0::/../../elsewhere\n");
  write("/sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_EQ(read_host_facts(root_, cpus(8)).quota_cpus, 3.0);
}

TEST_F(HostFactsTest, LastLevelCachesAreAddedUpOncePerGroupOfSharers) {
  smt(4);
  EXPECT_EQ(read_host_facts(root_, cpus(8)).llc_bytes, 64LL << 20);
  EXPECT_EQ(read_host_facts(root_, {0, 1}).llc_bytes, 32LL << 20);
  EXPECT_EQ(read_host_facts(root_, {42}).llc_bytes, 0) << "unknown, never a guess";
}

TEST_F(HostFactsTest, FreeMemoryIsWhatTheMachineHasWithoutACgroupLimit) {
  const HostMemory memory = read_host_memory(root_);
  EXPECT_EQ(memory.total_bytes, 16000 * 1024);
  EXPECT_EQ(memory.free_bytes, 12000 * 1024);
}

TEST_F(HostFactsTest, TheCgroupsMemoryLimitCountsWithPageCacheAsFree) {
  write("/proc/self/cgroup", "0::/job\n");
  write("/sys/fs/cgroup/job/memory.max", "8000000\n");
  write("/sys/fs/cgroup/job/memory.current", "3000000\n");
  write("/sys/fs/cgroup/job/memory.stat", "anon 1\ninactive_file 1000000\n");
  const HostMemory memory = read_host_memory(root_);
  EXPECT_EQ(memory.total_bytes, 8000000);
  EXPECT_EQ(memory.free_bytes, 6000000);
  write("/sys/fs/cgroup/job/memory.max", "max\n");
  EXPECT_EQ(read_host_memory(root_).total_bytes, 16000 * 1024);
}

TEST_F(HostFactsTest, CgroupV1sUnlimitedMemoryIsNoLimit) {
  write("/proc/self/cgroup", "4:memory:/job\n");
  write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(read_host_memory(root_).total_bytes, 16000 * 1024);
  write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "4000000\n");
  write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "5000000\n");
  EXPECT_EQ(read_host_memory(root_).free_bytes, 0) << "over its limit: nothing, not a negative";
}

TEST_F(HostFactsTest, FlopPerClockIsGivenOnlyWhereTheUnitsAreKnown) {
  const auto float32 = [&](const std::string& vendor, int family, int model, const char* flags) {
    cpuinfo(vendor, family, model, flags);
    return flop_per_clock(read_host_facts(root_, {0})).float32;
  };
  EXPECT_EQ(float32("AuthenticAMD", 0x19, 0x11, "fma avx2 avx512f"), 32);  // Zen 4
  EXPECT_EQ(float32("AuthenticAMD", 0x17, 0x31, "fma avx2"), 32);          // Zen 2
  EXPECT_EQ(float32("AuthenticAMD", 0x17, 0x01, "fma avx2"), 16);          // Zen
  EXPECT_EQ(float32("AuthenticAMD", 0x1a, 0x02, "fma avx2 avx512f"), 0);   // Zen 5: by product
  EXPECT_EQ(float32("GenuineIntel", 6, 0x3C, "fma avx2"), 32);             // Haswell
  EXPECT_EQ(float32("GenuineIntel", 6, 0x55, "fma avx2 avx512f"), 0);      // one or two units
  EXPECT_EQ(float32("GenuineIntel", 6, 0xBE, "fma avx2"), 0);              // Gracemont
  EXPECT_EQ(float32("GenuineIntel", 6, 0x2A, "avx"), 0);
  cpuinfo("GenuineIntel", 6, 0x97, "fma avx2");
  write("/sys/devices/cpu_atom/cpus", "8-15\n");  // a hybrid
  EXPECT_EQ(flop_per_clock(read_host_facts(root_, {0})).float32, 0);
}

TEST_F(HostFactsTest, NameArchitectureAndRatedClockAreRead) {
  cpuinfo("GenuineIntel", 6, 0x8F, "sse2 avx avx2 avx512f amx_tile");
  write("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3800000\n");
  const HostFacts facts = read_host_facts(root_, {0});
  EXPECT_EQ(facts.model_name, "Made Up 9000");
  EXPECT_EQ(architecture_of(facts), "amx");
  EXPECT_EQ(facts.rated_clock_mhz, 3800.0);
  EXPECT_EQ(facts.memory_bytes, 16000 * 1024);
}

TEST_F(HostFactsTest, AnEmptyTreeGivesEmptyFactsAndNoCrash) {
  const HostFacts facts = read_host_facts(root_ + "/nothing", {0});
  EXPECT_TRUE(facts.model_name.empty());
  EXPECT_EQ(facts.memory_bytes, 0);
  EXPECT_FALSE(facts.rated_clock_mhz.has_value());
  EXPECT_EQ(choose_cpus(facts, 0), std::vector<int>{0});
}

}  // namespace
}  // namespace gemmpeak::cpu
