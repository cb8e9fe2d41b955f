#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "backends/cuda/kernels.hpp"

namespace gemmpeak::cuda {
namespace {

constexpr int kTile = kVerifyTile;
constexpr int kDepth = 32;  // K elements staged at a time
constexpr int kSide = 16;   // threads per side of a block
constexpr int kPerThread = kTile / kSide;
constexpr int kThreads = kSide * kSide;

__device__ double fp8_value(std::uint8_t byte, __nv_fp8_interpretation_t kind) {
  return static_cast<double>(__half2float(__half(__nv_cvt_fp8_to_halfraw(byte, kind))));
}

__device__ double e2m1_value(unsigned nibble) {
  // 1 sign, 2 exponent, 1 mantissa bit, bias 1 (OCP MX 1.0, table 5).
  const unsigned magnitude = nibble & 7u;
  const double value = magnitude < 2 ? 0.5 * magnitude
                                     : (1.0 + 0.5 * (magnitude & 1u)) * (1u << (magnitude / 2 - 1));
  return nibble & 8u ? -value : value;
}

__device__ double load(const void* data, Element element, std::int64_t i) {
  switch (element) {
    case Element::bf16:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]);
    case Element::f16:
      return __half2float(static_cast<const __half*>(data)[i]);
    case Element::f32:
      return static_cast<const float*>(data)[i];
    case Element::f64:
      return static_cast<const double*>(data)[i];
    case Element::i8:
      return static_cast<const std::int8_t*>(data)[i];
    case Element::i32:
      return static_cast<const std::int32_t*>(data)[i];
    case Element::e4m3:
      return fp8_value(static_cast<const std::uint8_t*>(data)[i], __NV_E4M3);
    case Element::e5m2:
      return fp8_value(static_cast<const std::uint8_t*>(data)[i], __NV_E5M2);
    case Element::e2m1: {
      const unsigned byte = static_cast<const std::uint8_t*>(data)[i / 2];
      return e2m1_value(i % 2 ? byte >> 4 : byte & 15u);
    }
  }
  return 0.0;
}

__device__ double scale_value(std::uint8_t byte, bool e8m0) {
  if (!e8m0) return fp8_value(byte, __NV_E4M3);
  return byte == 255 ? nan("") : exp2(static_cast<double>(byte) - 127.0);
}

__device__ double operand_value(const VerifyOperand& o, std::int64_t i, std::int64_t k,
                                std::int64_t k_size) {
  double value = load(o.data, o.element, i * o.stride_i + k * o.stride_k);
  if (o.scales != nullptr) {
    const std::int64_t blocks = (k_size + o.scale_block - 1) / o.scale_block;
    value *= scale_value(o.scales[scale_position(i, k / o.scale_block, blocks)], o.scale_e8m0);
  }
  return value;
}

// Stages kDepth x kTile values; neighbouring threads read neighbouring K.
__device__ void stage(double (*into)[kTile + 1], const VerifyOperand& o,
                      const std::int64_t* indices, std::int64_t first, std::int64_t count,
                      std::int64_t k0, std::int64_t k_size) {
  for (int item = threadIdx.x; item < kTile * kDepth; item += kThreads) {
    const int k = item % kDepth;
    const int i = item / kDepth;
    const bool inside = first + i < count && k0 + k < k_size;
    into[k][i] = inside ? operand_value(o, indices[first + i], k0 + k, k_size) : 0.0;
  }
}

struct Finding {
  unsigned long long checked = 0;
  unsigned long long bad = 0;
  unsigned long long not_finite = 0;
  double ratio = -1.0;
  std::int64_t row = -1;
  std::int64_t col = -1;
  double got = 0.0;
  double want = 0.0;
};

