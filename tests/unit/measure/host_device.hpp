// HostDevice: a Device for tests whose memory is the host's and whose products are real arithmetic,
// with faults planted on demand. Its clock is a number that only moves when work is queued, so that
// nothing depends on the machine. Not a backend: it lives in the tests.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "backend/device.hpp"
#include "backend/host_convert.hpp"
#include "backend/host_fill.hpp"
#include "backend/host_verify.hpp"
#include "telemetry/telemetry.hpp"

namespace gemmpeak::testing {

// Changes one element of C after it was computed: given row, column and value, returns what is
// stored, or nothing where the element is to be left unwritten.
using Plant =
    std::function<std::optional<double>(std::int64_t row, std::int64_t col, double value)>;

struct HostWorld {
  DeviceInfo info;
  double now_s = 0;
  double product_s = 1e-3;
  std::vector<double> provider_s;  // per rank, where there are several
  double host_extra_s = 0;         // the host's clock runs on by this at each wait
  double mark_step_s = 0;          // added to each elapsed time
  std::int64_t k_used = -1;        // the product stops at this K; -1: all of it
  Plant plant;
  bool fp32_steps = true;  // accumulate as float32 does
  std::int64_t free_bytes = 1LL << 34;
  std::vector<std::string> log;  // every enqueue, in order
  bool logging = false;
};

class HostBuffer : public Buffer {
 public:
  explicit HostBuffer(std::int64_t bytes) : data_(static_cast<std::size_t>(bytes)) {}
  std::int64_t bytes() const override { return static_cast<std::int64_t>(data_.size()); }
  void* address() const override { return const_cast<std::uint8_t*>(data_.data()); }

 private:
  std::vector<std::uint8_t> data_;
};

inline std::uint8_t* at(View view) {
  return static_cast<std::uint8_t*>(view.buffer->address()) + view.offset;
}

class HostPlan : public GemmPlan {
 public:
  HostPlan(GemmProblem problem, int rank) : problem_(problem), rank_(rank) {
    algorithm_.provider = rank == 0 ? "first" : "other" + std::to_string(rank);
    algorithm_.name = "loops";
    algorithm_.is_default = rank == 0;
  }
  const GemmProblem& problem() const override { return problem_; }
  const Algorithm& algorithm() const override { return algorithm_; }
  int rank() const { return rank_; }

 private:
  GemmProblem problem_;
  Algorithm algorithm_;
  int rank_;
};

class HostStream : public Stream {
 public:
  explicit HostStream(HostWorld& world) : world_(world) {}
  Result<void> reserve(int marks, int) override {
    marks_.resize(std::max(marks_.size(), static_cast<std::size_t>(marks)), 0);
    return {};
  }
  Result<void> enqueue_set(View target, std::uint8_t value) override {
    log("set");
    std::memset(at(target), value, static_cast<std::size_t>(target.bytes));
    world_.now_s += 1e-5;
    return {};
  }
  Result<void> enqueue_copy(View target, View source) override {
    log("copy");
    std::memcpy(at(target), at(source), static_cast<std::size_t>(target.bytes));
    world_.now_s += 1e-5;
    return {};
  }
  Result<void> enqueue_gemm(const GemmPlan& plan, const Operands& operands) override {
    log("gemm");
    const int rank = static_cast<const HostPlan&>(plan).rank();
    if (world_.info.llc_bytes == 0)
      multiply(plan.problem(), operands);  // else: only timing matters
    world_.now_s += static_cast<std::size_t>(rank) < world_.provider_s.size()
                        ? world_.provider_s[static_cast<std::size_t>(rank)]
                        : world_.product_s;
    return {};
  }
  Result<void> enqueue_mark(Mark mark) override {
    log("mark " + std::to_string(mark));
    marks_.at(static_cast<std::size_t>(mark)) = world_.now_s;
    return {};
  }
  Result<void> enqueue_stamp(int) override { return {}; }
  Result<void> wait(Mark) override { return {}; }
  Result<bool> passed(Mark) override { return true; }
  Result<void> synchronize() override {
    log("synchronize");
    world_.now_s += world_.host_extra_s;
    return {};
  }
  Result<double> elapsed_s(Mark from, Mark to) override {
    return marks_.at(static_cast<std::size_t>(to)) - marks_.at(static_cast<std::size_t>(from)) +
           world_.mark_step_s;
  }
  Result<DeviceClock> clock_between(int, int) override { return error_text("no stamps"); }

