// CudaStream: one non-blocking CUDA stream with its events (marks) and clock stamps. Made by
// device.cpp. It refuses marks and stamps beyond what reserve() was given, and waiting for ones
// that were never placed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/device.hpp"
#include "backends/cuda/core.hpp"
#include "backends/cuda/kernels.hpp"

namespace gemmpeak::cuda {

class CudaStream final : public Stream {
 public:
  static Result<std::unique_ptr<Stream>> make(std::shared_ptr<Core> core);
  ~CudaStream() override;

  Result<void> reserve(int marks, int stamps) override;
  Result<void> enqueue_set(View target, std::uint8_t value) override;
  Result<void> enqueue_copy(View target, View source) override;
  Result<void> enqueue_gemm(const GemmPlan& plan, const Operands& operands) override;
  Result<void> enqueue_mark(Mark mark) override;
  Result<void> enqueue_stamp(int stamp) override;
  Result<void> wait(Mark mark) override;
  Result<bool> passed(Mark mark) override;
  Result<void> synchronize() override;
  Result<double> elapsed_s(Mark from, Mark to) override;
  Result<DeviceClock> clock_between(int from, int to) override;

 private:
  explicit CudaStream(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  Result<void> placed(Mark mark) const;
  Result<void> reserve_stamps(int stamps);
  Result<std::vector<StampRecord>> read_stamp(int stamp);

  std::shared_ptr<Core> core_;
  StreamHandle stream_;
  std::vector<EventHandle> events_;
  std::vector<bool> event_placed_;
  MemoryHandle stamps_;
  std::vector<bool> stamp_placed_;
  int stamp_blocks_ = 0;
};

}  // namespace gemmpeak::cuda
