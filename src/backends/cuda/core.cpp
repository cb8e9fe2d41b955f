#include "backends/cuda/core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backends/cuda/kernels.hpp"

namespace gemmpeak::cuda {
namespace {

constexpr std::size_t kScratchBytes = 256;

// Errors after which the context answers every call with the same error (CUDA Runtime API,
// cudaError_t: "this leaves the process in an inconsistent state").
bool poisons(cudaError_t code) {
  // cudaErrorTensorMemoryLeak, a name that the oldest toolkit we take lacks.
  if (static_cast<int>(code) == 721) return true;
  switch (code) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

// "cudaMemsetAsync(a, b)" -> "cudaMemsetAsync".
std::string function_name(const char* call) {
  const char* end = std::strchr(call, '(');
  return end == nullptr ? std::string(call) : std::string(call, end);
}

}  // namespace

Result<std::shared_ptr<Core>> Core::open(int ordinal, int units, ComputeCapability cc) {
  std::shared_ptr<Core> core(new Core(ordinal, units, cc));
  GEMMPEAK_TRY(core->set_up());
  return core;
}

Core::~Core() {
  // Handles are freed on the device they belong to; nothing useful can be done about a failure.
  (void)cudaSetDevice(ordinal_);
  if (service_) (void)cudaStreamSynchronize(service_.get());
}

Result<void> Core::set_up() {
  GEMMPEAK_TRY(enter());
  GEMMPEAK_CUDA(*this, cudaStreamCreateWithFlags(service_.out(), cudaStreamNonBlocking));
  if (const cublasStatus_t status = cublasLtCreate(library_.out()); status != CUBLAS_STATUS_SUCCESS)
    return fail("cublasLtCreate", status);
  GEMMPEAK_CUDA(*this, cudaMalloc(one_.out(), kScratchBytes));
  GEMMPEAK_CUDA(*this, cudaMalloc(scratch_.out(), kScratchBytes));
  constexpr std::int64_t kOnes = kScratchBytes / sizeof(float);
  GEMMPEAK_CUDA(*this, launch_fill(one_.get(), kOnes, Element::f32, FillKind::ones, 0, units_,
                                   service_.get()));
  auto* step = static_cast<unsigned long long*>(scratch_.get());
  GEMMPEAK_CUDA(*this, launch_timer_step(step, service_.get()));
  unsigned long long step_ns = 0;
  GEMMPEAK_CUDA(*this, cudaMemcpyAsync(&step_ns, step, sizeof step_ns, cudaMemcpyDeviceToHost,
                                       service_.get()));
  GEMMPEAK_TRY(finish());
  timer_step_ns_ = step_ns;
  return {};
}

Result<void> Core::enter() {
  if (dead())
    return Error{"cuda", 0, "the device is lost since an earlier failure: " + dead_reason_};
  if (const cudaError_t code = cudaSetDevice(ordinal_); code != cudaSuccess)
    return fail("cudaSetDevice", code);
  return {};
}

Error Core::fail(const char* api, cudaError_t code, const std::string& detail) {
  (void)cudaGetLastError();  // the runtime keeps a copy that a later launch check would see
  Error error{function_name(api), static_cast<std::int64_t>(code),
              fmt::format("{} ({}){}{}", cudaGetErrorString(code), cudaGetErrorName(code),
                          detail.empty() ? "" : ", ", detail)};
  if (poisons(code) && !dead()) {
    dead_reason_ = error.message();
    dead_.store(true, std::memory_order_relaxed);
  }
  return error;
}

Error Core::fail(const char* api, cublasStatus_t code, const std::string& detail) {
  // The library reports a failed launch in its own words, and its runtime is not ours: any call
  // tells whether the context is poisoned.
  if (code == CUBLAS_STATUS_EXECUTION_FAILED || code == CUBLAS_STATUS_INTERNAL_ERROR) {
    const cudaError_t cause = cudaStreamQuery(service_.get());
    if (cause != cudaSuccess && cause != cudaErrorNotReady) return fail(api, cause, detail);
    (void)cudaGetLastError();
  }
  return Error{
      api, static_cast<std::int64_t>(code),
      fmt::format("{}{}{}", cublasLtGetStatusName(code), detail.empty() ? "" : ": ", detail)};
}

Result<void> Core::quiesce() {
  GEMMPEAK_TRY(enter());
  return check("cudaDeviceSynchronize", cudaDeviceSynchronize());
}

Result<void> Core::finish() {
  return check("cudaStreamSynchronize", cudaStreamSynchronize(service_.get()));
}

Result<void> Core::grow_workspace(std::int64_t bytes) {
  if (bytes <= workspace_bytes_) return {};
  auto memory = device_memory(*this, bytes);
  if (!memory) return memory.error();
  workspace_.push_back(std::move(*memory));
  workspace_bytes_ = bytes;
  return {};
}

Result<MemoryHandle> device_memory(Core& core, std::int64_t bytes) {
  void* raw = nullptr;
  const cudaError_t code = cudaMalloc(&raw, static_cast<std::size_t>(bytes));
  if (code == cudaSuccess) return MemoryHandle(raw);
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  (void)cudaGetLastError();
  if (cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess) (void)cudaGetLastError();
  return core.fail("cudaMalloc", code,
                   fmt::format("{} bytes wanted, {} of {} free", bytes, free_bytes, total_bytes));
}

}  // namespace gemmpeak::cuda
