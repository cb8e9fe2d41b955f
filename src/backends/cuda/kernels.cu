#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>

#include "backends/cuda/kernels.hpp"

namespace gemmpeak::cuda {
namespace {

constexpr int kThreads = 256;
// Blocks a unit: enough to fill every SM (2048 threads / 256) twice over.
constexpr int kBlocksPerUnit = 16;

int grid_for(std::int64_t items, int units) {
  const std::int64_t wanted = (items + kThreads - 1) / kThreads;
  return static_cast<int>(std::max<std::int64_t>(
      1, std::min<std::int64_t>(wanted, std::int64_t{units} * kBlocksPerUnit)));
}

// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) on a counter: any element's bits
// follow from seed and index alone.
__device__ std::uint64_t hash_bits(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t x = seed * 0xd1342543de82ef95ull + (index + 1) * 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Standard normal by Box and Muller from 2 x 24 bits; largest magnitude 5.8.
__device__ float normal_float(std::uint64_t bits) {
  const float u = static_cast<float>((bits >> 40) + 1) * 0x1p-24f;  // (0, 1]
  const float v = static_cast<float>(bits & 0xffffffu) * 0x1p-24f;
  return sqrtf(-2.0f * logf(u)) * cospif(2.0f * v);
}

__device__ double normal_double(std::uint64_t bits, std::uint64_t more) {
  const double u = static_cast<double>((bits >> 11) + 1) * 0x1p-53;
  const double v = static_cast<double>(more >> 11) * 0x1p-53;
  return sqrt(-2.0 * log(u)) * cospi(2.0 * v);
}

__device__ double draw(FillKind kind, bool wide, std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t bits = hash_bits(seed, index);
  switch (kind) {
    case FillKind::normal:
      return wide ? normal_double(bits, hash_bits(~seed, index)) : normal_float(bits);
    case FillKind::uniform:
      return static_cast<double>(bits >> 11) * 0x1p-52 - 1.0;  // [-1, 1)
    case FillKind::zeros:
      return 0.0;
    case FillKind::ones:
      return 1.0;
    case FillKind::ints:
      return static_cast<double>(static_cast<int>((bits >> 32) % 7) - 3);  // -3..3
  }
  return 0.0;
}

// Magnitudes under the smallest normal number become it: no element is ever a denormal.
__device__ double lift(double x, double smallest_normal) {
  return x != 0.0 && fabs(x) < smallest_normal ? copysign(smallest_normal, x) : x;
}

// Integers get normal and uniform draws times 32, so that +-4 sigma fill the range of 8 bits.
__device__ double integer_value(double x, FillKind kind) {
  const double scaled = kind == FillKind::normal || kind == FillKind::uniform ? rint(32.0 * x) : x;
  return fmin(fmax(scaled, -127.0), 127.0);
}

__device__ void store(void* out, std::int64_t i, Element element, FillKind kind, double x) {
  switch (element) {
    case Element::bf16:
      static_cast<__nv_bfloat16*>(out)[i] =
          __float2bfloat16_rn(static_cast<float>(lift(x, 0x1p-126)));
      return;
    case Element::f16:
      static_cast<__half*>(out)[i] = __float2half_rn(static_cast<float>(lift(x, 0x1p-14)));
      return;
    case Element::f32:
      static_cast<float*>(out)[i] = static_cast<float>(lift(x, 0x1p-126));
      return;
    case Element::f64:
      static_cast<double*>(out)[i] = lift(x, 0x1p-1022);
      return;
    case Element::i8:
      static_cast<std::int8_t*>(out)[i] = static_cast<std::int8_t>(integer_value(x, kind));
      return;
    case Element::i32:
      static_cast<std::int32_t*>(out)[i] = static_cast<std::int32_t>(integer_value(x, kind));
      return;
    case Element::e4m3:
      static_cast<std::uint8_t*>(out)[i] =
          __nv_cvt_float_to_fp8(static_cast<float>(lift(x, 0x1p-6)), __NV_SATFINITE, __NV_E4M3);
      return;
    case Element::e5m2:
      static_cast<std::uint8_t*>(out)[i] =
          __nv_cvt_float_to_fp8(static_cast<float>(lift(x, 0x1p-14)), __NV_SATFINITE, __NV_E5M2);
      return;
    case Element::e2m1:
      return;  // bytes, see fill_bytes
  }
}

__global__ void fill_elements(void* out, std::int64_t count, Element element, FillKind kind,
                              std::uint64_t seed) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step)
    store(out, i, element, kind,
          draw(kind, element == Element::f64, seed, static_cast<std::uint64_t>(i)));
}

__global__ void fill_bytes(std::uint8_t* out, std::int64_t bytes, std::uint64_t seed) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < bytes;
       i += step)
    out[i] = static_cast<std::uint8_t>(hash_bits(seed, static_cast<std::uint64_t>(i)) >> 56);
}

