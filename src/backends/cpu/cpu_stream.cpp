#include "backends/cpu/cpu_stream.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <chrono>
#include <cstring>

namespace gemmpeak::cpu {

double steady_now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Result<std::unique_ptr<Buffer>> CpuBuffer::make(std::int64_t bytes, Team& team) {
  // A page boundary is 64-byte aligned and more.
  void* address = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) return Error{"mmap", errno, std::strerror(errno)};
  // Fewer TLB misses; refused where the kernel has no huge pages, which changes nothing else.
  (void)::madvise(address, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
  team.set(address, 0, bytes);
  return std::unique_ptr<Buffer>(new CpuBuffer(address, bytes));
}

CpuBuffer::~CpuBuffer() { (void)::munmap(address_, static_cast<std::size_t>(bytes_)); }

Result<void*> pointer_of(const View& view, const char* what, std::int64_t at_least) {
  const auto* buffer = dynamic_cast<const CpuBuffer*>(view.buffer);
  if (buffer == nullptr)
    return error_text(std::string(what) + " is not in a buffer of the CPU device");
  if (view.offset < 0 || view.bytes < 0 || view.offset > buffer->bytes() - view.bytes)
    return error_text(
        std::string(what) + " reaches outside of its buffer: " + std::to_string(view.bytes) +
        " bytes at " + std::to_string(view.offset) + " of " + std::to_string(buffer->bytes()));
  if (view.bytes < at_least)
    return error_text(std::string(what) + " holds " + std::to_string(view.bytes) + " bytes where " +
                      std::to_string(at_least) + " are needed");
  return static_cast<void*>(static_cast<char*>(buffer->address()) + view.offset);
}

OperandSizes sizes_of(const GemmProblem& problem) {
  const GemmShape& s = problem.shape;
  return {dtype_bytes(problem.dtype, s.m * s.k), dtype_bytes(problem.dtype, s.n * s.k),
          dtype_bytes(problem.output, s.m * s.n), 0, 0};
}

Result<void> CpuStream::reserve(int marks, int /*stamps*/) {
  if (marks < 0) return error_text("reserve: a negative number of marks");
  if (static_cast<std::size_t>(marks) > marks_.size())
    marks_.resize(static_cast<std::size_t>(marks));
  team_->join();
  return {};
}

Result<void> CpuStream::enqueue_set(View target, std::uint8_t value) {
  auto to = pointer_of(target, "the target");
  if (!to) return to.error();
  team_->set(*to, value, target.bytes);
  return {};
}

Result<void> CpuStream::enqueue_copy(View target, View source) {
  if (target.bytes != source.bytes) return error_text("copy between views of unequal size");
  auto to = pointer_of(target, "the target"), from = pointer_of(source, "the source");
  if (!to) return to.error();
  if (!from) return from.error();
  team_->copy(*to, *from, target.bytes);
  return {};
}

Result<void> CpuStream::enqueue_gemm(const GemmPlan& plan, const Operands& operands) {
  const auto* own = dynamic_cast<const CpuPlan*>(&plan);
  if (own == nullptr) return error_text("the plan was made by another backend");
  const OperandSizes sizes = sizes_of(own->problem());
  auto a = pointer_of(operands.a, "A", sizes.a), b = pointer_of(operands.b, "B", sizes.b);
  auto c = pointer_of(operands.c, "C", sizes.c);
  if (!a) return a.error();
  if (!b) return b.error();
  if (!c) return c.error();
  team_->join();
  return own->run(*a, *b, *c);
}

Result<CpuStream::MarkTime*> CpuStream::find(Mark mark) {
  if (mark < 0 || static_cast<std::size_t>(mark) >= marks_.size())
    return error_text("mark " + std::to_string(mark) + " was not reserved");
  return &marks_[static_cast<std::size_t>(mark)];
}

Result<void> CpuStream::enqueue_mark(Mark mark) {
  auto found = find(mark);
  if (!found) return found.error();
  **found = {steady_now_s(), true};
  return {};
}

Result<void> CpuStream::wait(Mark mark) {
  auto is_passed = passed(mark);
  if (!is_passed) return is_passed.error();
  if (!*is_passed) return error_text("mark " + std::to_string(mark) + " was never enqueued");
  return {};
}

Result<bool> CpuStream::passed(Mark mark) {
  auto found = find(mark);
  if (!found) return found.error();
  return (*found)->passed;
}

Result<double> CpuStream::elapsed_s(Mark from, Mark to) {
  GEMMPEAK_TRY(wait(from));
  GEMMPEAK_TRY(wait(to));
  return marks_[static_cast<std::size_t>(to)].at_s - marks_[static_cast<std::size_t>(from)].at_s;
}

Result<DeviceClock> CpuStream::clock_between(int /*from*/, int /*to*/) {
  return error_text("a CPU has no clock stamps");
}

}  // namespace gemmpeak::cpu
