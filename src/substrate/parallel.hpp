// parallel_for: body(i) for i in 0..count-1 on all cores. Used by the substrate's CPU loops. It is
// OpenMP, because the vendor libraries beside it are too: one team of threads, nobody spinning
// against another. Without OpenMP the same loops run serially. It refuses to be nested.
#pragma once

#include <cstdint>

namespace gemmpeak::substrate {

template <class Body>
void parallel_for(std::int64_t count, const Body& body) {
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 1)
#endif
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

}  // namespace gemmpeak::substrate
