// Core: the state that a CUDA device's buffers, plans and streams share, and the translation of
// CUDA and cuBLASLt failures into Errors. Used by every file of this backend. It refuses to go on
// after a failure that poisons the context: then dead() holds and enter() fails with the first
// reason.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/capability.hpp"
#include "base/handle.hpp"
#include "base/result.hpp"

namespace gemmpeak::cuda {

using StreamHandle = Handle<cudaStream_t, &cudaStreamDestroy>;
using EventHandle = Handle<cudaEvent_t, &cudaEventDestroy>;
using MemoryHandle = Handle<void*, &cudaFree>;
using LtHandle = Handle<cublasLtHandle_t, &cublasLtDestroy>;

class Core {
 public:
  // Makes the context, the library handle, the service stream and the constants; measures the
  // timer.
  static Result<std::shared_ptr<Core>> open(int ordinal, int units, ComputeCapability cc);
  ~Core();

  // Makes this device the thread's current one. Fails once the device is dead.
  Result<void> enter();
  bool dead() const { return dead_.load(std::memory_order_relaxed); }

  // The Error of a failed call; clears the runtime's sticky copy and notes a poisoned context.
  Error fail(const char* api, cudaError_t code, const std::string& detail = {});
  Error fail(const char* api, cublasStatus_t code, const std::string& detail = {});
  // Ok, or the Error.
  Result<void> check(const char* api, cudaError_t code) {
    if (code == cudaSuccess) return {};
    return fail(api, code);
  }

  // Waits until nothing runs on the device, then until the service stream's new work is done.
  Result<void> quiesce();
  Result<void> finish();

  // At least `bytes` of scratch memory shared by all products of this device. An earlier, smaller
  // block stays until the end: work that uses it may still be queued.
  Result<void> grow_workspace(std::int64_t bytes);
  void* workspace() const { return workspace_.empty() ? nullptr : workspace_.back().get(); }
  std::int64_t workspace_bytes() const { return workspace_bytes_; }

  int units() const { return units_; }
  ComputeCapability cc() const { return cc_; }
  cublasLtHandle_t library() const { return library_.get(); }
  cudaStream_t service() const { return service_.get(); }
  const void* one() const { return one_.get(); }    // float 1.0 on the device: tensor scales
  void* scratch() const { return scratch_.get(); }  // 256 bytes
  std::uint64_t timer_step_ns() const { return timer_step_ns_; }  // 0: no usable timer

 private:
  Core(int ordinal, int units, ComputeCapability cc) : ordinal_(ordinal), units_(units), cc_(cc) {}
  Result<void> set_up();

  int ordinal_;
  int units_;
  ComputeCapability cc_;
  std::atomic<bool> dead_{false};
  std::string dead_reason_;
  LtHandle library_;
  StreamHandle service_;
  MemoryHandle one_;
  MemoryHandle scratch_;
  std::vector<MemoryHandle> workspace_;
  std::int64_t workspace_bytes_ = 0;
  std::uint64_t timer_step_ns_ = 0;
};

// cudaMalloc as a Result; out of memory is an Error of api "cudaMalloc" that names both sizes.
Result<MemoryHandle> device_memory(Core& core, std::int64_t bytes);

// Runs `body` (which returns a Result) and turns an exception into an Error: none leaves the
// module.
template <class Body>
auto guarded(const char* what, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::exception& error) {
    return Error{what, 0, std::string("the host ran out of something: ") + error.what()};
  }
}

}  // namespace gemmpeak::cuda

// Evaluates a CUDA call inside a member that has a Core `core`; returns its Error from there.
#define GEMMPEAK_CUDA(core, call)                                                 \
  do {                                                                            \
    if (const cudaError_t gemmpeak_code_ = (call); gemmpeak_code_ != cudaSuccess) \
      return (core).fail(#call, gemmpeak_code_);                                  \
  } while (false)
