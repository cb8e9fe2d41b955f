// Team: the OpenMP threads of the CPU backend, one pinned to each chosen CPU, and the parallel
// loops, writes and copies they do. Used by the CPU device and stream. oneDNN and OpenBLAS run on
// the same threads (libgomp keeps one pool for each calling thread). It refuses to leave the
// caller's affinity changed: the destructor restores it.
#pragma once

#include <sched.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "backend/host_parallel.hpp"

namespace gemmpeak::cpu {

class Team {
 public:
  // `on_new_master`: called with the thread count on each calling thread's first use (OpenBLAS).
  Team(std::vector<int> cpus, std::function<void(int)> on_new_master);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(cpus_.size()); }
  // Sets the thread count and pins the threads that serve the calling thread, if not done yet.
  // Cheap afterwards, so that it may stand in front of a timed product.
  void join();
  void parallel(std::int64_t count, const RangeBody& body);
  // Writes every byte through the caches, which is what a flush needs.
  void set(void* target, std::uint8_t value, std::int64_t bytes);
  void copy(void* target, const void* source, std::int64_t bytes);

 private:
  void pin_all();
  void pin_this(int cpu);

  std::vector<int> cpus_;
  std::function<void(int)> on_new_master_;
  const std::uint64_t serial_;
  std::mutex mutex_;
  struct Saved {
    int thread_id;
    cpu_set_t mask;
  };
  std::vector<Saved> masters_;
};

}  // namespace gemmpeak::cpu
