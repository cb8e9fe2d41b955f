#include "backends/sim/sim_backend.hpp"

namespace gemmpeak {
namespace {

constexpr std::int64_t kMiB = 1LL << 20;
constexpr std::int64_t kGiB = 1LL << 30;

SimSpec named(const std::string& name, const std::string& title, int units, double boost_mhz) {
  SimSpec spec;
  spec.info.id = std::string("sim:").append(name);
  spec.info.backend = std::string("sim");
  spec.info.kind = DeviceKind::sim;
  spec.info.name = std::string("simulated ").append(title);
  spec.info.architecture = "simulated";
  spec.info.uuid = std::string("SIM-").append(name);
  spec.info.units = units;
  spec.info.tile = TileHint{128, 256};
  spec.info.rated_clock_mhz = boost_mhz;
  spec.info.versions.emplace("simulation", "1");
  spec.boost_mhz = boost_mhz;
  return spec;
}

// Flop per clock and unit: the vendor's dense tensor rates / (units x boost clock): H200 989 TFLOPS
// bf16 at 1830 MHz, 1979 fp8, 67 fp64 (tensor) and fp32; energies from 1.0 pJ per bf16 flop at the
// saturated clock (690 W at 664 TFLOPS and 1537 MHz, idle taken off) and scaled to the boost clock.
SimSpec h200() {
  SimSpec spec = named("h200", "H200", 132, 1980);
  spec.info.geometry_validated = true;
  spec.info.memory_bytes = 141 * kGiB;
  spec.info.llc_bytes = 60 * kMiB;
  spec.info.flop_per_clock_per_unit = {{DType::bfloat16, 4096},      {DType::float16, 4096},
                                       {DType::tf32, 2048},          {DType::float32, 256},
                                       {DType::float64, 256},        {DType::int8, 8192},
                                       {DType::float8_e4m3fn, 8192}, {DType::float8_e5m2, 8192}};
  spec.joules_per_flop = {{DType::bfloat16, 1.5e-12},       {DType::float16, 1.55e-12},
                          {DType::tf32, 3.0e-12},           {DType::float32, 6.0e-12},
                          {DType::float64, 8.0e-12},        {DType::int8, 0.6e-12},
                          {DType::float8_e4m3fn, 0.75e-12}, {DType::float8_e5m2, 0.75e-12}};
  return spec;
}

// B200: 2250 TFLOPS bf16 dense, 4500 fp8, 9000 fp4, 1000 W, 8 TB/s.
SimSpec b200() {
  SimSpec spec = named("b200", "B200", 148, 1965);
  spec.info.geometry_validated = true;
  spec.info.memory_bytes = 180 * kGiB;
  spec.info.llc_bytes = 126 * kMiB;
  spec.info.flop_per_clock_per_unit = {
      {DType::bfloat16, 8192},       {DType::float16, 8192},      {DType::tf32, 4096},
      {DType::float32, 256},         {DType::float64, 128},       {DType::int8, 8192},
      {DType::float8_e4m3fn, 16384}, {DType::float8_e5m2, 16384}, {DType::mxfp8, 16384},
      {DType::mxfp4, 32768},         {DType::nvfp4, 32768}};
  spec.joules_per_flop = {
      {DType::bfloat16, 0.95e-12},      {DType::float16, 1.0e-12},      {DType::tf32, 1.9e-12},
      {DType::float32, 6.0e-12},        {DType::float64, 8.0e-12},      {DType::int8, 0.6e-12},
      {DType::float8_e4m3fn, 0.48e-12}, {DType::float8_e5m2, 0.48e-12}, {DType::mxfp8, 0.5e-12},
      {DType::mxfp4, 0.25e-12},         {DType::nvfp4, 0.26e-12}};
  spec.kernel_efficiency = 0.74;
  spec.dram_bytes_per_s = 7.0e12;
  spec.power_cap_w = spec.default_power_cap_w = 1000;
  spec.idle_w = 140;
  return spec;
}

// A100 SXM: 312 TFLOPS bf16 dense, 400 W, 2.0 TB/s. Its geometry is left unvalidated, so that the
// note about that can be seen.
SimSpec a100() {
  SimSpec spec = named("a100", "A100", 108, 1410);
  spec.info.memory_bytes = 80 * kGiB;
  spec.info.llc_bytes = 40 * kMiB;
  spec.info.flop_per_clock_per_unit = {{DType::bfloat16, 2048}, {DType::float16, 2048},
                                       {DType::tf32, 1024},     {DType::float32, 128},
                                       {DType::float64, 128},   {DType::int8, 4096}};
  spec.joules_per_flop = {{DType::bfloat16, 1.35e-12}, {DType::float16, 1.4e-12},
                          {DType::tf32, 2.7e-12},      {DType::float32, 9.0e-12},
                          {DType::float64, 10.0e-12},  {DType::int8, 0.7e-12}};
  spec.kernel_efficiency = 0.86;
  spec.dram_bytes_per_s = 1.75e12;
  spec.power_cap_w = spec.default_power_cap_w = 400;
  spec.idle_w = 50;
  spec.leakage_w = 15;
  spec.clock_step_mhz = 15;
  return spec;
}

}  // namespace

std::vector<std::string> sim_names() { return {"h200", "b200", "a100"}; }

std::optional<SimSpec> sim_spec(const std::string& name) {
  if (name == "h200") return h200();
  if (name == "b200") return b200();
  if (name == "a100") return a100();
  return std::nullopt;
}

}  // namespace gemmpeak
