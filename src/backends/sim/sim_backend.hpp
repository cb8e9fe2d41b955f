// The simulated accelerator (sim:h200, sim:b200, sim:a100): a deterministic device in virtual time.
// Used by the tests of everything that decides what to measure, and by anybody who wants to see a
// whole run in seconds. It does no arithmetic: results are right unless a fault says otherwise.
// It refuses to pass for a real device: its kind is DeviceKind::sim and its names say "simulated".
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/device.hpp"
#include "model/reading.hpp"
#include "telemetry/telemetry.hpp"

namespace gemmpeak {

// What goes wrong with the products a fault applies to.
enum class SimFaultKind {
  refused,        // plan() says unsupported
  out_of_memory,  // enqueue_gemm fails: out of memory
  failing,        // enqueue_gemm fails; the device lives on
  wrong,          // `count` elements of C are wrong
  unwritten,      // `count` elements of C keep what was there before
  crash,          // the device is lost while the product runs
  too_fast,       // the product takes 1/factor of the time possible
};

struct SimFault {
  SimFaultKind kind = SimFaultKind::refused;
  std::function<bool(const GemmShape&)> applies;  // empty: every shape
  int rank = -1;                                  // this suggestion only; -1: any
  std::int64_t count = 1;
  double factor = 1.5;
};

// One simulated device. Times in seconds, powers in watts, clocks in MHz, energies in joules.
struct SimSpec {
  DeviceInfo info;

  // Kernels. Time = waves x (tile flop / (flop per clock x efficiency) + wave overhead) / clock, or
  // the time of the memory traffic where that is longer.
  double kernel_efficiency = 0.80;  // H200: 845..858 of 1070 TFLOPS at 1980 MHz (docs/results)
  double texture = 0.03;            // +- share of the efficiency that depends on shape and rank
  double wave_overhead_cycles = 3000;
  double launch_s = 1.5e-6;          // fixed part of every kernel
  int suggestions = 3;               // ranks plan() accepts
  double dram_bytes_per_s = 4.3e12;  // achieved by copies and memsets
  double noise = 0.003;              // relative standard deviation of a product's time
  std::uint64_t noise_seed = 1;
  double slow_factor = 1.0;  // a device that is this much slower than its siblings

  // Power. P = idle + leakage(T) + energy_per_flop x rate x (f/boost)^2 + energy_per_byte x
  // traffic.
  double boost_mhz = 1980;
  double lowest_mhz = 345;
  double power_cap_w = 700;
  double default_power_cap_w = 700;
  double idle_w = 75;
  double leakage_w = 25;                    // at ambient; grows with temperature
  double leakage_per_c = 0.015;             // exponent
  std::map<DType, double> joules_per_flop;  // at the boost clock
  double joules_per_byte = 25e-12;
  double governor_filter_s = 0.008;  // averaging of the power controller
  double clock_down_s = 0.015;       // first-order lag of the clock, down and up
  double clock_up_s = 0.020;

  // Heat: dT/dt = (ambient + resistance x P - T) / inertia.
  double ambient_c = 30;
  double resistance_c_per_w = 0.05;
  double inertia_s = 6;
  double slowdown_c = 90;  // above it the clock is held back and bit 0x20 is set

  // The host's side.
  double enqueue_s = 3e-6;
  double wait_s = 8e-6;
  double plan_s = 1e-4;
  bool stamps = true;

  // Telemetry.
  bool telemetry = true;
  bool power_sensor = true;
  bool clock_sensor = true;
  bool energy_counter = true;
  double telemetry_fails_at_s = std::numeric_limits<double>::infinity();
  double power_refresh_s = 0.025;  // the sensor's averaging window
  double clock_step_mhz = 15;
  std::uint64_t extra_reasons = 0;  // throttle bits always set
  std::vector<Sibling> siblings;

  // Lies.
  double mark_scale = 1.0;  // marks run this much faster than the host's clock
  std::vector<SimFault> faults;
};

// "h200", "b200", "a100"; nothing for other names.
std::optional<SimSpec> sim_spec(const std::string& name);
std::vector<std::string> sim_names();

// The noise-free time of one product at a fixed clock, faults and slow factor included: what the
// device's landscape really is, so that tests know its best shape.
double sim_product_s(const SimSpec& spec, const GemmProblem& problem, int rank, double clock_mhz);

std::unique_ptr<Device> make_sim_device(SimSpec spec);
std::unique_ptr<Backend> make_sim_backend(const BackendSettings& settings);

}  // namespace gemmpeak
