// CudaDevice: one NVIDIA GPU behind the Device interface. Made by module.cpp. It refuses to overlap
// its own services (fill, verify, count) with queued products: they wait for the device to be idle,
// and the products of one device share one workspace, so they belong on one stream at a time.
#pragma once

#include <memory>

#include "backend/device.hpp"
#include "backends/cuda/core.hpp"
#include "backends/cuda/kernels.hpp"

namespace gemmpeak::cuda {

class CudaDevice final : public Device {
 public:
  static Result<std::unique_ptr<Device>> open(DeviceInfo info, int ordinal, ComputeCapability cc,
                                              Environment environment);

  const DeviceInfo& info() const override { return info_; }
  bool dead() const override { return core_->dead(); }
  bool has_stamps() const override { return core_->timer_step_ns() > 0; }
  Capability capability(DType dtype) const override;
  Result<MemoryInfo> memory() override;
  Result<std::unique_ptr<Buffer>> allocate(std::int64_t bytes) override;
  OperandSizes operand_sizes(const GemmProblem& problem) const override;
  Result<void> fill(View target, DType dtype, DataKind kind, std::uint64_t seed) override;
  Result<void> fill_unit_scales(View target, DType dtype) override;
  Result<std::unique_ptr<GemmPlan>> plan(const GemmProblem& problem,
                                         const PlanRequest& request) override;
  Result<int> suggestions(const GemmProblem& problem, std::int64_t max_workspace_bytes) override;
  Result<std::unique_ptr<Stream>> make_stream() override;
  Result<VerifyCounts> verify(const GemmProblem& problem, const Operands& operands,
                              std::span<const std::int64_t> rows,
                              std::span<const std::int64_t> cols,
                              const Tolerance& tolerance) override;
  Result<std::int64_t> count_bytes_equal(View c, DType dtype, std::int64_t elements,
                                         std::uint8_t value) override;
  double now_s() override;
  void sleep_s(double seconds) override;

 private:
  CudaDevice(DeviceInfo info, std::shared_ptr<Core> core, Environment environment)
      : info_(std::move(info)), core_(std::move(core)), environment_(std::move(environment)) {}
  Result<void> supported(DType dtype) const;

  DeviceInfo info_;
  std::shared_ptr<Core> core_;
  Environment environment_;
};

}  // namespace gemmpeak::cuda
