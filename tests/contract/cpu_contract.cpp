// What only the CPU backend promises: its memory is the host's, its threads are pinned, and nothing
// of that is left behind. Skipped on other devices.
#include <sched.h>

#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "backend/host_fill.hpp"
#include "contract.hpp"

namespace gemmpeak::contract {
namespace {

class CpuContract : public testing::Test {
 protected:
  void SetUp() override {
    if (!on_cpu()) GTEST_SKIP() << "about the CPU backend";
  }
};

TEST_F(CpuContract, BuffersAreAlignedAndFilledAsTheHostWouldFillThem) {
  constexpr std::int64_t kElements = 100003;
  auto buffer = device().allocate(kElements * 4);
  CONTRACT_OK(buffer);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>((*buffer)->address()) % 64, 0u);
  CONTRACT_OK(
      device().fill({buffer->get(), 0, kElements * 4}, DType::float32, DataKind::normal, 5));
  std::vector<float> want(kElements);
  host_fill(want.data(), kElements, DType::float32, DataKind::normal, 5);
  EXPECT_EQ(std::memcmp(want.data(), (*buffer)->address(), kElements * 4), 0);
}

TEST_F(CpuContract, ASetWritesItsBytesAndNoOthers) {
  constexpr std::int64_t kBytes = 4096;
  auto buffer = device().allocate(kBytes);
  CONTRACT_OK(buffer);
  auto stream = device().make_stream();
  CONTRACT_OK(stream);
  const auto* bytes = static_cast<const std::uint8_t*>((*buffer)->address());
  for (const auto& [offset, count] :
       {std::pair<std::int64_t, std::int64_t>{3, 1}, {61, 259}, {0, 4095}, {1, 4095}, {4096, 0}}) {
    CONTRACT_OK((*stream)->enqueue_set({buffer->get(), 0, kBytes}, 0x11));
    CONTRACT_OK((*stream)->enqueue_set({buffer->get(), offset, count}, 0x77));
    for (std::int64_t i = 0; i < kBytes; ++i)
      ASSERT_EQ(bytes[i], i >= offset && i < offset + count ? 0x77 : 0x11) << offset << "," << i;
  }
}

TEST_F(CpuContract, SizesAreExactAndThereAreNoScales) {
  const OperandSizes sizes = device().operand_sizes(reference_problem(DType::int8, {3, 5, 7}));
  EXPECT_EQ(sizes.a, 21);
  EXPECT_EQ(sizes.b, 35);
  EXPECT_EQ(sizes.c, 60) << "C is int32";
  EXPECT_EQ(sizes.total(), 116);
}

TEST_F(CpuContract, Float32HasTwoProvidersWhereBothLibrariesAreThere) {
  const auto& versions = device().info().versions;
  if (versions.count("oneDNN") == 0 || versions.count("OpenBLAS") == 0)
    GTEST_SKIP() << "built with one library";
  const GemmProblem problem = reference_problem(DType::float32, kShape);
  EXPECT_EQ(device().suggestions(problem, 0).value(), 2);
  auto first = device().plan(problem, {.rank = 0}), second = device().plan(problem, {.rank = 1});
  CONTRACT_OK(first);
  CONTRACT_OK(second);
  EXPECT_EQ((*first)->algorithm().provider, "oneDNN");
  EXPECT_EQ((*second)->algorithm().provider, "OpenBLAS");
}

TEST_F(CpuContract, BothNamesOpenTheDeviceAndOthersAreRefused) {
  auto device_0 = registry().open("cpu:0");
  CONTRACT_OK(device_0);
  EXPECT_EQ((*device_0)->info().id, "cpu");
  EXPECT_FALSE(registry().open("cpu:1").ok());
}

TEST_F(CpuContract, ASecondDeviceSeesAsManyCpusAsTheFirstThoughItsCallerIsPinned) {
  auto stream = device().make_stream();  // pins this thread
  CONTRACT_OK(stream);
  auto second = registry().open("cpu");
  CONTRACT_OK(second);
  EXPECT_EQ((*second)->info().units, device().info().units);
}

TEST_F(CpuContract, ClosingTheDeviceGivesTheCallerItsAffinityBack) {
  std::thread([] {
    cpu_set_t before;
    CPU_ZERO(&before);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(static_cast<unsigned>(cpu), &before);
    ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);  // those that exist
    {
      auto opened = registry().open("cpu");
      CONTRACT_OK(opened);
      auto stream = (*opened)->make_stream();
      CONTRACT_OK(stream);
      cpu_set_t pinned;
      ASSERT_EQ(sched_getaffinity(0, sizeof pinned, &pinned), 0);
      EXPECT_EQ(CPU_COUNT(&pinned), 1);
    }
    cpu_set_t after;
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
  }).join();
}

}  // namespace
}  // namespace gemmpeak::contract
