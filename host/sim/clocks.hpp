#pragma once
// The clocks of a simulation: how many steps each node has completed, and which nodes are counted. One thread.

#include <cstdint>
#include <vector>

#include "host/cluster/progress.hpp"

namespace actorhost {

class Clocks {
 public:
  /// Counts the next node, with `step` completed steps; ids go up from 0 and are not used again. Returns its id.
  NodeId add(int32_t step);
  void remove(NodeId id);
  /// The node has completed a step.
  void advance(NodeId id) { counts_.advance(steps_[id]++); }

  int32_t step(NodeId id) const noexcept { return steps_[id]; }
  void fetch(NodeId id) const noexcept { __builtin_prefetch(&steps_[id]); }
  bool counted(NodeId id) const noexcept { return places_[id] != kGone; }
  /// Of all ids ever, also of those that are gone.
  const std::vector<int32_t>& steps() const noexcept { return steps_; }
  /// The counted nodes; the last one takes the place of one that goes.
  const std::vector<NodeId>& live() const noexcept { return live_; }
  uint32_t size() const noexcept { return static_cast<uint32_t>(live_.size()); }
  /// Both need size() > 0.
  int32_t min() const noexcept { return counts_.min(); }
  int32_t max() const noexcept { return counts_.max(); }
  /// How many have completed fewer than `step` steps; O(step - min()).
  uint32_t below(int64_t step) const noexcept { return counts_.below(step); }
  /// Rises when nodes come or go.
  uint64_t layout() const noexcept { return layout_; }

 private:
  static constexpr uint32_t kGone = std::numeric_limits<uint32_t>::max();

  std::vector<int32_t> steps_;    // by id
  std::vector<uint32_t> places_;  // by id: in live_
  std::vector<NodeId> live_;
  StepCounts counts_;
  uint64_t layout_ = 0;
};

}  // namespace actorhost
