#include "gpu_support.hpp"

#include <cuda_runtime_api.h>

#include <cmath>
#include <numeric>
#include <optional>

#include "base/dynlib.hpp"

namespace gemmpeak::gpu_test {
namespace {

// Never freed: the driver may already be gone when static objects are destroyed.
struct World {
  std::optional<DynLib> module;
  BackendEntry entry = nullptr;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Device> device;
};
World& world() {
  static World* const the = new World;
  return *the;
}

}  // namespace

std::string load(const std::string& module_path) {
  auto module = DynLib::open(module_path);
  if (!module) return module.error().message();
  auto abi = module->function<int (*)()>("gemmpeak_backend_abi");
  auto entry = module->function<BackendEntry>("gemmpeak_backend_entry");
  if (!abi || !entry) return "the module lacks its entries";
  if ((*abi)() != kBackendAbi) return "the module has another ABI";
  World& w = world();
  w.module.emplace(std::move(*module));
  w.entry = *entry;
  w.backend.reset(w.entry(BackendSettings{}));
  return w.backend ? "" : "the module gave no backend";
}

std::string no_device() {
  auto devices = backend().list();
  if (!devices) return devices.error().message();
  return devices->empty() ? "the list is empty" : "";
}

Backend& backend() { return *world().backend; }

std::unique_ptr<Backend> backend_with(const BackendSettings& settings) {
  return std::unique_ptr<Backend>(world().entry(settings));
}

Device& device() {
  World& w = world();
  if (!w.device) {
    auto opened = w.backend->open("cuda:0");
    GEMMPEAK_CHECK(opened.ok(), opened.error().message());
    w.device = std::move(*opened);
  }
  return *w.device;
}

std::unique_ptr<Buffer> make_buffer(std::int64_t bytes) {
  auto buffer = device().allocate(bytes);
  GEMMPEAK_CHECK(buffer.ok(), buffer.error().message());
  return std::move(*buffer);
}

View whole(const std::unique_ptr<Buffer>& buffer) {
  return buffer ? View{buffer.get(), 0, buffer->bytes()} : View{};
}

OperandSet make_operands(const GemmProblem& problem, DataKind kind, std::uint64_t seed) {
  const OperandSizes sizes = device().operand_sizes(problem);
  OperandSet set;
  set.a = make_buffer(sizes.a);
  set.b = make_buffer(sizes.b);
  set.c = make_buffer(sizes.c);
  if (sizes.scale_a > 0) set.scale_a = make_buffer(sizes.scale_a);
  if (sizes.scale_b > 0) set.scale_b = make_buffer(sizes.scale_b);
  set.views = {whole(set.a), whole(set.b), whole(set.c), whole(set.scale_a), whole(set.scale_b)};
  // cuBLASLt has no product of two e5m2 operands: B is e4m3 there.
  const DType b_type = problem.dtype == DType::float8_e5m2 ? DType::float8_e4m3fn : problem.dtype;
  const auto must = [](const Result<void>& done) {
    GEMMPEAK_CHECK(done.ok(), done.error().message());
  };
  must(device().fill(set.views.a, problem.dtype, kind, seed));
  must(device().fill(set.views.b, b_type, kind, seed + 1));
  if (set.scale_a) must(device().fill_unit_scales(set.views.scale_a, problem.dtype));
  if (set.scale_b) must(device().fill_unit_scales(set.views.scale_b, problem.dtype));
  return set;
}

void run_once(const GemmPlan& plan, const Operands& operands, std::uint8_t poison) {
  auto stream = device().make_stream();
  ASSERT_TRUE(stream.ok()) << stream.error().message();
  for (const Result<void>& step :
       {(*stream)->enqueue_set(operands.c, poison), (*stream)->enqueue_gemm(plan, operands),
        (*stream)->synchronize()})
    ASSERT_TRUE(step.ok()) << step.error().message();
}

std::vector<std::uint8_t> download(View view) {
  std::vector<std::uint8_t> host(static_cast<std::size_t>(view.bytes));
  const char* from = static_cast<const char*>(view.buffer->address()) + view.offset;
  GEMMPEAK_CHECK(
      cudaSetDevice(0) == cudaSuccess &&
          cudaMemcpy(host.data(), from, host.size(), cudaMemcpyDeviceToHost) == cudaSuccess,
      "reading back failed");
  return host;
}

Tolerance tolerance_for(const GemmProblem& problem) {
  // Relative to s = sum |a||b| (about 0.64 K for normals, sqrt(K) times the result): FP32 sums lose
  // a few 2^-24 sqrt(K); a partial result rounded to the output type, or inputs rounded inside the
  // tensor core, lose that type's roundoff on something the size of the result, s / sqrt(K).
  const DTypeInfo& output = dtype_info(problem.output);
  const double root = std::sqrt(static_cast<double>(problem.shape.k));
  Tolerance t;
  if (problem.dtype == DType::int8) return t;
  t.output_roundoff = output.unit_roundoff * 1.001;
  t.accumulation = 8 * 0x1p-24 * root;
  switch (problem.dtype) {
    case DType::float64:
      t.accumulation = 16 * 0x1p-53 * root;
      break;
    case DType::float32:
      break;
    case DType::tf32:
      t.accumulation += 16 * 0x1p-11 / root;
      break;
    case DType::bfloat16:
    case DType::float16:
      t.accumulation += 4 * output.unit_roundoff / root;
      break;
    // FP8 and narrower: the tensor core keeps about 13 bits between promotions to FP32.
    default:
      t.accumulation += 0x1p-4 / root;
      break;
  }
  // Half the smallest subnormal of outputs with few exponents.
  if (problem.output == DType::float8_e4m3fn) t.absolute = 0x1p-10;
  if (problem.output == DType::float8_e5m2) t.absolute = 0x1p-17;
  if (problem.output == DType::float16) t.absolute = 0x1p-25;
  if (output.bits == 8) t.max_finite = output.max_finite;
  return t;
}

std::vector<std::int64_t> every(std::int64_t count) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

std::vector<std::int64_t> spread(std::int64_t count, std::int64_t wanted) {
  if (wanted >= count) return every(count);
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < wanted; ++i) out.push_back(i * (count - 1) / (wanted - 1));
  return out;
}

VerifyCounts verify_all(const GemmProblem& problem, const Operands& operands) {
  auto counts = device().verify(problem, operands, every(problem.shape.m), every(problem.shape.n),
                                tolerance_for(problem));
  GEMMPEAK_CHECK(counts.ok(), counts.error().message());
  return *counts;
}

std::string describe(const VerifyCounts& counts) {
  return std::to_string(counts.bad) + " of " + std::to_string(counts.checked) + " bad, " +
         std::to_string(counts.not_finite) + " not finite; worst ratio " +
         std::to_string(counts.worst_ratio) + " at (" + std::to_string(counts.worst_row) + ", " +
         std::to_string(counts.worst_col) + "): got " + std::to_string(counts.worst_got) +
         ", want " + std::to_string(counts.worst_want);
}

}  // namespace gemmpeak::gpu_test