 private:
  void log(std::string what) {
    if (world_.logging) world_.log.push_back(std::move(what));
  }
  void multiply(const GemmProblem& problem, const Operands& operands) const {
    const auto [m, n, k] = problem.shape;
    const std::int64_t used = world_.k_used < 0 ? k : world_.k_used;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        float single = 0;
        double full = 0;
        for (std::int64_t l = 0; l < used; ++l) {
          const double product = load_element(problem.dtype, at(operands.a), i * k + l) *
                                 load_element(problem.dtype, at(operands.b), j * k + l);
          single += static_cast<float>(product);
          full += product;
        }
        double value = problem.dtype == DType::float64 || problem.dtype == DType::int8
                           ? full
                           : static_cast<double>(single);
        if (world_.plant) {
          const auto planted = world_.plant(i, j, value);
          if (!planted) continue;
          value = *planted;
        }
        store_element(problem.output, at(operands.c), i * n + j, value);
      }
  }
  HostWorld& world_;
  std::vector<double> marks_;
};

class HostDevice : public Device {
 public:
  HostWorld world;

  HostDevice() {
    world.info.id = "host";
    world.info.backend = "host";
    world.info.kind = DeviceKind::cpu;
    world.info.name = "host memory";
    world.info.units = 1;
  }
  const DeviceInfo& info() const override { return world.info; }
  bool dead() const override { return false; }
  bool has_stamps() const override { return false; }
  Capability capability(DType) const override { return {true, "", ""}; }
  Result<MemoryInfo> memory() override { return MemoryInfo{world.free_bytes, world.free_bytes}; }
  Result<std::unique_ptr<Buffer>> allocate(std::int64_t bytes) override {
    if (bytes > world.free_bytes) return error_text("out of memory");
    return std::unique_ptr<Buffer>(std::make_unique<HostBuffer>(bytes));
  }
  OperandSizes operand_sizes(const GemmProblem& p) const override {
    return {dtype_bytes(p.dtype, p.shape.m * p.shape.k),
            dtype_bytes(p.dtype, p.shape.n * p.shape.k),
            dtype_bytes(p.output, p.shape.m * p.shape.n), 0, 0};
  }
  Result<void> fill(View target, DType dtype, DataKind kind, std::uint64_t seed) override {
    host_fill(at(target), target.bytes * 8 / dtype_info(dtype).bits, dtype, kind, seed);
    return {};
  }
  Result<void> fill_unit_scales(View, DType) override { return {}; }
  Result<std::unique_ptr<GemmPlan>> plan(const GemmProblem& p, const PlanRequest& r) override {
    return std::unique_ptr<GemmPlan>(std::make_unique<HostPlan>(p, r.rank));
  }
  Result<int> suggestions(const GemmProblem&, std::int64_t) override {
    return std::max(1, static_cast<int>(world.provider_s.size()));
  }
  Result<std::unique_ptr<Stream>> make_stream() override {
    return std::unique_ptr<Stream>(std::make_unique<HostStream>(world));
  }
  Result<VerifyCounts> verify(const GemmProblem& problem, const Operands& o,
                              std::span<const std::int64_t> rows,
                              std::span<const std::int64_t> cols, const Tolerance& t) override {
    return host_verify(problem, HostOperands{at(o.a), at(o.b), at(o.c), {}}, rows, cols, t);
  }
  Result<std::int64_t> count_bytes_equal(View c, DType dtype, std::int64_t elements,
                                         std::uint8_t value) override {
    return host_count_bytes_equal(at(c), dtype, elements, value);
  }
  double now_s() override { return world.now_s; }
  void sleep_s(double seconds) override { world.now_s += seconds; }
};

}  // namespace gemmpeak::testing
