// The clock between two stamps, from the records their blocks wrote. Used by stream.cpp and tested
// without a device. It refuses to mix multiprocessors: each one's counters are compared with its
// own.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/device.hpp"
#include "backends/cuda/kernels.hpp"

namespace gemmpeak::cuda {

// The median, over the multiprocessors in both stamps, of cycles by timer; 0 MHz where there are
// none. Its error is one timer step at each end.
DeviceClock clock_from(const std::vector<StampRecord>& from, const std::vector<StampRecord>& to,
                       std::uint64_t timer_step_ns);

}  // namespace gemmpeak::cuda
