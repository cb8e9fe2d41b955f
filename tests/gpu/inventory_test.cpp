// Listing, opening, refusals, memory.
#include <regex>

#include "gpu_support.hpp"

namespace gemmpeak::gpu_test {
namespace {

TEST(GpuInventory, DescribesEveryDeviceByOrdinal) {
  auto devices = backend().list();
  ASSERT_TRUE(devices.ok()) << devices.error().message();
  int ordinal = 0;
  for (const DeviceInfo& info : *devices) {
    EXPECT_EQ(info.id, "cuda:" + std::to_string(ordinal++));
    EXPECT_EQ(info.backend, "cuda");
    EXPECT_TRUE(std::regex_match(
        info.uuid,
        std::regex("(GPU|MIG)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")))
        << info.uuid;
    EXPECT_TRUE(
        std::regex_match(info.pci_bus_id, std::regex("[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\\.0")))
        << info.pci_bus_id;
    EXPECT_GT(info.units, 0);
    EXPECT_GT(info.memory_bytes, 1LL << 30);
    EXPECT_GT(info.llc_bytes, 1LL << 20);
    ASSERT_TRUE(info.rated_clock_mhz.has_value());
    EXPECT_GT(*info.rated_clock_mhz, 300.0);
    EXPECT_LT(*info.rated_clock_mhz, 4000.0);
    EXPECT_EQ(info.versions.count("cublasLt"), 1u);
    EXPECT_FALSE(info.environment.empty());
  }
}

TEST(GpuInventory, AnUnknownDeviceIsAnErrorThatListsWhatThereIs) {
  auto opened = backend().open("cuda:4711");
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message().find("cuda:0"), std::string::npos) << opened.error().message();
}

TEST(GpuInventory, Tf32OverrideTakesFloat32Away) {
  BackendSettings settings;
  settings.environment["NVIDIA_TF32_OVERRIDE"] = "1";
  auto opened = backend_with(settings)->open("cuda:0");
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  EXPECT_FALSE((*opened)->capability(DType::float32).supported);
  EXPECT_FALSE((*opened)->plan(reference_problem(DType::float32, {64, 64, 64}), {}).ok());
  EXPECT_TRUE((*opened)->capability(DType::bfloat16).supported);
}

TEST(GpuMemory, AnImpossibleAllocationIsAnErrorWithBothSizesAndHarmsNothing) {
  auto memory = device().memory();
  ASSERT_TRUE(memory.ok()) << memory.error().message();
  EXPECT_GT(memory->free_bytes, 0);
  EXPECT_LE(memory->free_bytes, memory->total_bytes);
  const std::int64_t wanted = memory->total_bytes + (1LL << 30);
  auto buffer = device().allocate(wanted);
  ASSERT_FALSE(buffer.ok());
  EXPECT_EQ(buffer.error().api, "cudaMalloc");
  EXPECT_NE(buffer.error().text.find(std::to_string(wanted)), std::string::npos);
  EXPECT_FALSE(device().dead());
  auto small = device().allocate(1 << 20);
  ASSERT_TRUE(small.ok()) << small.error().message();
  EXPECT_TRUE(device().fill(whole(*small), DType::float32, DataKind::normal, 1).ok());
}

TEST(GpuMemory, ABufferOfNoBytesIsFine) {
  auto none = device().allocate(0);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ((*none)->bytes(), 0);
}

TEST(GpuRefusals, EveryUnsupportedDtypeFailsToPlanWithAReason) {
  for (const DTypeInfo& row : dtype_table()) {
    if (device().capability(row.dtype).supported) continue;
    auto plan = device().plan(reference_problem(row.dtype, {256, 256, 256}), {});
    ASSERT_FALSE(plan.ok()) << row.name;
    EXPECT_FALSE(plan.error().text.empty()) << row.name;
  }
}

TEST(GpuRefusals, BadViewsAndMarksAreErrorsAndNotFaults) {
  const GemmProblem problem = reference_problem(DType::bfloat16, {256, 256, 256});
  const OperandSet set = make_operands(problem);
  auto plan = device().plan(problem, {});
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  auto stream = device().make_stream();
  ASSERT_TRUE(stream.ok());
  Operands small = set.views;
  small.a.bytes -= 2;
  EXPECT_FALSE((*stream)->enqueue_gemm(**plan, small).ok());
  Operands outside = set.views;
  outside.b.offset = 16;
  EXPECT_FALSE((*stream)->enqueue_gemm(**plan, outside).ok());
  EXPECT_FALSE((*stream)->enqueue_mark(0).ok());
  EXPECT_FALSE((*stream)->wait(0).ok());
  ASSERT_TRUE((*stream)->reserve(1, 1).ok());
  EXPECT_FALSE((*stream)->wait(0).ok()) << "reserved, but never placed";
  EXPECT_FALSE((*stream)->enqueue_stamp(1).ok());
  const std::int64_t outside_row[] = {256};
  const std::int64_t row[] = {0};
  EXPECT_FALSE(device().verify(problem, set.views, outside_row, row, {}).ok());
  EXPECT_FALSE(device().dead());
}

}  // namespace
}  // namespace gemmpeak::gpu_test
