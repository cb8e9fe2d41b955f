// Buffers and the stream of the CPU device. The stream does each piece of work when it is enqueued,
// so that marks are times already passed and waiting is free. Used by cpu_device.cpp only.
#pragma once

#include <memory>
#include <vector>

#include "backends/cpu/provider.hpp"
#include "backends/cpu/team.hpp"

namespace gemmpeak::cpu {

double steady_now_s();

// Anonymous pages, touched by the team so that each lies near the thread that will use it.
class CpuBuffer final : public Buffer {
 public:
  static Result<std::unique_ptr<Buffer>> make(std::int64_t bytes, Team& team);
  ~CpuBuffer() override;
  CpuBuffer(const CpuBuffer&) = delete;
  CpuBuffer& operator=(const CpuBuffer&) = delete;
  std::int64_t bytes() const override { return bytes_; }
  void* address() const override { return address_; }

 private:
  CpuBuffer(void* address, std::int64_t bytes) : address_(address), bytes_(bytes) {}
  void* address_;
  std::int64_t bytes_;
};

// The host pointer of a view, or why it is none of ours or reaches outside of its buffer. `what`
// names it in the error; `at_least`: bytes it must hold.
Result<void*> pointer_of(const View& view, const char* what, std::int64_t at_least = 0);

OperandSizes sizes_of(const GemmProblem& problem);

class CpuStream final : public Stream {
 public:
  explicit CpuStream(std::shared_ptr<Team> team) : team_(std::move(team)) {}

  Result<void> reserve(int marks, int stamps) override;
  Result<void> enqueue_set(View target, std::uint8_t value) override;
  Result<void> enqueue_copy(View target, View source) override;
  Result<void> enqueue_gemm(const GemmPlan& plan, const Operands& operands) override;
  Result<void> enqueue_mark(Mark mark) override;
  Result<void> enqueue_stamp(int) override { return {}; }  // has_stamps() is false
  Result<void> wait(Mark mark) override;
  Result<bool> passed(Mark mark) override;
  Result<void> synchronize() override { return {}; }
  Result<double> elapsed_s(Mark from, Mark to) override;
  Result<DeviceClock> clock_between(int from, int to) override;

 private:
  struct MarkTime {
    double at_s = 0;
    bool passed = false;
  };
  Result<MarkTime*> find(Mark mark);
  std::shared_ptr<Team> team_;
  std::vector<MarkTime> marks_;
};

}  // namespace gemmpeak::cpu