template <class Word>
__global__ void count_words(const Word* data, std::int64_t count, Word wanted,
                            unsigned long long* total) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  unsigned long long mine = 0;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step)
    mine += data[i] == wanted;
  for (int lane = 16; lane > 0; lane /= 2) mine += __shfl_down_sync(0xffffffffu, mine, lane);
  if (threadIdx.x % 32 == 0 && mine != 0) atomicAdd(total, mine);
}

template <class Word>
cudaError_t count_as(const void* data, std::int64_t count, std::uint8_t value,
                     unsigned long long* total, int units, cudaStream_t stream) {
  const Word wanted = static_cast<Word>(0x0101010101010101ull * value);
  count_words<Word><<<grid_for(count, units), kThreads, 0, stream>>>(static_cast<const Word*>(data),
                                                                     count, wanted, total);
  return cudaGetLastError();
}

__device__ std::uint64_t timer_ns() {
  std::uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

__global__ void stamp(StampRecord* out) {
  if (threadIdx.x != 0) return;
  StampRecord record;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(record.sm));
  record.unused = 0;
  record.nanoseconds = timer_ns();
  record.cycles = static_cast<std::uint64_t>(clock64());
  out[blockIdx.x] = record;
}

__global__ void timer_step(unsigned long long* step_ns) {
  constexpr int kPolls = 1 << 20;  // tens of ms at most, even for a timer of 1 ms steps
  constexpr int kChanges = 64;
  std::uint64_t last = timer_ns();
  std::uint64_t smallest = ~0ull;
  int changes = 0;
  for (int i = 0; i < kPolls && changes < kChanges; ++i) {
    const std::uint64_t now = timer_ns();
    if (now == last) continue;
    if (now - last < smallest) smallest = now - last;
    last = now;
    ++changes;
  }
  *step_ns = changes > 1 ? smallest : 0;
}

}  // namespace

cudaError_t launch_fill(void* out, std::int64_t count, Element element, FillKind kind,
                        std::uint64_t seed, int units, cudaStream_t stream) {
  if (count <= 0) return cudaSuccess;
  if (element == Element::e2m1)
    fill_bytes<<<grid_for(count / 2, units), kThreads, 0, stream>>>(static_cast<std::uint8_t*>(out),
                                                                    count / 2, seed);
  else
    fill_elements<<<grid_for(count, units), kThreads, 0, stream>>>(out, count, element, kind, seed);
  return cudaGetLastError();
}

cudaError_t launch_count(const void* data, std::int64_t count, int size, std::uint8_t value,
                         unsigned long long* total, int units, cudaStream_t stream) {
  if (count <= 0) return cudaSuccess;
  switch (size) {
    case 1:
      return count_as<std::uint8_t>(data, count, value, total, units, stream);
    case 2:
      return count_as<std::uint16_t>(data, count, value, total, units, stream);
    case 4:
      return count_as<std::uint32_t>(data, count, value, total, units, stream);
    case 8:
      return count_as<std::uint64_t>(data, count, value, total, units, stream);
    default:
      return cudaErrorInvalidValue;
  }
}

cudaError_t launch_stamp(StampRecord* out, int blocks, cudaStream_t stream) {
  stamp<<<blocks, 32, 0, stream>>>(out);
  return cudaGetLastError();
}

cudaError_t launch_timer_step(unsigned long long* step_ns, cudaStream_t stream) {
  timer_step<<<1, 1, 0, stream>>>(step_ns);
  return cudaGetLastError();
}

}  // namespace gemmpeak::cuda
