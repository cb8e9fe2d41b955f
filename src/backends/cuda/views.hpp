// Views of device memory: their addresses, and checks that they hold what a call needs. Used by
// plan, stream and device. Header only; it refuses views that are empty, too small, out of their
// buffer or not aligned, because the device itself would answer with a poisoned context.
#pragma once

#include <string>

#include "backend/device.hpp"

namespace gemmpeak::cuda {

inline void* address_of(const View& view) {
  return view.buffer == nullptr ? nullptr
                                : static_cast<char*>(view.buffer->address()) + view.offset;
}

inline Result<void> check_view(const char* name, const View& view, std::int64_t bytes,
                               std::uintptr_t alignment = 1) {
  if (bytes == 0) return {};
  if (view.buffer == nullptr || view.offset < 0 || view.bytes < bytes ||
      view.offset > view.buffer->bytes() - view.bytes)
    return error_text(std::string(name) + ": the view holds " + std::to_string(view.bytes) +
                      " bytes at offset " + std::to_string(view.offset) + " of a buffer of " +
                      std::to_string(view.buffer == nullptr ? 0 : view.buffer->bytes()) + ", " +
                      std::to_string(bytes) + " are needed");
  if (reinterpret_cast<std::uintptr_t>(address_of(view)) % alignment != 0)
    return error_text(std::string(name) + ": the view must start on a boundary of " +
                      std::to_string(alignment) + " bytes");
  return {};
}

inline Result<void> check_operands(const Operands& operands, const OperandSizes& sizes,
                                   std::uintptr_t alignment) {
  GEMMPEAK_TRY(check_view("A", operands.a, sizes.a, alignment));
  GEMMPEAK_TRY(check_view("B", operands.b, sizes.b, alignment));
  GEMMPEAK_TRY(check_view("C", operands.c, sizes.c, alignment));
  GEMMPEAK_TRY(check_view("scales of A", operands.scale_a, sizes.scale_a, alignment));
  return check_view("scales of B", operands.scale_b, sizes.scale_b, alignment);
}

}  // namespace gemmpeak::cuda
