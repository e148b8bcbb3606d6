#pragma once
// Simulates fully distributed barrier control (Wang, Catterall and Mortier 2017). No node knows all clocks: after a
// step a node decides from received messages. Nodes join, leave and crash. Used by simulate_peers. One thread; run
// blocks.

#include "host/sim/peer_world.hpp"
#include "host/sim/simulation.hpp"

namespace actorhost {

class PeerSimulation : private PeerWorld {
 public:
  PeerSimulation(const Scenario& scenario, PeerRule& rule, SimWatch* watch);
  Result<SimResult> run();

 private:
  static constexpr uint32_t kJoins = kOthers;
  static constexpr uint32_t kLeaves = kOthers + 1;  // a random node
  static constexpr uint32_t kCrashes = kOthers + 2;
  static constexpr uint32_t kMissed = kOthers + 3;
  static constexpr uint32_t kReturns = kOthers + 4;  // a new node replaces a crashed node

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
