#pragma once
// The clocks of a simulation: the number of completed steps of each node, and the set of counted nodes. One thread.

#include <cstdint>
#include <vector>

#include "host/barrier/progress.hpp"

namespace actorhost {

class Clocks {
 public:
  /// Adds a node with `step` completed steps and returns its id. Ids ascend from 0 and are never reused.
  NodeId add(int32_t step);
  void remove(NodeId id);
  /// The node has completed a step.
  void advance(NodeId id) { counts_.advance(steps_[id]++); }

  int32_t step(NodeId id) const noexcept { return steps_[id]; }
  void fetch(NodeId id) const noexcept { __builtin_prefetch(&steps_[id]); }
  bool counted(NodeId id) const noexcept { return places_[id] != kDeparted; }
  /// Of all ids ever added, including departed nodes.
  const std::vector<int32_t>& steps() const noexcept { return steps_; }
  /// The counted nodes. When a node is removed, the last node takes its place in the vector.
  const std::vector<NodeId>& live() const noexcept { return live_; }
  uint32_t size() const noexcept { return static_cast<uint32_t>(live_.size()); }
  /// Both need size() > 0.
  int32_t min() const noexcept { return counts_.min(); }
  int32_t max() const noexcept { return counts_.max(); }
  /// Number of nodes with fewer than `step` completed steps; O(step - min()).
  uint32_t below(int64_t step) const noexcept { return counts_.below(step); }
  /// Rises when a node is added or removed.
  uint64_t layout() const noexcept { return layout_; }

 private:
  static constexpr uint32_t kDeparted = std::numeric_limits<uint32_t>::max();

  std::vector<int32_t> steps_;    // by id
  std::vector<uint32_t> places_;  // by id: index in live_
  std::vector<NodeId> live_;
  StepCounts counts_;
  uint64_t layout_ = 0;
};

}  // namespace actorhost
