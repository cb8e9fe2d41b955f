// What a device says of itself, its memory, its marks and its refusals.
#include "contract.hpp"

namespace gemmpeak::contract {
namespace {

TEST(DeviceContract, InfoNamesTheDeviceItsBackendAndItsUnits) {
  const DeviceInfo& info = device().info();
  EXPECT_FALSE(info.id.empty());
  EXPECT_FALSE(info.name.empty());
  EXPECT_EQ(info.id.substr(0, info.backend.size()), info.backend);
  EXPECT_GT(info.units, 0);
  EXPECT_GT(info.memory_bytes, 0);
  EXPECT_FALSE(info.identity().empty());
  EXPECT_FALSE(device().dead());
}

TEST(DeviceContract, EveryDtypeIsSupportedOrSaysWhyNot) {
  EXPECT_FALSE(supported_dtypes().empty());
  for (const DTypeInfo& row : dtype_table()) {
    const Capability can = device().capability(row.dtype);
    if (can.supported) {
      EXPECT_TRUE(row.input) << row.name;
      continue;
    }
    EXPECT_FALSE(can.reason.empty()) << row.name;
    auto plan = device().plan(reference_problem(row.dtype, kShape), {});
    ASSERT_FALSE(plan.ok()) << row.name;
    EXPECT_FALSE(plan.error().message().empty()) << row.name;
  }
}

TEST(DeviceContract, MemoryIsSaneAndSoIsAnAllocationOfIt) {
  auto memory = device().memory();
  CONTRACT_OK(memory);
  EXPECT_GT(memory->free_bytes, 0);
  EXPECT_LE(memory->free_bytes, memory->total_bytes);
  auto buffer = device().allocate(1 << 20);
  CONTRACT_OK(buffer);
  EXPECT_EQ((*buffer)->bytes(), 1 << 20);
}

TEST(DeviceContract, AnAllocationThatCannotFitFailsAndTheDeviceLivesOn) {
  auto huge = device().allocate(std::int64_t{1} << 50);
  ASSERT_FALSE(huge.ok());
  EXPECT_NE(huge.error().message().find("memory"), std::string::npos) << huge.error().message();
  EXPECT_FALSE(device().dead());
  auto small = device().allocate(4096);
  CONTRACT_OK(small);
}

TEST(DeviceContract, OperandSizesAreTrueBytesAlsoPastTwoToThe31) {
  for (const DType dtype : supported_dtypes())
    for (const GemmShape shape : {kShape, GemmShape{65536, 65536, 65536}}) {
      const GemmProblem problem = reference_problem(dtype, shape);
      const OperandSizes sizes = device().operand_sizes(problem);
      EXPECT_GE(sizes.a, dtype_bytes(dtype, shape.m * shape.k)) << dtype_name(dtype);
      EXPECT_GE(sizes.b, dtype_bytes(dtype, shape.n * shape.k)) << dtype_name(dtype);
      EXPECT_GE(sizes.c, dtype_bytes(problem.output, shape.m * shape.n)) << dtype_name(dtype);
      EXPECT_EQ(sizes.scale_a > 0, dtype_info(dtype).scale_block > 0 || sizes.scale_b > 0)
          << dtype_name(dtype);
      EXPECT_LE(sizes.a, dtype_bytes(dtype, shape.m * shape.k) * 2) << dtype_name(dtype);
    }
}

TEST(DeviceContract, EveryRankSuggestedPlansAndTheNextOneDoesNot) {
  for (const DType dtype : supported_dtypes()) {
    const GemmProblem problem = reference_problem(dtype, kShape);
    auto count = device().suggestions(problem, PlanRequest{}.max_workspace_bytes);
    CONTRACT_OK(count);
    ASSERT_GE(*count, 1) << dtype_name(dtype);
    for (int rank = 0; rank < *count; ++rank) {
      auto plan = device().plan(problem, {.rank = rank});
      CONTRACT_OK(plan);
      EXPECT_EQ((*plan)->problem(), problem);
      EXPECT_FALSE((*plan)->algorithm().provider.empty());
      EXPECT_FALSE((*plan)->algorithm().name.empty());
      EXPECT_EQ((*plan)->algorithm().is_default, rank == 0) << dtype_name(dtype) << rank;
    }
    EXPECT_FALSE(device().plan(problem, {.rank = *count}).ok()) << dtype_name(dtype);
  }
}

TEST(DeviceContract, ProductsWithAZeroOrNegativeDimensionAreRefused) {
  const DType dtype = supported_dtypes().front();
  for (const GemmShape shape : {GemmShape{0, 64, 64}, GemmShape{64, -64, 64}, GemmShape{64, 64, 0}})
    EXPECT_FALSE(device().plan(reference_problem(dtype, shape), {}).ok()) << shape.str();
}

TEST(DeviceContract, WorkOutsideOfABufferIsRefusedAndTheDeviceLivesOn) {
  auto buffer = device().allocate(4096);
  CONTRACT_OK(buffer);
  auto stream = device().make_stream();
  CONTRACT_OK(stream);
  EXPECT_FALSE((*stream)->enqueue_set({buffer->get(), 0, 8192}, 1).ok());
  EXPECT_FALSE((*stream)->enqueue_set({buffer->get(), 4096, 1}, 1).ok());
  EXPECT_FALSE((*stream)->enqueue_copy({buffer->get(), 0, 16}, {buffer->get(), 2048, 32}).ok());
  EXPECT_FALSE((*stream)->enqueue_mark(1 << 20).ok()) << "a mark that was not reserved";
  EXPECT_FALSE(device().dead());
}

TEST(DeviceContract, MarksAreInOrderAndAgreeWithTheDevicesOwnClock) {
  auto made = make_work(reference_problem(supported_dtypes().front(), {512, 512, 512}));
  CONTRACT_OK(made);
  Work& work = *made;
  CONTRACT_OK(work.fill(DataKind::normal, 1));
  CONTRACT_OK(work.run());  // first use: code is loaded, threads are made
  constexpr int kProducts = 50;
  const double before_s = device().now_s();
  CONTRACT_OK(work.stream->enqueue_mark(0));
  for (const Mark mark : {1, 2}) {
    for (int i = 0; i < kProducts; ++i)
      CONTRACT_OK(work.stream->enqueue_gemm(*work.plan, work.operands));
    CONTRACT_OK(work.stream->enqueue_mark(mark));
  }
  CONTRACT_OK(work.stream->wait(2));
  const double after_s = device().now_s();
  for (const Mark mark : {0, 1, 2}) {
    auto passed = work.stream->passed(mark);
    CONTRACT_OK(passed);
    EXPECT_TRUE(*passed);
  }
  auto first = work.stream->elapsed_s(0, 1), second = work.stream->elapsed_s(1, 2);
  auto both = work.stream->elapsed_s(0, 2);
  CONTRACT_OK(first);
  CONTRACT_OK(second);
  CONTRACT_OK(both);
  EXPECT_GT(*first, 0);
  EXPECT_GT(*second, 0);
  EXPECT_NEAR(*both, *first + *second, 1e-3 * *both + 2e-6);  // an event ticks each 0.5 us
  EXPECT_LE(*both, (after_s - before_s) * 1.02 + 1e-5);
}

TEST(DeviceContract, SleepingPassesAtLeastThatLongOnTheDevicesClock) {
  const double before_s = device().now_s();
  device().sleep_s(0.01);
  EXPECT_GE(device().now_s() - before_s, 0.01);
}

TEST(DeviceContract, StampsGiveAClockOrSayThatThereIsNone) {
  auto made = make_work(reference_problem(supported_dtypes().front(), {1024, 1024, 1024}));
  CONTRACT_OK(made);
  Work& work = *made;
  CONTRACT_OK(work.fill(DataKind::normal, 1));
  CONTRACT_OK(work.stream->reserve(8, 2));
  CONTRACT_OK(work.stream->enqueue_stamp(0));
  for (int i = 0; i < 100; ++i) CONTRACT_OK(work.stream->enqueue_gemm(*work.plan, work.operands));
  CONTRACT_OK(work.stream->enqueue_stamp(1));
  CONTRACT_OK(work.stream->synchronize());
  auto clock = work.stream->clock_between(0, 1);
  if (!device().has_stamps()) {
    EXPECT_FALSE(clock.ok());
    return;
  }
  CONTRACT_OK(clock);
  EXPECT_GT(clock->mhz, 100);
  EXPECT_LT(clock->mhz, 10000);
}

TEST(DeviceContract, AReservationMayGrowAStreamInUse) {
  auto made = make_work(reference_problem(supported_dtypes().front(), kShape));
  CONTRACT_OK(made);
  Work& work = *made;
  CONTRACT_OK(work.stream->enqueue_mark(0));
  CONTRACT_OK(work.run());
  CONTRACT_OK(work.stream->enqueue_mark(1));
  CONTRACT_OK(work.stream->wait(1));
  auto elapsed = work.stream->elapsed_s(0, 1);
  CONTRACT_OK(elapsed);
  CONTRACT_OK(work.stream->reserve(64, 0));
  CONTRACT_OK(work.stream->enqueue_mark(63));
  CONTRACT_OK(work.stream->wait(63));
}

}  // namespace
}  // namespace gemmpeak::contract
