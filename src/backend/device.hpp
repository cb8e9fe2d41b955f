// The backend interface: Device, Stream, Buffer, GemmPlan. Implemented once per vendor under
// src/backends/, used by measure, tune and app. One in-order queue of work; measuring is done by
// marks placed in it, so that no call here reads a clock for anybody (only measure does).
// What an implementation refuses: it never throws, exits or prints; every failure is a Result, and
// after a failure that poisons the device, dead() is true and every later call fails.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/forward_device.hpp"
#include "base/result.hpp"
#include "model/device_info.hpp"
#include "model/problem.hpp"
#include "telemetry/telemetry.hpp"

namespace gemmpeak {

// Device memory. Contents are undefined until filled.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual std::int64_t bytes() const = 0;
  virtual void* address() const = 0;  // device address; only the owning backend may dereference it
};

// A part of a Buffer. Buffers outlive their views.
struct View {
  const Buffer* buffer = nullptr;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

// The storage one product works on. scale_a and scale_b are empty views where sizes() says 0.
struct Operands {
  View a;
  View b;
  View c;
  View scale_a;
  View scale_b;
};

struct OperandSizes {  // true bytes, padding included
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::int64_t c = 0;
  std::int64_t scale_a = 0;
  std::int64_t scale_b = 0;
  std::int64_t total() const { return a + b + c + scale_a + scale_b; }
};

// The algorithm behind a plan, in words that mean the same on another machine with the same
// library.
struct Algorithm {
  std::string provider;     // "cublasLt", "oneDNN", "OpenBLAS", "sim"
  std::string name;         // short, unique within provider and problem: "id66 tile18 stages35 ..."
  bool is_default = false;  // the library's own first choice
  std::int64_t workspace_bytes = 0;
};

class GemmPlan {
 public:
  virtual ~GemmPlan() = default;
  virtual const GemmProblem& problem() const = 0;
  virtual const Algorithm& algorithm() const = 0;
};

struct PlanRequest {
  // Rank in the library's own list of suggestions; 0 is its default.
  int rank = 0;
  std::int64_t max_workspace_bytes = 32LL << 20;  // what PyTorch gives cuBLASLt on sm_90
};

// Marks are numbered places in a stream's queue; the caller chooses the numbers (0..count-1) and
// may reuse one once it has been waited for.
using Mark = int;

// Mean clock of the device between two stamps, measured by the device itself (cycle counter against
// its own timer).
struct DeviceClock {
  double mhz = 0;
  double window_s = 0;
  bool precise = false;  // the window holds at least 1,000 ticks of the timer
};

class Stream {
 public:
  virtual ~Stream() = default;

  // Makes marks 0..count-1 and stamps 0..stamps-1 usable. Called outside timed regions.
  virtual Result<void> reserve(int marks, int stamps) = 0;

  // Every enqueue_* returns before the work is done where the device allows it (a CPU does it now).
  virtual Result<void> enqueue_set(View target, std::uint8_t value) = 0;  // memset: flush, poison
  virtual Result<void> enqueue_copy(View target, View source) = 0;        // equal bytes
  virtual Result<void> enqueue_gemm(const GemmPlan& plan, const Operands& operands) = 0;
  virtual Result<void> enqueue_mark(Mark mark) = 0;
  // Reads cycle counter and timer of the device at this place; a no-op where has_stamps() is false.
  virtual Result<void> enqueue_stamp(int stamp) = 0;

  virtual Result<void> wait(Mark mark) = 0;                  // until the mark has been passed
  virtual Result<bool> passed(Mark mark) = 0;                // without waiting
  virtual Result<void> synchronize() = 0;                    // until the queue is empty
  virtual Result<double> elapsed_s(Mark from, Mark to) = 0;  // both passed
  virtual Result<DeviceClock> clock_between(int from, int to) = 0;  // both passed
};

// How a verification judges one element of C against its reference r = sum a b and s = sum |a||b|,
// both accumulated in float64 from the operands as stored:
//   |c - clamp(r)| <= output_roundoff |clamp(r)| + accumulation s + absolute,  and c is finite.
struct Tolerance {
  double output_roundoff = 0;
  double accumulation = 0;
  double absolute = 0;
  double max_finite = 0;  // clamp to +-this (fp8 outputs saturate); 0: no clamp
};

struct VerifyCounts {
  std::int64_t checked = 0;
  std::int64_t bad = 0;
  std::int64_t not_finite = 0;
  double worst_ratio = 0;  // largest |error| / bound
  std::int64_t worst_row = -1;
  std::int64_t worst_col = -1;
  double worst_got = 0;
  double worst_want = 0;
};

struct MemoryInfo {
  std::int64_t free_bytes = 0;
  std::int64_t total_bytes = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual bool dead() const = 0;
  virtual bool has_stamps() const = 0;  // device clock stamps work

