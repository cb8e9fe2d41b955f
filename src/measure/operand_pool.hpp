// OperandPool: the device memory that products work on, one arena each for A, B, C, the random C
// and the scales, plus the flush buffer. Used by Bench only. Every shape works on a prefix of the
// arenas: their elements are independent draws of one distribution, so a prefix is as good a matrix
// as any. It refuses to allocate unless asked (never inside a loop), and gives everything back when
// destroyed.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/device.hpp"

namespace gemmpeak::measure {

// Element type of B. There is no product of two float8_e5m2 matrices in any library we know
// (cuBLASLt and PyTorch want one e4m3 side), so B is e4m3 there.
DType type_of_b(DType dtype);

class OperandPool {
 public:
  OperandPool(Device& device, DType dtype, DType output, DataKind data, std::uint64_t seed,
              std::int64_t flush_bytes);

  // Makes room for `sets` operand sets of these sizes, and for one random C where `with_random_c`.
  // What is large enough stays; where growing fails all is released and allocated to measure.
  Result<void> hold(const OperandSizes& sizes, int sets, bool with_random_c);
  // Also the flush buffer.
  Result<void> hold_flush();

  // Views into what is held; hold() with at least these sizes and sets came before.
  Operands operands(const OperandSizes& sizes, int set = 0) const;
  View random_c(const OperandSizes& sizes) const;
  View flush() const;

  std::int64_t held_bytes() const;
  void release();

 private:
  enum class Content { a, b, c, random_c, scales };
  struct Arena {
    Content content;
    std::unique_ptr<Buffer> buffer;
    std::int64_t bytes() const { return buffer ? buffer->bytes() : 0; }
  };
  Result<void> grow(Arena& arena, std::int64_t bytes);
  Result<void> grow_all(const OperandSizes& sizes, int sets, bool with_random_c);
  Result<void> fill(const Arena& arena);

  Device& device_;
  DType dtype_;
  DType output_;
  DataKind data_;
  std::uint64_t seed_;
  std::int64_t flush_bytes_;
  Arena a_{Content::a, nullptr};
  Arena b_{Content::b, nullptr};
  Arena c_{Content::c, nullptr};
  Arena random_c_{Content::random_c, nullptr};
  Arena scales_a_{Content::scales, nullptr};
  Arena scales_b_{Content::scales, nullptr};
  std::unique_ptr<Buffer> flush_;
};

// The distance between two operand sets in an arena: sets start on 256 bytes, the alignment that
// cudaMalloc gives and vector loads want.
std::int64_t set_stride_bytes(std::int64_t bytes);

}  // namespace gemmpeak::measure
