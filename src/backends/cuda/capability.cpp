#include "backends/cuda/capability.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace gemmpeak::cuda {
namespace {

// Set and not switched off.
bool enabled(const Environment& environment, const std::string& name) {
  const auto entry = environment.find(name);
  if (entry == environment.end()) return false;
  const std::string& value = entry->second;
  return !(value.empty() || value == "0" || value == "false" || value == "off");
}

Capability refused(std::string reason, std::string hint) {
  return Capability{false, std::move(reason), std::move(hint)};
}

// Variables that would let another arithmetic run under the name of a native one (cuBLAS
// documentation, "Floating Point Emulation" and NVIDIA_TF32_OVERRIDE).
std::optional<Capability> environment_refusal(DType dtype, const Environment& environment) {
  const auto unset = [](const std::string& name) { return "Unset " + name + "."; };
  const auto emulated = [&](const char* name) -> std::optional<Capability> {
    for (const std::string& variable :
         {std::string(name), std::string("CUBLAS_EMULATION_STRATEGY")})
      if (enabled(environment, variable))
        return refused(fmt::format("{}={} lets cuBLASLt emulate {}", variable,
                                   environment.at(variable), dtype_name(dtype)),
                       unset(variable));
    return std::nullopt;
  };
  const auto tf32 = environment.find("NVIDIA_TF32_OVERRIDE");
  if (dtype == DType::float32) {
    if (tf32 != environment.end() && tf32->second == "1")
      return refused("NVIDIA_TF32_OVERRIDE=1 turns float32 products into TF32 ones",
                     unset("NVIDIA_TF32_OVERRIDE"));
    return emulated("CUBLAS_EMULATE_SINGLE_PRECISION");
  }
  if (dtype == DType::tf32 && tf32 != environment.end() && tf32->second == "0")
    return refused("NVIDIA_TF32_OVERRIDE=0 turns TF32 products into float32 ones",
                   unset("NVIDIA_TF32_OVERRIDE"));
  if (dtype == DType::float64) return emulated("CUBLAS_EMULATE_DOUBLE_PRECISION");
  return std::nullopt;
}

std::span<const DType> outputs_of(DType dtype) {
  // cuBLAS documentation, tables of cublasLtMatmul() (regular and narrow precision types).
  static constexpr DType kBf16[] = {DType::bfloat16, DType::float32};
  static constexpr DType kF16[] = {DType::float16, DType::float32};
  static constexpr DType kF32[] = {DType::float32};
  static constexpr DType kF64[] = {DType::float64};
  static constexpr DType kI32[] = {DType::int32};
  static constexpr DType kE4m3[] = {DType::float8_e4m3fn, DType::bfloat16, DType::float16,
                                    DType::float32};
  static constexpr DType kE5m2[] = {DType::float8_e5m2, DType::float8_e4m3fn, DType::bfloat16,
                                    DType::float16, DType::float32};
  static constexpr DType kBlock[] = {DType::bfloat16, DType::float16, DType::float32};
  switch (dtype) {
    case DType::bfloat16:
      return kBf16;
    case DType::float16:
      return kF16;
    case DType::float32:
    case DType::tf32:
      return kF32;
    case DType::float64:
      return kF64;
    case DType::int8:
      return kI32;
    case DType::float8_e4m3fn:
      return kE4m3;
    case DType::float8_e5m2:
      return kE5m2;
    case DType::mxfp8:
    case DType::nvfp4:
      return kBlock;
    default:
      return {};
  }
}

bool is_fp8(DType dtype) { return dtype == DType::float8_e4m3fn || dtype == DType::float8_e5m2; }

// Dimensions that the library needs in multiples: `n` is the leading dimension of its output.
struct Multiples {
  int n = 1;
  int k = 1;
  const char* source = "";
};
Multiples multiples_of(DType dtype) {
  switch (dtype) {
    // cublasLtMatmul(): IMMA kernels need leading dimensions and sizes in multiples of 4.
    case DType::int8:
      return {4, 4, "int8 products"};
    // Narrow precision: every dimension on 16 bytes, as PyTorch's _scaled_mm checks too.
    case DType::float8_e4m3fn:
    case DType::float8_e5m2:
      return {16, 16, "FP8 products"};
    case DType::mxfp8:
      return {16, 32, "MXFP8 products"};
    case DType::nvfp4:
      return {16, 32, "NVFP4 products"};
    default:
      return {};
  }
}

}  // namespace

