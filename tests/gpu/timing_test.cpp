// Marks, stamps and the speed of the services.
#include <cstdio>

#include "gpu_support.hpp"

namespace gemmpeak::gpu_test {
namespace {

struct Loop {
  GemmProblem problem = reference_problem(DType::bfloat16, {4096, 4096, 4096});
  OperandSet set = make_operands(problem);
  std::unique_ptr<GemmPlan> plan = device().plan(problem, {}).value();
  std::unique_ptr<Stream> stream = device().make_stream().value();

  // `count` products between marks 0 and 1 and stamps 0 and 1.
  void queue(int count) {
    ASSERT_TRUE(stream->enqueue_stamp(0).ok());
    ASSERT_TRUE(stream->enqueue_mark(0).ok());
    for (int i = 0; i < count; ++i) {
      const auto queued = stream->enqueue_gemm(*plan, set.views);
      ASSERT_TRUE(queued.ok()) << queued.error().message();
    }
    ASSERT_TRUE(stream->enqueue_mark(1).ok());
    ASSERT_TRUE(stream->enqueue_stamp(1).ok());
  }
};

TEST(GpuTiming, EventsAgreeWithTheHostClock) {
  Loop loop;
  ASSERT_TRUE(loop.stream->reserve(2, 2).ok());
  loop.queue(20);
  ASSERT_TRUE(loop.stream->synchronize().ok());
  const double begin = device().now_s();
  loop.queue(400);
  ASSERT_TRUE(loop.stream->wait(1).ok());
  const double host = device().now_s() - begin;
  auto elapsed = loop.stream->elapsed_s(0, 1);
  ASSERT_TRUE(elapsed.ok()) << elapsed.error().message();
  // 400 x 0.2 to 0.5 ms; 1 ms for the first launch and the wake-up.
  EXPECT_NEAR(*elapsed, host, 0.02 * host + 1e-3);
  EXPECT_LE(*elapsed, host + 1e-3);
}

TEST(GpuTiming, StampsGiveAPlausibleClockAndPreciseWindows) {
  ASSERT_TRUE(device().has_stamps());
  Loop loop;
  ASSERT_TRUE(loop.stream->reserve(2, 2).ok());
  loop.queue(400);
  ASSERT_TRUE(loop.stream->synchronize().ok());
  auto clock = loop.stream->clock_between(0, 1);
  ASSERT_TRUE(clock.ok()) << clock.error().message();
  auto elapsed = loop.stream->elapsed_s(0, 1);
  ASSERT_TRUE(elapsed.ok());
  std::printf("clock %.1f MHz over %.4f s, events %.4f s\n", clock->mhz, clock->window_s, *elapsed);
  EXPECT_TRUE(clock->precise);
  EXPECT_GT(clock->mhz, 300.0);
  EXPECT_LT(clock->mhz, 2600.0 * 1.1);
  ASSERT_TRUE(device().info().rated_clock_mhz.has_value());
  EXPECT_LT(clock->mhz, *device().info().rated_clock_mhz * 1.02);
  EXPECT_NEAR(clock->window_s, *elapsed, 0.01 * *elapsed + 50e-6);
}

TEST(GpuTiming, AShortWindowIsNotCalledPrecise) {
  auto stream = device().make_stream();
  ASSERT_TRUE(stream.ok());
  ASSERT_TRUE((*stream)->reserve(0, 2).ok());
  ASSERT_TRUE((*stream)->enqueue_stamp(0).ok());
  ASSERT_TRUE((*stream)->enqueue_stamp(1).ok());
  ASSERT_TRUE((*stream)->synchronize().ok());
  auto clock = (*stream)->clock_between(0, 1);
  if (clock.ok()) {  // a few microseconds; the timer may not have moved at all
    std::printf("window %.9f s\n", clock->window_s);
    EXPECT_LT(clock->window_s, 1e-3);
  }
}

TEST(GpuTiming, AMarkIsPassedOnlyOnceItsWorkIsDone) {
  Loop loop;
  ASSERT_TRUE(loop.stream->reserve(2, 2).ok());
  loop.queue(200);
  auto early = loop.stream->passed(1);
  ASSERT_TRUE(early.ok());
  EXPECT_FALSE(*early) << "200 products cannot be over at once";
  ASSERT_TRUE(loop.stream->wait(1).ok());
  auto late = loop.stream->passed(1);
  ASSERT_TRUE(late.ok());
  EXPECT_TRUE(*late);
}

TEST(GpuTiming, QueueingIsMuchFasterThanTheProducts) {
  Loop loop;
  ASSERT_TRUE(loop.stream->reserve(2, 2).ok());
  loop.queue(20);
  ASSERT_TRUE(loop.stream->synchronize().ok());
  const double begin = device().now_s();
  loop.queue(200);
  const double queued = device().now_s() - begin;
  ASSERT_TRUE(loop.stream->synchronize().ok());
  std::printf("%.2f us a queued product\n", queued / 200 * 1e6);
  EXPECT_LT(queued / 200, 50e-6);
}

TEST(GpuTiming, TheServicesAreQuick) {
  Loop loop;
  run_once(*loop.plan, loop.set.views);
  double begin = device().now_s();
  const VerifyCounts counts = verify_all(loop.problem, loop.set.views);
  const double verify_s = device().now_s() - begin;
  EXPECT_EQ(counts.bad, 0) << describe(counts);
  const auto arena = make_buffer(1LL << 30);
  begin = device().now_s();
  ASSERT_TRUE(device().fill(whole(arena), DType::bfloat16, DataKind::normal, 1).ok());
  const double fill_s = device().now_s() - begin;
  const double verify_tflops = loop.problem.shape.flop() / verify_s * 1e-12;
  std::printf("verify %.2f TFLOPS, fill %.1f GB/s\n", verify_tflops, (1LL << 30) / fill_s * 1e-9);
  if (device().info().architecture == "sm_90" && device().info().units > 100) {
    EXPECT_GT(verify_tflops, 2.0);
    EXPECT_GT((1LL << 30) / fill_s * 1e-9, 100.0);
  }
}

}  // namespace
}  // namespace gemmpeak::gpu_test