__device__ void judge(const VerifyArguments& v, std::int64_t row, std::int64_t col, double sum,
                      double magnitude, Finding& found) {
  const double got = load(v.c, v.c_element, row * v.n + col);
  double want = sum;
  if (v.max_finite > 0.0) want = fmin(fmax(want, -v.max_finite), v.max_finite);
  const double bound = v.output_roundoff * fabs(want) + v.accumulation * magnitude + v.absolute;
  const double error = fabs(got - want);
  const bool finite = isfinite(got);
  const bool good = finite && error <= bound;
  double ratio = 0.0;
  if (!finite || isnan(error) || (error > 0.0 && !(bound > 0.0)))
    ratio = __longlong_as_double(0x7ff0000000000000ll);  // infinite
  else if (error > 0.0)
    ratio = error / bound;
  found.checked += 1;
  found.bad += good ? 0 : 1;
  found.not_finite += finite ? 0 : 1;
  if (ratio > found.ratio) {
    found.ratio = ratio;
    found.row = row;
    found.col = col;
    found.got = got;
    found.want = want;
  }
}

// Adds up the block's counts and lets the thread with the largest ratio write the record.
__device__ void publish(const Finding& found, VerifyPartial* out) {
  __shared__ unsigned long long counts[3];
  __shared__ double ratios[kThreads];
  __shared__ int owner[kThreads];
  const int t = threadIdx.x;
  if (t < 3) counts[t] = 0;
  ratios[t] = found.ratio;
  owner[t] = t;
  __syncthreads();
  atomicAdd(&counts[0], found.checked);
  atomicAdd(&counts[1], found.bad);
  atomicAdd(&counts[2], found.not_finite);
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (t < half && ratios[t + half] > ratios[t]) {
      ratios[t] = ratios[t + half];
      owner[t] = owner[t + half];
    }
    __syncthreads();
  }
  if (t != owner[0]) return;
  *out = VerifyPartial{counts[0], counts[1], counts[2], found.ratio,
                       found.row, found.col, found.got, found.want};
}

__global__ void __launch_bounds__(kThreads) verify(VerifyArguments v, VerifyPartial* partials) {
  __shared__ double a[kDepth][kTile + 1];
  __shared__ double b[kDepth][kTile + 1];
  const int tx = threadIdx.x % kSide;
  const int ty = threadIdx.x / kSide;
  const std::int64_t tile_cols = (v.col_count + kTile - 1) / kTile;
  const std::int64_t tiles = (v.row_count + kTile - 1) / kTile * tile_cols;
  Finding found;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const std::int64_t row0 = tile / tile_cols * kTile;
    const std::int64_t col0 = tile % tile_cols * kTile;
    double sum[kPerThread][kPerThread] = {};
    double magnitude[kPerThread][kPerThread] = {};
    for (std::int64_t k0 = 0; k0 < v.k; k0 += kDepth) {
      __syncthreads();
      stage(a, v.a, v.rows, row0, v.row_count, k0, v.k);
      stage(b, v.b, v.cols, col0, v.col_count, k0, v.k);
      __syncthreads();
#pragma unroll 4
      for (int k = 0; k < kDepth; ++k) {
        double left[kPerThread], right[kPerThread];
        for (int i = 0; i < kPerThread; ++i) left[i] = a[k][ty + i * kSide];
        for (int j = 0; j < kPerThread; ++j) right[j] = b[k][tx + j * kSide];
#pragma unroll
        for (int i = 0; i < kPerThread; ++i)
#pragma unroll
          for (int j = 0; j < kPerThread; ++j) {
            sum[i][j] = fma(left[i], right[j], sum[i][j]);
            magnitude[i][j] = fma(fabs(left[i]), fabs(right[j]), magnitude[i][j]);
          }
      }
    }
#pragma unroll
    for (int i = 0; i < kPerThread; ++i)
#pragma unroll
      for (int j = 0; j < kPerThread; ++j) {
        const std::int64_t r = row0 + ty + i * kSide;
        const std::int64_t c = col0 + tx + j * kSide;
        if (r < v.row_count && c < v.col_count)
          judge(v, v.rows[r], v.cols[c], sum[i][j], magnitude[i][j], found);
      }
  }
  publish(found, partials + blockIdx.x);
}

}  // namespace

cudaError_t launch_verify(const VerifyArguments& arguments, VerifyPartial* partials, int blocks,
                          cudaStream_t stream) {
  verify<<<blocks, kThreads, 0, stream>>>(arguments, partials);
  return cudaGetLastError();
}

}  // namespace gemmpeak::cuda
