#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "backend/host_fill.hpp"
#include "backend/host_verify.hpp"
#include "backends/cpu/cpu_backend.hpp"
#include "backends/cpu/cpu_stream.hpp"

namespace gemmpeak::cpu {
namespace {

bool scaled(DType dtype) { return dtype_info(dtype).scale_block > 0; }

class CpuDevice final : public Device {
 public:
  CpuDevice(DeviceInfo info, std::vector<int> cpus, bool vnni, ProviderList providers)
      : info_(std::move(info)), vnni_(vnni), providers_(std::move(providers)) {
    team_ = std::make_shared<Team>(std::move(cpus), [libraries = providers_](int threads) {
      for (const auto& provider : *libraries) provider->set_threads(threads);
    });
    parallel_ = [this](std::int64_t count, const RangeBody& body) { team_->parallel(count, body); };
  }

  const DeviceInfo& info() const override { return info_; }
  bool dead() const override { return false; }
  bool has_stamps() const override { return false; }

  Capability capability(DType dtype) const override;
  Result<MemoryInfo> memory() override;
  Result<std::unique_ptr<Buffer>> allocate(std::int64_t bytes) override;
  OperandSizes operand_sizes(const GemmProblem& problem) const override {
    return sizes_of(problem);
  }
  Result<void> fill(View target, DType dtype, DataKind kind, std::uint64_t seed) override;
  Result<void> fill_unit_scales(View target, DType dtype) override;
  Result<std::unique_ptr<GemmPlan>> plan(const GemmProblem& problem,
                                         const PlanRequest& request) override;
  Result<int> suggestions(const GemmProblem& problem, std::int64_t max_workspace_bytes) override;
  Result<std::unique_ptr<Stream>> make_stream() override {
    team_->join();
    return std::unique_ptr<Stream>(std::make_unique<CpuStream>(team_));
  }
  Result<VerifyCounts> verify(const GemmProblem& problem, const Operands& operands,
                              std::span<const std::int64_t> rows,
                              std::span<const std::int64_t> cols,
                              const Tolerance& tolerance) override;
  Result<std::int64_t> count_bytes_equal(View c, DType dtype, std::int64_t elements,
                                         std::uint8_t value) override;
  double now_s() override { return steady_now_s(); }
  void sleep_s(double seconds) override {
    if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }

 private:
  std::vector<std::unique_ptr<CpuPlan>> plans_of(const GemmProblem& problem, Error& last) const;

