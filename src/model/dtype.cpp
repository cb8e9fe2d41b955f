#include "model/dtype.hpp"

#include <array>
#include <string>

#include "base/check.hpp"

namespace gemmpeak {
namespace {

// Roundoffs: 2^-p for p significand bits (with the hidden one): bf16 8, fp16 11, fp32 24, fp64 53,
// e4m3 4, e5m2 3 (IEEE 754-2019; OCP 8-bit Floating Point Specification 1.0; OCP MX 1.0).
constexpr std::array<DTypeInfo, 13> kDTypes{{
    {DType::bfloat16, "bfloat16", 16, DType::bfloat16, true, true, 0x1p-8, 3.3895313892515355e38, 1,
     0, "16-bit brain float, FP32 accumulation"},
    {DType::float16, "float16", 16, DType::float16, true, true, 0x1p-11, 65504.0, 1, 0,
     "IEEE half precision, FP32 accumulation"},
    {DType::float32, "float32", 32, DType::float32, true, true, 0x1p-24, 3.4028234663852886e38, 1,
     0, "IEEE single precision (never TF32)"},
    {DType::tf32, "tf32", 32, DType::float32, true, false, 0x1p-24, 3.4028234663852886e38, 1, 0,
     "FP32 storage, tensor cores with 10-bit significands"},
    {DType::float64, "float64", 64, DType::float64, true, false, 0x1p-53, 1.7976931348623157e308,
     1, 0, "IEEE double precision"},
    {DType::int8, "int8", 8, DType::int32, true, false, 0.0, 0.0, 1, 0,
     "8-bit integers, 32-bit integer accumulation and output"},
    {DType::int32, "int32", 32, DType::int32, false, false, 0.0, 0.0, 1, 0, "output of int8"},
    {DType::float8_e4m3fn, "float8_e4m3fn", 8, DType::float8_e4m3fn, true, true, 0x1p-4, 448.0, 1,
     0, "NVIDIA's and Intel's FP8 with 3 mantissa bits"},
    {DType::float8_e5m2, "float8_e5m2", 8, DType::float8_e5m2, true, false, 0x1p-3, 57344.0, 1, 0,
     "FP8 with 2 mantissa bits (times a float8_e4m3fn B where the library has no e5m2 pair)"},
    {DType::float8_e4m3fnuz, "float8_e4m3fnuz", 8, DType::float8_e4m3fnuz, true, true, 0x1p-4,
     240.0, 1, 0, "AMD MI300's FP8"},
    {DType::mxfp8, "mxfp8", 8, DType::bfloat16, true, true, 0x1p-8, 3.3895313892515355e38, 1, 32,
     "OCP MX: e4m3 with one e8m0 scale per 32 elements; Blackwell or MI355X"},
    {DType::mxfp4, "mxfp4", 4, DType::bfloat16, true, true, 0x1p-8, 3.3895313892515355e38, 32, 32,
     "OCP MX: e2m1 with one e8m0 scale per 32 elements; Blackwell or MI355X"},
    {DType::nvfp4, "nvfp4", 4, DType::bfloat16, true, true, 0x1p-8, 3.3895313892515355e38, 32, 16,
     "NVIDIA: e2m1 with one e4m3 scale per 16 elements; Blackwell"},
}};

}  // namespace

std::span<const DTypeInfo> dtype_table() { return kDTypes; }

const DTypeInfo& dtype_info(DType dtype) {
  for (const DTypeInfo& row : kDTypes)
    if (row.dtype == dtype) return row;
  GEMMPEAK_CHECK(false, "a DType without a table row");
  return kDTypes[0];
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (const DTypeInfo& row : kDTypes)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

std::string_view dtype_name(DType dtype) { return dtype_info(dtype).name; }

std::int64_t dtype_bytes(DType dtype, std::int64_t elements) {
  return (elements * dtype_info(dtype).bits + 7) / 8;
}

int dtype_alignment_elements(DType dtype) { return 128 * 8 / dtype_info(dtype).bits; }

}  // namespace gemmpeak
