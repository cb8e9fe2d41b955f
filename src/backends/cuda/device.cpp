#include "backends/cuda/device.hpp"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "backends/cuda/plan.hpp"
#include "backends/cuda/stream.hpp"
#include "backends/cuda/verifier.hpp"
#include "backends/cuda/views.hpp"

namespace gemmpeak::cuda {
namespace {

class CudaBuffer final : public Buffer {
 public:
  CudaBuffer(std::shared_ptr<Core> core, MemoryHandle memory, std::int64_t bytes)
      : core_(std::move(core)), memory_(std::move(memory)), bytes_(bytes) {}
  std::int64_t bytes() const override { return bytes_; }
  void* address() const override { return memory_.get(); }

 private:
  std::shared_ptr<Core> core_;  // the context must live longer than its memory
  MemoryHandle memory_;
  std::int64_t bytes_;
};

// 1.0 in the two block-scale formats: e8m0 with exponent 127 - 127, e4m3 with exponent 7 - 7.
constexpr std::uint8_t kOneE8m0 = 127;
constexpr std::uint8_t kOneE4m3 = 0x38;

static_assert(static_cast<int>(DataKind::normal) == static_cast<int>(FillKind::normal) &&
              static_cast<int>(DataKind::uniform) == static_cast<int>(FillKind::uniform) &&
              static_cast<int>(DataKind::zeros) == static_cast<int>(FillKind::zeros) &&
              static_cast<int>(DataKind::ones) == static_cast<int>(FillKind::ones) &&
              static_cast<int>(DataKind::ints) == static_cast<int>(FillKind::ints));

}  // namespace

Result<std::unique_ptr<Device>> CudaDevice::open(DeviceInfo info, int ordinal, ComputeCapability cc,
                                                 Environment environment) {
  if (!cc.at_least(8, 0))
    return error_text(
        fmt::format("{} is compute capability {}, older than the 8.0 that this backend's "
                    "device code is built for",
                    info.name, cc.str()));
  auto core = Core::open(ordinal, info.units, cc);
  if (!core) return core.error();
  std::unique_ptr<Device> device(
      new CudaDevice(std::move(info), std::move(*core), std::move(environment)));
  return device;
}

Capability CudaDevice::capability(DType dtype) const {
  return dtype_capability(dtype, core_->cc(), info_.name, environment_);
}

Result<void> CudaDevice::supported(DType dtype) const {
  const Capability answer = capability(dtype);
  if (answer.supported) return {};
  return error_text(answer.reason + (answer.hint.empty() ? "" : ". " + answer.hint));
}

Result<MemoryInfo> CudaDevice::memory() {
  GEMMPEAK_TRY(core_->enter());
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  GEMMPEAK_CUDA(*core_, cudaMemGetInfo(&free_bytes, &total_bytes));
  return MemoryInfo{static_cast<std::int64_t>(free_bytes), static_cast<std::int64_t>(total_bytes)};
}

Result<std::unique_ptr<Buffer>> CudaDevice::allocate(std::int64_t bytes) {
  return guarded("allocate", [&]() -> Result<std::unique_ptr<Buffer>> {
    GEMMPEAK_TRY(core_->enter());
    if (bytes < 0) return error_text("a buffer cannot have a negative size");
    MemoryHandle memory;
    if (bytes > 0) {
      auto made = device_memory(*core_, bytes);
      if (!made) return made.error();
      memory = std::move(*made);
    }
    return std::unique_ptr<Buffer>(new CudaBuffer(core_, std::move(memory), bytes));
  });
}

OperandSizes CudaDevice::operand_sizes(const GemmProblem& problem) const {
  return sizes_of(problem);
}

Result<void> CudaDevice::fill(View target, DType dtype, DataKind kind, std::uint64_t seed) {
  return guarded("fill", [&]() -> Result<void> {
    GEMMPEAK_TRY(core_->quiesce());
    const auto element = element_of(dtype);
    if (!element) return error_text(fmt::format("no {} data on NVIDIA GPUs", dtype_name(dtype)));
    const int bits = dtype_info(dtype).bits;
    if (bits > 8 && target.bytes % (bits / 8) != 0)
      return error_text(
          fmt::format("fill: {} bytes are not whole {} elements", target.bytes, dtype_name(dtype)));
    GEMMPEAK_TRY(check_view("fill", target, target.bytes, bits > 8 ? bits / 8 : 1));
    if (target.bytes == 0) return {};
    void* const out = address_of(target);
    if (kind == DataKind::zeros)
      GEMMPEAK_CUDA(*core_, cudaMemsetAsync(out, 0, static_cast<std::size_t>(target.bytes),
                                            core_->service()));
    else
      GEMMPEAK_CUDA(
          *core_,
          launch_fill(out, target.bytes / (bits > 8 ? bits / 8 : 1) * (bits < 8 ? 2 : 1), *element,
                      static_cast<FillKind>(kind), seed, core_->units(), core_->service()));
    return core_->finish();
  });
}

Result<void> CudaDevice::fill_unit_scales(View target, DType dtype) {
  return guarded("fill_unit_scales", [&]() -> Result<void> {
    if (dtype_info(dtype).scale_block == 0) return fill(target, DType::float32, DataKind::ones, 0);
    GEMMPEAK_TRY(core_->quiesce());
    GEMMPEAK_TRY(check_view("scales", target, target.bytes));
    if (target.bytes == 0) return {};
    GEMMPEAK_CUDA(*core_,
                  cudaMemsetAsync(address_of(target), dtype == DType::nvfp4 ? kOneE4m3 : kOneE8m0,
                                  static_cast<std::size_t>(target.bytes), core_->service()));
    return core_->finish();
  });
}

Result<std::unique_ptr<GemmPlan>> CudaDevice::plan(const GemmProblem& problem,
                                                   const PlanRequest& request) {
  return guarded("plan", [&]() -> Result<std::unique_ptr<GemmPlan>> {
    GEMMPEAK_TRY(supported(problem.dtype));
    return Plan::make(core_, problem, request);
  });
}

Result<int> CudaDevice::suggestions(const GemmProblem& problem, std::int64_t max_workspace_bytes) {
  return guarded("suggestions", [&]() -> Result<int> {
    GEMMPEAK_TRY(supported(problem.dtype));
    return Plan::count(*core_, problem, max_workspace_bytes);
  });
}

Result<std::unique_ptr<Stream>> CudaDevice::make_stream() {
  return guarded("make_stream", [&] { return CudaStream::make(core_); });
}

Result<VerifyCounts> CudaDevice::verify(const GemmProblem& problem, const Operands& operands,
                                        std::span<const std::int64_t> rows,
                                        std::span<const std::int64_t> cols,
                                        const Tolerance& tolerance) {
  return guarded("verify",
                 [&] { return verify_on(*core_, problem, operands, rows, cols, tolerance); });
}

Result<std::int64_t> CudaDevice::count_bytes_equal(View c, DType dtype, std::int64_t elements,
                                                   std::uint8_t value) {
  return guarded("count_bytes_equal", [&]() -> Result<std::int64_t> {
    const int bits = dtype_info(dtype).bits;
    if (bits < 8) return error_text("count_bytes_equal: elements smaller than a byte");
    if (elements < 0) return error_text("count_bytes_equal: a negative count");
    GEMMPEAK_TRY(check_view("C", c, dtype_bytes(dtype, elements), bits / 8));
    GEMMPEAK_TRY(core_->quiesce());
    auto* total = static_cast<unsigned long long*>(core_->scratch());
    GEMMPEAK_CUDA(*core_, cudaMemsetAsync(total, 0, sizeof *total, core_->service()));
    GEMMPEAK_CUDA(*core_, launch_count(address_of(c), elements, bits / 8, value, total,
                                       core_->units(), core_->service()));
    unsigned long long found = 0;
    GEMMPEAK_CUDA(*core_, cudaMemcpyAsync(&found, total, sizeof found, cudaMemcpyDeviceToHost,
                                          core_->service()));
    GEMMPEAK_TRY(core_->finish());
    return static_cast<std::int64_t>(found);
  });
}

double CudaDevice::now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void CudaDevice::sleep_s(double seconds) {
  if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace gemmpeak::cuda
