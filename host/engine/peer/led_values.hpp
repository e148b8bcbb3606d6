#pragma once
// Values that a node leads, for reads on the node's own thread without the courier thread. LedState detects whether an
// earlier read is still current. Thread-safe.

#include <atomic>
#include <memory>
#include <vector>

#include "host/base/clock.hpp"
#include "host/engine/values/value.hpp"

namespace actorhost {

/// Written by the courier thread before it sends the effects of a change, and by the node's own thread.
class LedState {
 public:
  /// Invalidates earlier reads.
  void change() noexcept { changes_.fetch_add(1, std::memory_order_release); }
  uint64_t changes() const noexcept { return changes_.load(std::memory_order_acquire); }
  /// The node leads and may reply until this time.
  void lead_until(double time) noexcept { until_.store(time, std::memory_order_release); }
  /// Whether a read after this many changes is still current, by the system clock.
  bool is_current(uint64_t changes) const noexcept {
    return this->changes() == changes &&
           SteadyClock::coarse() + SteadyClock::kCoarse < until_.load(std::memory_order_acquire);
  }

 private:
  std::atomic<uint64_t> changes_{0};
  std::atomic<double> until_{0};
};

struct LedValues {
  std::vector<ParamEntry> entries;  // nil for keys without a value
  std::shared_ptr<LedState> state;
  uint64_t changes = 0;  // of the state, before the read
};

}  // namespace actorhost