std::vector<std::string> environment_names() {
  return {"NVIDIA_TF32_OVERRIDE",
          "CUBLAS_EMULATE_SINGLE_PRECISION",
          "CUBLAS_EMULATE_DOUBLE_PRECISION",
          "CUBLAS_EMULATION_STRATEGY",
          "CUBLAS_EMULATION_SPECIAL_VALUES_SUPPORT_MASK",
          "CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT",
          "CUBLAS_WORKSPACE_CONFIG",
          "CUBLASLT_WORKSPACE_SIZE",
          "CUBLASLT_HEURISTICS_CACHE_CAPACITY",
          "CUBLASLT_HEURISTICS_LUT_FILE",
          "CUBLASLT_DISABLE_CPU_INSTRUCTIONS_MASK",
          "CUBLASLT_LOG_LEVEL",
          "CUBLASLT_LOG_MASK",
          "CUDA_VISIBLE_DEVICES",
          "CUDA_DEVICE_ORDER",
          "CUDA_DEVICE_MAX_CONNECTIONS",
          "CUDA_LAUNCH_BLOCKING",
          "CUDA_MODULE_LOADING",
          "CUDA_FORCE_PTX_JIT"};
}

Capability dtype_capability(DType dtype, ComputeCapability cc, const std::string& device_name,
                            const Environment& environment) {
  const std::string is = fmt::format("{} is compute capability {}", device_name, cc.str());
  if (!cc.at_least(8, 0))
    return refused(is + ", older than the 8.0 that this backend's device code is built for",
                   "It needs an NVIDIA Ampere or newer GPU.");
  if (auto refusal = environment_refusal(dtype, environment)) return *refusal;
  switch (dtype) {
    case DType::float8_e4m3fn:
    case DType::float8_e5m2:
      if (!cc.at_least(8, 9)) return refused(is, "FP8 needs NVIDIA Ada, Hopper or Blackwell.");
      if (dtype == DType::float8_e5m2)
        return Capability{
            true, "A is float8_e5m2 and B float8_e4m3fn: cuBLASLt has no e5m2 pair", {}};
      break;
    case DType::mxfp8:
      if (!cc.at_least(10, 0))
        return refused(is, "mxfp8 needs hardware MX support (NVIDIA Blackwell or AMD MI355X).");
      break;
    case DType::nvfp4:
      if (!cc.at_least(10, 0)) return refused(is, "nvfp4 needs NVIDIA Blackwell.");
      break;
    case DType::mxfp4:
      // cublasLt.h 13.1: e2m1 operands take VEC16_UE4M3 scales; VEC32_UE8M0 is for FP8 operands.
      return refused("cuBLASLt has no mxfp4 products, its FP4 operands take nvfp4's scales only",
                     cc.at_least(10, 0) ? "Use nvfp4 here, or an AMD MI355X for mxfp4."
                                        : "mxfp4 needs hardware MX support (AMD MI355X).");
    case DType::float8_e4m3fnuz:
      return refused("float8_e4m3fnuz is AMD MI300's FP8", "Use float8_e4m3fn on NVIDIA GPUs.");
    case DType::int32:
      return refused("int32 is an output type only", "Use int8.");
    default:
      break;
  }
  return Capability{true, {}, {}};
}

