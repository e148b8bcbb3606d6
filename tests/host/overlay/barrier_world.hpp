#pragma once
// Nodes of an overlay that run steps of random lengths under BSP, each by its own Aggregate, on virtual time; and an
// oracle that holds what they believe against all clocks after each event.

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
  /// Its process runs no longer, but what is sent to it is kept.
  void stop(NodeId node);
  /// Notices the time first, then what was sent to it meanwhile.
  void go_on(NodeId node);
  void run(double seconds);
  /// Until all nodes that have joined are included and have begun a step; false if that takes longer than `seconds`.
  bool settle(double seconds);

  /// Only nodes of one side are compared, and those of side -1 with nobody.
  void set_sides(std::function<int(NodeId)> side) { side_ = std::move(side); }
  /// The first wrong belief; empty.
  const std::string& wrong() const noexcept { return wrong_; }
  uint64_t steps() const noexcept { return steps_; }
  /// The longest that a node had to wait between two steps since the last call, without what was before the last death.
  double longest_wait() { return std::exchange(longest_wait_, 0); }
  TreeTraffic traffic() const;
  size_t included() const;
  /// Of the tree over all nodes: that of the root is 0.
  uint32_t depth() const;
  /// Of those that have joined.
  uint64_t least_clock() const;
  /// One that has joined.
  NodeId contact();

  OverlayWorld world;

 private:
  struct Engine {
    uint64_t clock = 0;
    uint64_t life = 0;  // tells it from an earlier one of the same node
    bool working = false;
    bool begun = false;
    bool stopped = false;
    bool late = false;  // its step is over, which nobody has noticed
    double ready = 0;   // since when it waits
  };
  void hear(NodeId node, const Aggregate& news);
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
