// The backend's own device code: fill, byte count, clock stamps and the float64 verification. Used
// by core.cpp, device.cpp and stream.cpp. It refuses to allocate or to wait: every call queues one
// kernel on `stream` and returns what the launch returned. Plain structs only, so that nvcc sees no
// more of the project than this header.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace gemmpeak::cuda {

// How one stored element is read or written.
enum class Element : int { bf16, f16, f32, f64, i8, i32, e4m3, e5m2, e2m1 };

// What a fill writes; in the order of gemmpeak::DataKind.
enum class FillKind : int { normal, uniform, zeros, ones, ints };

// Elements 0..count-1 of `out`. e2m1: `count` is even and the bytes are random whatever the kind.
cudaError_t launch_fill(void* out, std::int64_t count, Element element, FillKind kind,
                        std::uint64_t seed, int units, cudaStream_t stream);

// Adds to *total the elements of `size` bytes (1, 2, 4 or 8) whose bytes all equal `value`.
cudaError_t launch_count(const void* data, std::int64_t count, int size, std::uint8_t value,
                         unsigned long long* total, int units, cudaStream_t stream);

// One block's look at its multiprocessor: both counters read next to each other.
struct StampRecord {
  std::uint32_t sm;
  std::uint32_t unused;
  std::uint64_t cycles;
  std::uint64_t nanoseconds;
};
cudaError_t launch_stamp(StampRecord* out, int blocks, cudaStream_t stream);

// Smallest step of the device's timer in ns, measured by polling it; 0 where it never moved.
cudaError_t launch_timer_step(unsigned long long* step_ns, cudaStream_t stream);

// One operand of a verification: element (i, k) is at i * stride_i + k * stride_k.
struct VerifyOperand {
  const void* data;
  Element element;
  std::int64_t stride_i;
  std::int64_t stride_k;
  const std::uint8_t* scales;  // block scales in the library's swizzled order, or null
  int scale_block;             // elements of K that share a scale
  bool scale_e8m0;             // else unsigned e4m3
};

struct VerifyArguments {
  VerifyOperand a;
  VerifyOperand b;
  const void* c;
  Element c_element;
  std::int64_t n;  // columns of C, which is row-major
  std::int64_t k;
  const std::int64_t* rows;
  std::int64_t row_count;
  const std::int64_t* cols;
  std::int64_t col_count;
  double output_roundoff;
  double accumulation;
  double absolute;
  double max_finite;
};

// What one block found; the host adds them up.
struct VerifyPartial {
  std::uint64_t checked;
  std::uint64_t bad;
  std::uint64_t not_finite;
  double worst_ratio;  // below 0: this block checked nothing
  std::int64_t worst_row;
  std::int64_t worst_col;
  double worst_got;
  double worst_want;
};

inline constexpr int kVerifyTile = 64;  // rows and columns of C one block does at a time
cudaError_t launch_verify(const VerifyArguments& arguments, VerifyPartial* partials, int blocks,
                          cudaStream_t stream);

// Position of the scale of (row, block of K) in cuBLASLt's layout: tiles of 128 rows x 4 blocks,
// 512 bytes each, inside a tile (row % 32) * 16 + (row / 32 % 4) * 4 + block % 4. Source: cuBLAS
// documentation, "1D block scaling factors layout".
#ifdef __CUDACC__
__host__ __device__
#endif
    inline std::int64_t
    scale_position(std::int64_t row, std::int64_t block, std::int64_t blocks) {
  const std::int64_t tile = (row / 128) * ((blocks + 3) / 4) + block / 4;
  return tile * 512 + (row % 32) * 16 + (row % 128) / 32 * 4 + block % 4;
}

}  // namespace gemmpeak::cuda
