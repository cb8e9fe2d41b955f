// ParallelFor: how the host helpers of this room split a loop over threads. Used by host_fill,
// host_verify and the backends that compute on the host, which pass their own pinned team. It
// refuses to own threads: the default runs the loop where it is called.
#pragma once

#include <cstdint>
#include <functional>

namespace gemmpeak {

// body(begin, end) over disjoint ranges that cover 0..count-1, in any order and on any thread.
using RangeBody = std::function<void(std::int64_t begin, std::int64_t end)>;
using ParallelFor = std::function<void(std::int64_t count, const RangeBody& body)>;

inline void run_serially(std::int64_t count, const RangeBody& body) {
  if (count > 0) body(0, count);
}

}  // namespace gemmpeak
