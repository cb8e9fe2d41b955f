// Shared: what the buffers, streams, plans and sensors of one simulated device have in common. Used
// inside this folder only.
#pragma once

#include <memory>
#include <utility>

#include "backends/sim/sim_machine.hpp"

namespace gemmpeak::sim {

inline constexpr std::int64_t kLost =
    719;  // CUDA's launch failure, so that reports look as they would

// What the buffers, streams and sensors of one device share.
struct Shared {
  explicit Shared(SimSpec spec) : machine(std::move(spec)) {}
  Machine machine;
  std::int64_t used_bytes = 0;
  std::int64_t next_address = 1LL << 32;
  bool crashing = false;  // a queued product will bring the device down
  bool dead = false;

  const SimSpec& spec() const { return machine.spec(); }
  Error lost() const {
    return Error{"sim", kLost, "the simulated device was lost: illegal memory access"};
  }
  // The host meets the device's failure when it waits for it.
  Result<void> met() {
    if (crashing) dead = true;
    if (dead) return lost();
    return {};
  }
  Result<void> alive() const {
    if (dead) return lost();
    return {};
  }
  void memory_work(std::int64_t traffic_bytes) {
    machine.reach_queue_place();
    Work work;
    work.bytes = static_cast<double>(traffic_bytes);
    work.memory_s = work.bytes / spec().dram_bytes_per_s;
    work.fixed_s = spec().launch_s;
    machine.run(work);
  }
};

// Sensors read from the machine's record.
std::unique_ptr<Telemetry> make_sim_telemetry(std::shared_ptr<Shared> shared);

}  // namespace gemmpeak::sim
