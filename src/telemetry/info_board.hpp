// InfoBoard: a TelemetryInfo that the reading thread may add to (a sensor that failed, a measured
// refresh) while other threads hold references to it. Used by the telemetries of this room. Each
// change publishes a new copy and keeps the old ones, so a reference never dangles; changes are few
// (at most one a sensor and one for the refresh).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "telemetry/telemetry.hpp"

namespace gemmpeak {

class InfoBoard {
 public:
  InfoBoard() { publish(TelemetryInfo{}); }

  const TelemetryInfo& get() const { return *current_.load(std::memory_order_acquire); }

  template <class Change>
  void update(Change change) {
    const std::lock_guard<std::mutex> lock(mutex_);
    TelemetryInfo next = get();
    change(next);
    publish(std::move(next));
  }

 private:
  void publish(TelemetryInfo info) {
    kept_.push_back(std::make_unique<const TelemetryInfo>(std::move(info)));
    current_.store(kept_.back().get(), std::memory_order_release);
  }
  std::mutex mutex_;
  std::vector<std::unique_ptr<const TelemetryInfo>> kept_;
  std::atomic<const TelemetryInfo*> current_{nullptr};
};

}  // namespace gemmpeak
