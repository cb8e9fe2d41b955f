// DType and its one table: every element type gemmpeak knows, with what shapes, alignments and
// tolerances follow from it. Used by options, backends, search and reports. It refuses to say
// whether a device can run a type; that is the backend's word (Device::capability).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace gemmpeak {

enum class DType : std::uint8_t {
  bfloat16,
  float16,
  float32,
  tf32,
  float64,
  int8,
  int32,  // output only
  float8_e4m3fn,
  float8_e5m2,
  float8_e4m3fnuz,
  mxfp8,
  mxfp4,
  nvfp4,
};

struct DTypeInfo {
  DType dtype;
  std::string_view name;      // the name users type, PyTorch's where it has one
  int bits;                   // storage bits of one element (4 for the fp4 formats)
  DType output;               // element type of C in the reference's protocol
  bool input;                 // may be given to --dtype
  bool reference;             // among mamf-finder's --dtype choices
  // Unit roundoff of the type as an OUTPUT, round to nearest:
  // 2^-p for p significand bits (2^-8 for bfloat16). 0 for integers.
  double unit_roundoff;
  double max_finite;          // largest finite value (448 for float8_e4m3fn); 0 for integers
  int k_multiple;             // K must be a multiple of this by the format's definition (32 for fp4)
  int scale_block;            // elements of K that share a scale; 0: no block scales
  std::string_view about;     // one line for --help
};

std::span<const DTypeInfo> dtype_table();
const DTypeInfo& dtype_info(DType dtype);
std::optional<DType> parse_dtype(std::string_view name);  // exact names only
std::string_view dtype_name(DType dtype);

// Bytes of `elements` elements, rounded up.
std::int64_t dtype_bytes(DType dtype, std::int64_t elements);

// Elements that fill 128 bytes (bf16 64, fp8 128, fp4 256, fp32 32): the alignment of tensor-core
// operands that auto candidates keep (rule 1 of arXiv:2401.14489).
int dtype_alignment_elements(DType dtype);

}  // namespace gemmpeak
