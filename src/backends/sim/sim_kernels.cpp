#include "backends/sim/sim_kernels.hpp"

#include <algorithm>
#include <cmath>

namespace gemmpeak::sim {
namespace {

// splitmix64's finaliser (Steele, Lea, Flood 2014): every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

double hash_unit(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
  const std::uint64_t h = mix(mix(mix(mix(a) ^ b) ^ c) ^ d);
  return static_cast<double>(h >> 11) * 0x1p-53;
}

double hash_normal(std::uint64_t seed, std::uint64_t position) {
  // The sum of twelve uniforms less six has variance 1; four with a scale will do here.
  double sum = 0;
  for (std::uint64_t i = 0; i < 4; ++i) sum += hash_unit(seed, position, i);
  return (sum - 2.0) * std::sqrt(3.0);
}

OperandSizes sim_operand_sizes(const GemmProblem& problem) {
  const GemmShape& s = problem.shape;
  OperandSizes out;
  out.a = dtype_bytes(problem.dtype, s.m * s.k);
  out.b = dtype_bytes(problem.dtype, s.n * s.k);
  out.c = dtype_bytes(problem.output, s.m * s.n);
  const DTypeInfo& info = dtype_info(problem.dtype);
  if (info.scale_block >
      0) {  // one byte a block, rows padded to 128 and blocks to 4, as cuBLASLt has it
    const std::int64_t blocks = ceil_div(ceil_div(s.k, info.scale_block), 4) * 4;
    out.scale_a = ceil_div(s.m, 128) * 128 * blocks;
    out.scale_b = ceil_div(s.n, 128) * 128 * blocks;
  } else if (problem.dtype == DType::float8_e4m3fn || problem.dtype == DType::float8_e5m2) {
    out.scale_a = out.scale_b = 4;  // one float for the whole tensor
  }
  return out;
}

const SimFault* find_fault(const SimSpec& spec, SimFaultKind kind, const GemmShape& shape,
                           int rank) {
  for (const SimFault& fault : spec.faults)
    if (fault.kind == kind && (fault.rank < 0 || fault.rank == rank) &&
        (!fault.applies || fault.applies(shape)))
      return &fault;
  return nullptr;
}

Work product_work(const SimSpec& spec, const GemmProblem& problem, int rank) {
  const GemmShape& s = problem.shape;
  const TileHint tile = spec.info.tile.value_or(TileHint{128, 256});
  const double per_clock = spec.info.flop_per_clock_per_unit.at(problem.dtype);
  const std::int64_t tiles = ceil_div(s.m, tile.m) * ceil_div(s.n, tile.n);
  const double waves = static_cast<double>(ceil_div(tiles, std::max(spec.info.units, 1)));
  const double texture =
      2 * hash_unit(static_cast<std::uint64_t>(s.m) << 32 | static_cast<std::uint64_t>(s.n),
                    static_cast<std::uint64_t>(s.k), static_cast<std::uint64_t>(problem.dtype),
                    static_cast<std::uint64_t>(rank)) -
      1;
  // Later suggestions are worse on average, but each wins on some shapes.
  const double efficiency =
      spec.kernel_efficiency * (1 + spec.texture * texture) * (1 - 0.005 * std::min(rank, 10));
  const double tile_flop = 2.0 * tile.m * tile.n * static_cast<double>(s.k);
  Work work;
  work.cycles = waves * (tile_flop / (per_clock * efficiency) + spec.wave_overhead_cycles);
  work.flop_joules = s.flop() * spec.joules_per_flop.at(problem.dtype);
  // Each wave reads the panels of a nearly square block of tiles once; C is written once.
  const double panel = 2 * std::sqrt(static_cast<double>(spec.info.units) * tile.m * tile.n) *
                       static_cast<double>(s.k) * dtype_info(problem.dtype).bits / 8;
  const OperandSizes sizes = sim_operand_sizes(problem);
  work.bytes = std::max(static_cast<double>(sizes.a + sizes.b), waves * panel) +
               static_cast<double>(sizes.c);
  work.memory_s = work.bytes / spec.dram_bytes_per_s;
  work.fixed_s = spec.launch_s;
  double slow = spec.slow_factor;
  if (const SimFault* fault = find_fault(spec, SimFaultKind::too_fast, s, rank)) {
    // Peak rate at this clock, exceeded by the factor.
    const double peak_cycles = s.flop() / (per_clock * spec.info.units);
    slow = peak_cycles / fault->factor / work.cycles;
    work.memory_s = 0;
    work.fixed_s = 0;
  }
  work.cycles *= slow;
  work.memory_s *= slow;
  return work;
}

}  // namespace gemmpeak::sim

namespace gemmpeak {

double sim_product_s(const SimSpec& spec, const GemmProblem& problem, int rank, double clock_mhz) {
  const sim::Work work = sim::product_work(spec, problem, rank);
  return std::max(work.cycles / (clock_mhz * 1e6), work.memory_s) + work.fixed_s;
}

}  // namespace gemmpeak
