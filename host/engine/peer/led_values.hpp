#pragma once
// Values that a node leads itself, read by its own thread without the courier's: as they are now, and whether what was
// read before is still so.

#include <atomic>
#include <memory>
#include <vector>

#include "host/base/clock.hpp"
#include "host/engine/param/value.hpp"

namespace actorhost {

/// Written by the courier's thread before it sends what follows from a change, and by the node's own.
class LedState {
 public:
  /// From now on what was read before may be otherwise.
  void change() noexcept { changes_.fetch_add(1, std::memory_order_release); }
  uint64_t changes() const noexcept { return changes_.load(std::memory_order_acquire); }
  /// The node leads, and may answer until then.
  void lead_until(double time) noexcept { until_.store(time, std::memory_order_release); }
  /// Whether what was read after so many changes is still so. By the system's clock.
  bool still(uint64_t changes) const noexcept {
    return this->changes() == changes &&
           SteadyClock::coarse() + SteadyClock::kCoarse < until_.load(std::memory_order_acquire);
  }

 private:
  std::atomic<uint64_t> changes_{0};
  std::atomic<double> until_{0};
};

struct LedValues {
  std::vector<ParamEntry> entries;  // nil where there is nothing
  std::shared_ptr<LedState> state;
  uint64_t changes = 0;  // of the state, before they were read
};

}  // namespace actorhost
