#pragma once
// The clocks of a simulation: the number of completed steps of each node, and the set of live nodes. Barriers count
// only live nodes. Belongs to a simulation; not thread-safe.

#include <cstdint>
#include <vector>

#include "host/barrier/progress.hpp"

namespace actorhost {

class Clocks {
 public:
  /// Adds a live node with `step` completed steps and returns its id. Ids ascend from 0 and are never reused.
  NodeId add(int32_t step) {
    const auto id = static_cast<NodeId>(steps_.size());
    steps_.push_back(step);
    places_.push_back(size());
    live_.push_back(id);
    counts_.add(step);
    ++layout_;
    return id;
  }
  void remove(NodeId id) {
    if (!counted(id)) return;
    counts_.remove(steps_[id]);
    const uint32_t place = places_[id];
    live_[place] = live_.back();
    places_[live_[place]] = place;
    live_.pop_back();
    places_[id] = kDeparted;
    ++layout_;
  }
  /// The node has completed a step.
  void advance(NodeId id) { counts_.advance(steps_[id]++); }

  int32_t step(NodeId id) const noexcept { return steps_[id]; }
  /// Loads the node's clock into the cache.
  void fetch(NodeId id) const noexcept { __builtin_prefetch(&steps_[id]); }
  /// The node is live, so barriers count it.
  bool counted(NodeId id) const noexcept { return places_[id] != kDeparted; }
  /// The clocks by id, with the last clocks of departed nodes.
  const std::vector<int32_t>& steps() const noexcept { return steps_; }
  /// The live nodes. When a node is removed, the last node of the vector takes its place.
  const std::vector<NodeId>& live() const noexcept { return live_; }
  uint32_t size() const noexcept { return static_cast<uint32_t>(live_.size()); }
  // The minimum and the maximum of the live nodes' clocks. There must be a live node.
  int32_t min() const noexcept { return counts_.min(); }
  int32_t max() const noexcept { return counts_.max(); }
  /// The number of live nodes with fewer than `step` completed steps. O(step - min()).
  uint32_t below(int64_t step) const noexcept { return counts_.below(step); }
  /// The version of the set of live nodes: it rises when a node is added or removed.
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
