#include "measure/operand_pool.hpp"

namespace gemmpeak::measure {

DType type_of_b(DType dtype) { return dtype == DType::float8_e5m2 ? DType::float8_e4m3fn : dtype; }

std::int64_t set_stride_bytes(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

OperandPool::OperandPool(Device& device, DType dtype, DType output, DataKind data,
                         std::uint64_t seed, std::int64_t flush_bytes)
    : device_(device),
      dtype_(dtype),
      output_(output),
      data_(data),
      seed_(seed),
      flush_bytes_(flush_bytes) {}

Result<void> OperandPool::fill(const Arena& arena) {
  const View whole{arena.buffer.get(), 0, arena.bytes()};
  switch (arena.content) {
    case Content::a:
      return device_.fill(whole, dtype_, data_, seed_);
    case Content::b:
      return device_.fill(whole, type_of_b(dtype_), data_, seed_ + 1);
    case Content::random_c: {
      // Only overwritten, never read by a product: its point is that the copy is a real write.
      const bool integer = dtype_info(output_).max_finite == 0;
      return device_.fill(whole, output_, integer ? DataKind::ints : DataKind::normal, seed_ + 2);
    }
    case Content::scales:
      return device_.fill_unit_scales(whole, dtype_);
    case Content::c:
      break;
  }
  return {};
}

Result<void> OperandPool::grow(Arena& arena, std::int64_t bytes) {
  if (bytes <= arena.bytes()) return {};
  arena.buffer.reset();  // first, so that old and new need not fit together
  auto made = device_.allocate(bytes);
  if (!made) return made.error();
  arena.buffer = std::move(*made);
  if (auto filled = fill(arena); !filled) {
    arena.buffer.reset();
    return filled.error();
  }
  return {};
}

Result<void> OperandPool::grow_all(const OperandSizes& sizes, int sets, bool with_random_c) {
  const auto room = [sets](std::int64_t bytes) {
    return sets > 1 ? sets * set_stride_bytes(bytes) : bytes;
  };
  GEMMPEAK_TRY(grow(a_, room(sizes.a)));
  GEMMPEAK_TRY(grow(b_, room(sizes.b)));
  GEMMPEAK_TRY(grow(c_, room(sizes.c)));
  if (with_random_c) GEMMPEAK_TRY(grow(random_c_, sizes.c));
  GEMMPEAK_TRY(grow(scales_a_, sizes.scale_a));
  return grow(scales_b_, sizes.scale_b);
}

Result<void> OperandPool::hold(const OperandSizes& sizes, int sets, bool with_random_c) {
  if (grow_all(sizes, sets, with_random_c).ok()) return {};
  if (device_.dead()) return error_text("the device failed while operands were allocated");
  // Each arena keeps the largest size it ever had; together they may be what does not fit.
  const bool flushing = flush_ != nullptr;
  release();
  if (flushing) GEMMPEAK_TRY(hold_flush());
  return grow_all(sizes, sets, with_random_c);
}

Result<void> OperandPool::hold_flush() {
  if (flush_ || flush_bytes_ <= 0) return {};
  auto made = device_.allocate(flush_bytes_);
  if (!made) return made.error();
  flush_ = std::move(*made);
  return {};
}

Operands OperandPool::operands(const OperandSizes& sizes, int set) const {
  const auto cut = [set](const Arena& arena, std::int64_t bytes) {
    return View{arena.buffer.get(), set * set_stride_bytes(bytes), bytes};
  };
  const auto whole = [](const Arena& arena, std::int64_t bytes) {
    return bytes > 0 ? View{arena.buffer.get(), 0, bytes} : View{};
  };
  return Operands{cut(a_, sizes.a), cut(b_, sizes.b), cut(c_, sizes.c),
                  whole(scales_a_, sizes.scale_a), whole(scales_b_, sizes.scale_b)};
}

View OperandPool::random_c(const OperandSizes& sizes) const {
  return View{random_c_.buffer.get(), 0, sizes.c};
}

View OperandPool::flush() const { return flush_ ? View{flush_.get(), 0, flush_->bytes()} : View{}; }

std::int64_t OperandPool::held_bytes() const {
  return a_.bytes() + b_.bytes() + c_.bytes() + random_c_.bytes() + scales_a_.bytes() +
         scales_b_.bytes() + (flush_ ? flush_->bytes() : 0);
}

void OperandPool::release() {
  for (Arena* arena : {&a_, &b_, &c_, &random_c_, &scales_a_, &scales_b_}) arena->buffer.reset();
  flush_.reset();
}

}  // namespace gemmpeak::measure
