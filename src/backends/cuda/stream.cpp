#include "backends/cuda/stream.hpp"

#include <fmt/format.h>

#include "backends/cuda/clock.hpp"
#include "backends/cuda/plan.hpp"
#include "backends/cuda/views.hpp"

namespace gemmpeak::cuda {
namespace {

// Twice the multiprocessors: the scheduler spreads small blocks evenly over an empty device, and a
// second round covers one that was still finishing the kernel before.
constexpr int kStampBlocksPerUnit = 2;

}  // namespace

Result<std::unique_ptr<Stream>> CudaStream::make(std::shared_ptr<Core> core) {
  GEMMPEAK_TRY(core->enter());
  std::unique_ptr<CudaStream> made(new CudaStream(std::move(core)));
  made->stamp_blocks_ = made->core_->units() * kStampBlocksPerUnit;
  GEMMPEAK_CUDA(*made->core_,
                cudaStreamCreateWithFlags(made->stream_.out(), cudaStreamNonBlocking));
  return std::unique_ptr<Stream>(std::move(made));
}

CudaStream::~CudaStream() {
  // Queued work may still write the stamps that are about to be freed.
  if (stream_ && core_->enter().ok()) (void)cudaStreamSynchronize(stream_.get());
}

Result<void> CudaStream::reserve(int marks, int stamps) {
  return guarded("reserve", [&]() -> Result<void> {
    GEMMPEAK_TRY(core_->enter());
    while (static_cast<int>(events_.size()) < marks) {
      EventHandle event;
      GEMMPEAK_CUDA(*core_, cudaEventCreateWithFlags(event.out(), cudaEventDefault));
      events_.push_back(std::move(event));
      event_placed_.push_back(false);
    }
    if (core_->timer_step_ns() > 0) GEMMPEAK_TRY(reserve_stamps(stamps));
    return {};
  });
}

Result<void> CudaStream::reserve_stamps(int stamps) {
  if (stamps <= static_cast<int>(stamp_placed_.size())) return {};
  GEMMPEAK_TRY(synchronize());  // the old records may be in use
  const std::int64_t bytes =
      std::int64_t{stamps} * stamp_blocks_ * static_cast<std::int64_t>(sizeof(StampRecord));
  auto memory = device_memory(*core_, bytes);
  if (!memory) return memory.error();
  stamps_ = std::move(*memory);
  stamp_placed_.assign(static_cast<std::size_t>(stamps), false);
  // Once now, so that loading the kernel does not fall into somebody's timed window.
  GEMMPEAK_CUDA(
      *core_, launch_stamp(static_cast<StampRecord*>(stamps_.get()), stamp_blocks_, stream_.get()));
  return synchronize();
}

Result<void> CudaStream::enqueue_set(View target, std::uint8_t value) {
  GEMMPEAK_TRY(core_->enter());
  GEMMPEAK_TRY(check_view("set", target, target.bytes));
  if (target.bytes == 0) return {};
  GEMMPEAK_CUDA(*core_, cudaMemsetAsync(address_of(target), value,
                                        static_cast<std::size_t>(target.bytes), stream_.get()));
  return {};
}

Result<void> CudaStream::enqueue_copy(View target, View source) {
  GEMMPEAK_TRY(core_->enter());
  if (target.bytes != source.bytes) return error_text("copy: the two views differ in size");
  GEMMPEAK_TRY(check_view("copy target", target, target.bytes));
  GEMMPEAK_TRY(check_view("copy source", source, source.bytes));
  if (target.bytes == 0) return {};
  GEMMPEAK_CUDA(*core_, cudaMemcpyAsync(address_of(target), address_of(source),
                                        static_cast<std::size_t>(target.bytes),
                                        cudaMemcpyDeviceToDevice, stream_.get()));
  return {};
}

Result<void> CudaStream::enqueue_gemm(const GemmPlan& plan, const Operands& operands) {
  GEMMPEAK_TRY(core_->enter());
  const auto* own = dynamic_cast<const Plan*>(&plan);
  if (own == nullptr || own->core() != core_.get())
    return error_text("the plan was made by another device");
  return own->enqueue(operands, stream_.get());
}

Result<void> CudaStream::enqueue_mark(Mark mark) {
  GEMMPEAK_TRY(core_->enter());
  if (mark < 0 || mark >= static_cast<int>(events_.size()))
    return error_text(fmt::format("mark {} was not reserved", mark));
  GEMMPEAK_CUDA(*core_,
                cudaEventRecord(events_[static_cast<std::size_t>(mark)].get(), stream_.get()));
  event_placed_[static_cast<std::size_t>(mark)] = true;
  return {};
}

Result<void> CudaStream::enqueue_stamp(int stamp) {
  if (core_->timer_step_ns() == 0) return {};  // has_stamps() is false
  GEMMPEAK_TRY(core_->enter());
  if (stamp < 0 || stamp >= static_cast<int>(stamp_placed_.size()))
    return error_text(fmt::format("stamp {} was not reserved", stamp));
  auto* records = static_cast<StampRecord*>(stamps_.get()) + std::int64_t{stamp} * stamp_blocks_;
  GEMMPEAK_CUDA(*core_, launch_stamp(records, stamp_blocks_, stream_.get()));
  stamp_placed_[static_cast<std::size_t>(stamp)] = true;
  return {};
}

Result<void> CudaStream::placed(Mark mark) const {
  if (mark < 0 || mark >= static_cast<int>(events_.size()) ||
      !event_placed_[static_cast<std::size_t>(mark)])
    return error_text(fmt::format("mark {} was never placed in the queue", mark));
  return {};
}

Result<void> CudaStream::wait(Mark mark) {
  GEMMPEAK_TRY(core_->enter());
  GEMMPEAK_TRY(placed(mark));
  GEMMPEAK_CUDA(*core_, cudaEventSynchronize(events_[static_cast<std::size_t>(mark)].get()));
  return {};
}

Result<bool> CudaStream::passed(Mark mark) {
  GEMMPEAK_TRY(core_->enter());
  GEMMPEAK_TRY(placed(mark));
  const cudaError_t code = cudaEventQuery(events_[static_cast<std::size_t>(mark)].get());
  if (code == cudaErrorNotReady) {
    (void)cudaGetLastError();
    return false;
  }
  GEMMPEAK_TRY(core_->check("cudaEventQuery", code));
  return true;
}

Result<void> CudaStream::synchronize() {
  GEMMPEAK_TRY(core_->enter());
  GEMMPEAK_CUDA(*core_, cudaStreamSynchronize(stream_.get()));
  return {};
}

Result<double> CudaStream::elapsed_s(Mark from, Mark to) {
  GEMMPEAK_TRY(core_->enter());
  GEMMPEAK_TRY(placed(from));
  GEMMPEAK_TRY(placed(to));
  float ms = 0;
  GEMMPEAK_CUDA(*core_, cudaEventElapsedTime(&ms, events_[static_cast<std::size_t>(from)].get(),
                                             events_[static_cast<std::size_t>(to)].get()));
  return static_cast<double>(ms) * 1e-3;
}

Result<std::vector<StampRecord>> CudaStream::read_stamp(int stamp) {
  if (stamp < 0 || stamp >= static_cast<int>(stamp_placed_.size()) ||
      !stamp_placed_[static_cast<std::size_t>(stamp)])
    return error_text(fmt::format("stamp {} was never placed in the queue", stamp));
  std::vector<StampRecord> records(static_cast<std::size_t>(stamp_blocks_));
  const auto* from =
      static_cast<const StampRecord*>(stamps_.get()) + std::int64_t{stamp} * stamp_blocks_;
  // On the service stream: work queued behind the stamp need not end first.
  GEMMPEAK_CUDA(*core_, cudaMemcpyAsync(records.data(), from, records.size() * sizeof(StampRecord),
                                        cudaMemcpyDeviceToHost, core_->service()));
  GEMMPEAK_TRY(core_->finish());
  return records;
}

Result<DeviceClock> CudaStream::clock_between(int from, int to) {
  return guarded("clock_between", [&]() -> Result<DeviceClock> {
    GEMMPEAK_TRY(core_->enter());
    if (core_->timer_step_ns() == 0)
      return error_text("this device has no usable timer for stamps");
    auto first = read_stamp(from);
    if (!first) return first.error();
    auto last = read_stamp(to);
    if (!last) return last.error();
    const DeviceClock clock = clock_from(*first, *last, core_->timer_step_ns());
    if (!(clock.mhz > 0)) return error_text("the two stamps share no multiprocessor");
    return clock;
  });
}

}  // namespace gemmpeak::cuda