  virtual Capability capability(DType dtype) const = 0;  // static
  virtual Result<MemoryInfo> memory() = 0;
  virtual Result<std::unique_ptr<Buffer>> allocate(std::int64_t bytes) = 0;
  virtual OperandSizes operand_sizes(const GemmProblem& problem) const = 0;

  // Fills `target` with elements of `dtype`; deterministic in (kind, seed, position). Never
  // denormals. fp4 formats get random bytes whatever the kind asks except zeros.
  virtual Result<void> fill(View target, DType dtype, DataKind kind, std::uint64_t seed) = 0;
  // Fills block or tensor scales with the value 1.0 in the format `dtype` wants.
  virtual Result<void> fill_unit_scales(View target, DType dtype) = 0;

  // Unsupported problems fail with a reason; making a plan never runs the product.
  virtual Result<std::unique_ptr<GemmPlan>> plan(const GemmProblem& problem,
                                                 const PlanRequest& request) = 0;
  // How many ranks plan() would accept for this problem (1 where there is only a default).
  virtual Result<int> suggestions(const GemmProblem& problem, std::int64_t max_workspace_bytes) = 0;
  virtual Result<std::unique_ptr<Stream>> make_stream() = 0;

  // Compares C at every (row, col) of rows x cols with float64 products of A and B as stored.
  virtual Result<VerifyCounts> verify(const GemmProblem& problem, const Operands& operands,
                                      std::span<const std::int64_t> rows,
                                      std::span<const std::int64_t> cols,
                                      const Tolerance& tolerance) = 0;
  // Elements of C (output dtype, m x n) whose bytes all equal `value`.
  virtual Result<std::int64_t> count_bytes_equal(View c, DType dtype, std::int64_t elements,
                                                 std::uint8_t value) = 0;

  // Seconds on a clock that runs with the device (host steady clock, or the simulation's own) and
  // idling on it.
  virtual double now_s() = 0;
  virtual void sleep_s(double seconds) = 0;

  // The device's own sensors where the backend has them (sim); otherwise null and the telemetry
  // room finds them by uuid or PCI id.
  virtual std::unique_ptr<Telemetry> own_telemetry() { return nullptr; }
};

// What a backend module gives: its devices, or why there are none.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  // Ids this backend has ("cuda:0", ...), cheap: no context is created.
  virtual Result<std::vector<DeviceInfo>> list() = 0;
  virtual Result<std::unique_ptr<Device>> open(const std::string& id) = 0;
  // The device as the tactic search uses it (backend/forward_device.hpp); an Error where this
  // backend runs no transformer.
  virtual Result<std::unique_ptr<ForwardDevice>> open_forward(const std::string& id) {
    return error_text("the backend of " + id + " runs no transformer forward");
  }
  // Device::capability of a listed device without opening it; nothing where only the open device
  // knows.
  virtual std::optional<Capability> capability(const DeviceInfo& /*device*/, DType /*dtype*/) {
    return std::nullopt;
  }
};

// What the host process knows and a backend may need; read once in app.
struct BackendSettings {
  int threads = 0;                                 // cpu: 0 = what affinity and cgroup quota allow
  std::map<std::string, std::string> environment;  // variables named by the backends' tables
};

// The C entry of a loadable module ("gemmpeak_backend_entry").
using BackendEntry = Backend* (*)(const BackendSettings&);
inline constexpr int kBackendAbi = 3;  // module exports int gemmpeak_backend_abi()

}  // namespace gemmpeak
