// How long a product takes on a simulated device, and what it costs. Used by the sim device only.
#pragma once

#include <cstdint>

#include "backends/sim/sim_machine.hpp"

namespace gemmpeak::sim {

OperandSizes sim_operand_sizes(const GemmProblem& problem);
// A product's work without noise; slow factor and too_fast faults included.
Work product_work(const SimSpec& spec, const GemmProblem& problem, int rank);
// The first fault of this kind that applies, or null.
const SimFault* find_fault(const SimSpec& spec, SimFaultKind kind, const GemmShape& shape,
                           int rank);
// Uniform in [0, 1), a pure function of its arguments.
double hash_unit(std::uint64_t a, std::uint64_t b, std::uint64_t c = 0, std::uint64_t d = 0);
// About standard normal, bounded by +-6.
double hash_normal(std::uint64_t seed, std::uint64_t position);

}  // namespace gemmpeak::sim