// Sources, dense rates without sparsity = table x SMs x clock of the same document:
// A100 (8.0): "NVIDIA A100 Tensor Core GPU Architecture", table 4: 312 TFLOPS bf16 at 108 SMs, 1410
// MHz. H100 (9.0): "NVIDIA H100 Tensor Core GPU Architecture", tables 2 and 3: 989.4 bf16, 494.7
// tf32,
//   1978.9 fp8 and int8 at 132 SMs, 1830 MHz; 66.9 fp32 and fp64 (tensor) at 1980 MHz.
// B200 (10.0), "NVIDIA Blackwell Architecture Technical Brief": 2.25 PFLOPS bf16, 4.5 fp8 and int8,
//   9 fp4, 1.1 tf32 at 148 SMs, 1.85 GHz. Its fp64 and fp32 rates differ between documents: fp32
//   from 128 lanes of one FMA an SM (CUDA C++ Programming Guide, arithmetic instructions), no fp64.
// B300 (10.3) keeps bf16, fp16, tf32 and fp8 and cuts fp64 and int8: those are left out.
// 8.6, 8.9, 12.x: tensor rates differ between GeForce and workstation products of one capability;
// the
//   128 fp32 lanes do not.
std::map<DType, double> flop_per_clock(ComputeCapability cc) {
  if (cc.major == 8 && cc.minor == 0)
    return {{DType::bfloat16, 2048}, {DType::float16, 2048}, {DType::tf32, 1024},
            {DType::float32, 128},   {DType::float64, 128},  {DType::int8, 4096}};
  if (cc.major == 9 && cc.minor == 0)
    return {{DType::bfloat16, 4096},      {DType::float16, 4096},    {DType::tf32, 2048},
            {DType::float32, 256},        {DType::float64, 256},     {DType::int8, 8192},
            {DType::float8_e4m3fn, 8192}, {DType::float8_e5m2, 8192}};
  if (cc.major == 10 && (cc.minor == 0 || cc.minor == 3)) {
    std::map<DType, double> rates{{DType::bfloat16, 8192},       {DType::float16, 8192},
                                  {DType::tf32, 4096},           {DType::float32, 256},
                                  {DType::float8_e4m3fn, 16384}, {DType::float8_e5m2, 16384},
                                  {DType::mxfp8, 16384}};
    if (cc.minor == 0) {
      rates[DType::int8] = 16384;
      rates[DType::nvfp4] = 32768;
    }
    return rates;
  }
  if ((cc.major == 8 && (cc.minor == 6 || cc.minor == 9)) || cc.major == 12)
    return {{DType::float32, 256}};
  return {};
}

DType operand_b_dtype(DType dtype) {
  return dtype == DType::float8_e5m2 ? DType::float8_e4m3fn : dtype;
}

std::optional<std::string> problem_refusal(const GemmProblem& problem, ComputeCapability cc) {
  const auto [m, n, k] = problem.shape;
  constexpr std::int64_t kMaxDim = 0x7fffffff;  // cuBLASLt takes rows and columns as int32
  if (m < 1 || n < 1 || k < 1 || m > kMaxDim || n > kMaxDim || k > kMaxDim)
    return fmt::format("{}: every dimension must be between 1 and 2^31-1", problem.shape.str());
  const DTypeInfo& info = dtype_info(problem.dtype);
  const auto outputs = outputs_of(problem.dtype);
  if (std::find(outputs.begin(), outputs.end(), problem.output) == outputs.end())
    return fmt::format("cuBLASLt has no {} product with {} output", info.name,
                       dtype_name(problem.output));
  if (problem.fast_accumulation && !is_fp8(problem.dtype))
    return fmt::format("fast accumulation is an option of FP8 products, not of {}", info.name);
  const bool blackwell_server = cc.major == 10;
  const bool narrow = info.bits <= 8;
  if (narrow && problem.layout != Layout::tn && !(is_fp8(problem.dtype) && blackwell_server))
    return fmt::format("cuBLASLt does {} products in the tn layout only on compute capability {}",
                       info.name, cc.str());
  Multiples need = multiples_of(problem.dtype);
  need.k = std::max(need.k, info.k_multiple);
  if (n % need.n != 0 || k % need.k != 0)
    return fmt::format("{}: cuBLASLt's {} need N in multiples of {} and K of {}",
                       problem.shape.str(), need.source, need.n, need.k);
  return std::nullopt;
}

std::int64_t scale_bytes(DType dtype, std::int64_t rows, std::int64_t k) {
  const int block = dtype_info(dtype).scale_block;
  if (block == 0) return 0;
  const std::int64_t blocks = (k + block - 1) / block;
  return (rows + 127) / 128 * 128 * ((blocks + 3) / 4 * 4);
}

}  // namespace gemmpeak::cuda
