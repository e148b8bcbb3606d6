#pragma once
// Fully distributed barrier control, as in Wang, Catterall and Mortier 2017: no node knows all clocks, and a node that
// has completed a step decides by what messages tell it. Nodes come, leave and crash. simulate_peers runs it. One
// thread.

#include "host/sim/peer_world.hpp"
#include "host/sim/simulation.hpp"

namespace actorhost {

class PeerSimulation : private PeerWorld {
 public:
  PeerSimulation(const Scenario& scenario, PeerRule& rule, SimWatch* watch);
  Result<SimResult> run();

 private:
  static constexpr uint32_t kJoins = kOthers;
  static constexpr uint32_t kLeaves = kOthers + 1;  // one of the nodes
  static constexpr uint32_t kCrashes = kOthers + 2;
  static constexpr uint32_t kMissed = kOthers + 3;
  static constexpr uint32_t kReturns = kOthers + 4;  // a new node for one that crashed

  void populate();
  NodeId add_node(double now, bool later);
  void handle_membership(const SimEvent& event);
  void crash(NodeId id, double now);
  void remove(NodeId id, double now);

  SimWatch* watch_;
  Rng churn_;
  double now_ = 0;
};

}  // namespace actorhost