  DeviceInfo info_;
  bool vnni_;
  ProviderList providers_;
  std::shared_ptr<Team> team_;
  ParallelFor parallel_;
};

Capability CpuDevice::capability(DType dtype) const {
  const std::string type(dtype_name(dtype));
  if (!dtype_info(dtype).input) return {false, type + " is an output type only", ""};
  if (dtype == DType::tf32)
    return {false, "tf32 is a mode of NVIDIA's tensor cores", "use float32"};
  if (scaled(dtype))
    return {false, "no CPU library has products with block scales (" + type + ")", ""};
  if (dtype_info(dtype).bits == 8 && dtype != DType::int8)
    return {false, "no CPU library here has an 8-bit float product (" + type + ")", ""};
  Capability refused{false, "", ""};
  for (const auto& provider : *providers_) {
    Capability one = provider->capability(dtype);
    if (one.supported) {
      if (dtype == DType::int8 && !vnni_)
        one.reason =
            "exact only while |values| stay within 64: without VNNI pairs of 8-bit products "
            "are added in 16 bits, saturating";
      return one;
    }
    refused.reason += (refused.reason.empty() ? "" : "; ") + one.reason;
    if (refused.hint.empty()) refused.hint = one.hint;
  }
  if (providers_->empty()) refused.reason = "built with neither oneDNN nor OpenBLAS";
  return refused;
}

Result<MemoryInfo> CpuDevice::memory() {
  const HostMemory memory = read_host_memory("");
  if (memory.total_bytes <= 0) return error_text("cannot read /proc/meminfo");
  return MemoryInfo{memory.free_bytes, memory.total_bytes};
}

Result<std::unique_ptr<Buffer>> CpuDevice::allocate(std::int64_t bytes) {
  if (bytes <= 0) return error_text("a buffer of " + std::to_string(bytes) + " bytes");
  // Linux hands out more than there is and kills later; so what is free is asked first.
  const HostMemory memory = read_host_memory("");
  if (memory.total_bytes > 0 && bytes > memory.free_bytes)
    return Error{"allocate", ENOMEM,
                 "out of memory: " + std::to_string(bytes) + " bytes asked for, " +
                     std::to_string(memory.free_bytes) + " free"};
  return CpuBuffer::make(bytes, *team_);
}

Result<void> CpuDevice::fill(View target, DType dtype, DataKind kind, std::uint64_t seed) {
  auto to = pointer_of(target, "the target");
  if (!to) return to.error();
  host_fill(*to, target.bytes * 8 / dtype_info(dtype).bits, dtype, kind, seed, parallel_);
  return {};
}

Result<void> CpuDevice::fill_unit_scales(View target, DType dtype) {
  if (target.bytes == 0) return {};  // what operand_sizes() asks for
  return error_text("the CPU device has no scales for " + std::string(dtype_name(dtype)));
}

// The plans of every provider that takes the problem, in rank order; `last`: why one did not.
std::vector<std::unique_ptr<CpuPlan>> CpuDevice::plans_of(const GemmProblem& problem,
                                                          Error& last) const {
  std::vector<std::unique_ptr<CpuPlan>> plans;
  for (const auto& provider : *providers_) {
    if (!provider->capability(problem.dtype).supported) continue;
    auto plan = provider->plan(problem);
    if (!plan) {
      last = plan.error();
      continue;
    }
    (*plan)->set_default(plans.empty());
    plans.push_back(std::move(plan).value());
  }
  return plans;
}

Result<std::unique_ptr<GemmPlan>> CpuDevice::plan(const GemmProblem& problem,
                                                  const PlanRequest& request) {
  const GemmShape& s = problem.shape;
  if (s.m <= 0 || s.n <= 0 || s.k <= 0) return error_text("no product of shape " + s.str());
  if (const Capability can = capability(problem.dtype); !can.supported)
    return error_text(can.reason);
  team_->join();  // the libraries plan for the threads they will get
  Error last = error_text("no library takes " + s.str());
  auto plans = plans_of(problem, last);
  if (plans.empty()) return last;
  if (request.rank < 0 || static_cast<std::size_t>(request.rank) >= plans.size())
    return error_text("no suggestion of rank " + std::to_string(request.rank) + ": there are " +
                      std::to_string(plans.size()));
  return std::unique_ptr<GemmPlan>(std::move(plans[static_cast<std::size_t>(request.rank)]));
}

Result<int> CpuDevice::suggestions(const GemmProblem& problem, std::int64_t /*max_workspace*/) {
  if (const Capability can = capability(problem.dtype); !can.supported)
    return error_text(can.reason);
  team_->join();
  Error last = error_text("no library takes " + problem.shape.str());
  const auto plans = plans_of(problem, last);
  if (plans.empty()) return last;
  return static_cast<int>(plans.size());
}

Result<VerifyCounts> CpuDevice::verify(const GemmProblem& problem, const Operands& operands,
                                       std::span<const std::int64_t> rows,
                                       std::span<const std::int64_t> cols,
                                       const Tolerance& tolerance) {
  const OperandSizes sizes = sizes_of(problem);
  auto a = pointer_of(operands.a, "A", sizes.a), b = pointer_of(operands.b, "B", sizes.b);
  auto c = pointer_of(operands.c, "C", sizes.c);
  if (!a) return a.error();
  if (!b) return b.error();
  if (!c) return c.error();
  return host_verify(problem, {*a, *b, *c, {}}, rows, cols, tolerance, parallel_);
}

Result<std::int64_t> CpuDevice::count_bytes_equal(View c, DType dtype, std::int64_t elements,
                                                  std::uint8_t value) {
  auto from = pointer_of(c, "C", dtype_bytes(dtype, elements));
  if (!from) return from.error();
  return host_count_bytes_equal(*from, dtype, elements, value, parallel_);
}

}  // namespace

std::unique_ptr<Device> make_cpu_device(DeviceInfo info, std::vector<int> cpus, bool vnni,
                                        ProviderList providers) {
  return std::make_unique<CpuDevice>(std::move(info), std::move(cpus), vnni, std::move(providers));
}

}  // namespace gemmpeak::cpu
