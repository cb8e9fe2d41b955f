// Machine: the physics of a simulated device, in virtual time: clock, power, temperature, energy
// and the record of them. Used by the sim device and its telemetry only. It knows nothing of
// products beyond how long they compute, move bytes and draw power; each step costs a constant
// time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "backends/sim/sim_backend.hpp"

namespace gemmpeak::sim {

// A piece of work for the device.
struct Work {
  double cycles = 0;       // compute, at whatever clock there is
  double memory_s = 0;     // runs beside the cycles; the longer of the two counts
  double fixed_s = 0;      // added to them
  double flop_joules = 0;  // energy of the compute part at the boost clock
  double bytes = 0;        // DRAM traffic
};

class Machine {
 public:
  explicit Machine(const SimSpec& spec);

  const SimSpec& spec() const { return spec_; }

  // --- time ---
  double host_s() const { return host_s_; }
  double queue_end_s() const { return device_s_; }
  void host_passes(double seconds) { host_s_ += seconds; }
  void host_waits_until(double t) {
    if (t > host_s_) host_s_ = t;
  }
  // The device reaches the next place in its queue: never before the host asked for it.
  void reach_queue_place();
  void run(const Work& work);

  double cycles() const { return cycles_; }                 // at the queue's end
  std::uint64_t next_operation() { return operations_++; }  // the position that seeds the noise

  // --- sensors, at any recorded time (later times idle the device up to them) ---
  Reading reading(double t);

 private:
  struct Segment {
    double begin_s, end_s;
    double energy_j;  // at begin
    double power_w, clock_mhz, temperature_c;
    bool idle, capped, hot;
  };
  struct Activity {
    double dynamic_w = 0;  // at the boost clock; falls with the cube of the clock
    double memory_w = 0;
    bool idle = false;
  };
  void idle_until(double t);
  void step(double dt, const Activity& activity);
  void record(const Segment& segment);
  const Segment* segment_at(double t) const;
  double energy_at(double t) const;

  SimSpec spec_;
  double host_s_ = 0;
  double device_s_ = 0;
  double clock_mhz_;
  double temperature_c_;
  double energy_j_ = 0;
  double cycles_ = 0;
  double filtered_dynamic_w_ = 0;
  double filtered_memory_w_ = 0;
  bool capped_ = false;
  bool hot_ = false;
  std::uint64_t operations_ = 0;
  std::deque<Segment> history_;
};

}  // namespace gemmpeak::sim
