// Filling host memory with seeded elements of any dtype. Used by backends whose memory the host can
// write and by tests. The value at a position depends on kind, seed and position alone, never on
// the number of threads. It refuses denormals: a value below the type's smallest normal is stored
// as 0.
#pragma once

#include <cstdint>

#include "backend/host_parallel.hpp"
#include "model/dtype.hpp"
#include "model/problem.hpp"

namespace gemmpeak {

// Fills `elements` elements at `base`.
//   normal   standard normal; integers: rounded to the nearest
//   uniform  [-1, 1); integers: -64..63 (more would overflow the 16-bit pairs of CPUs without VNNI)
//   ints     whole numbers -3..3, whose products and sums are exact
//   ones, zeros
// 4-bit formats get random bytes whatever the kind, except zeros.
void host_fill(void* base, std::int64_t elements, DType dtype, DataKind kind, std::uint64_t seed,
               const ParallelFor& parallel = run_serially);

}  // namespace gemmpeak
