#pragma once
// A cluster fixture for BSP: overlay nodes run steps of random lengths on virtual time, each by its own Aggregate. An
// oracle compares their beliefs with all clocks after each event.

#include <functional>
#include <map>
#include <string>

#include "tests/host/overlay/overlay_world.hpp"

namespace actorhost::test {

class BarrierWorld {
 public:
  /// A step takes up to `work` seconds.
  BarrierWorld(uint64_t seed, SimLink link, double work);

  void add(NodeId node, const std::vector<NodeId>& contacts);
  void set_work(double seconds) { work_ = seconds; }
  void leave(NodeId node);
  void kill(NodeId node);
  /// Suspends the node's process; messages to it are retained.
  void suspend(NodeId node);
  /// Resumes the node: it ticks first, then receives the retained messages.
  void resume(NodeId node);
  void run(double seconds);
  /// Runs until all joined nodes are included and have begun a step; false if this takes longer than `seconds`.
  bool settle(double seconds);

  /// Only nodes of the same side are compared; nodes of side -1 are not compared.
  void set_sides(std::function<int(NodeId)> side) { side_ = std::move(side); }
  /// The first wrong belief, or an empty string.
  const std::string& wrong() const noexcept { return wrong_; }
  uint64_t steps() const noexcept { return steps_; }
  /// The longest wait of a node between two steps since the last call, not counting time before the last failure.
  double longest_wait() { return std::exchange(longest_wait_, 0); }
  TreeTraffic traffic() const;
  size_t included() const;
  /// Depth of the tree over all nodes; the root has depth 0.
  uint32_t depth() const;
  /// Of the joined nodes.
  uint64_t least_clock() const;
  /// A random node, preferably a joined one.
  NodeId contact();

  OverlayWorld world;

 private:
  struct Engine {
    uint64_t clock = 0;
    uint64_t life = 0;  // distinguishes restarts of the same node
    bool working = false;
    bool begun = false;
    bool stopped = false;
    bool late = false;  // its step ended while it was suspended
    double ready = 0;   // start of its wait
  };
  void on_aggregate(NodeId node, const Aggregate& known);
  void finish(NodeId node, uint64_t life);
  void check();

  double work_;
  Rng rng_;
  std::map<NodeId, Engine> engines_;
  std::function<int(NodeId)> side_ = [](NodeId) { return 0; };
  uint64_t lives_ = 0;
  uint64_t steps_ = 0;
  double longest_wait_ = 0;
  double last_death_ = 0;
  std::string wrong_;
};

}  // namespace actorhost::test
