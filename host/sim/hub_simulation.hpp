#pragma once
// Simulates nodes around a hub that knows all clocks: a central oracle, or a parameter server with shards. A node
// works, and its update travels to the hub (delay, loss, queues of the shards). The hub counts the step and runs the
// barrier. Nodes that pass receive the model and work again. Used by simulate_hub. One thread; run blocks.

#include <memory>
#include <vector>

#include "host/sim/event_queue.hpp"
#include "host/sim/run_record.hpp"
#include "host/sim/simulation.hpp"
#include "host/sim/work_times.hpp"

namespace actorhost {

class HubSimulation {
 public:
  HubSimulation(const Scenario& scenario, const MakeAdmission& admission, SimWatch* watch);
  Result<SimResult> run();

 private:
  enum class Kind : uint32_t {
    finished,  // a node has done its work
    arrived,   // an update is at the hub, or its part is at a shard
    merged,    // a shard has applied its part of an update
    released,  // the model is at the node
    joins,
    leaves,   // a random node
    departs,  // the event's node
    crashes,
    suspected,
    missed,
    returns  // a new node replaces a crashed node
  };
  using State = RunRecord::State;

  void push(double time, uint32_t node, Kind kind) { queue_.push(time, node, static_cast<uint32_t>(kind)); }
  void populate();
  NodeId add_node(double now, bool starts);
  void begin(NodeId id, double now);
  void start(NodeId id, double now);
  void finish(NodeId id, double now);
  void send(NodeId id, double now, Kind kind, uint32_t direction);
  void apply(NodeId id, double now);
  void release(NodeId id, double now);
  void remove(NodeId id, double now, bool crashed);
  SimEvent take_event();
  void handle(const SimEvent& event);
  void handle_membership(const SimEvent& event, Kind kind);
  double service_time(StepRng& rng);
  Status decide(double now);

  const Scenario& scenario_;
  SimWatch* watch_;
  bool direct_;  // no message takes time
  WorkTimes work_;
  RunRecord record_;
  std::unique_ptr<Admission> admission_;
  EventQueue queue_;
  std::vector<uint32_t> parts_;    // by id: parts of its message still in flight
  std::vector<double> shard_in_;   // by shard: when its queue of updates is empty
  std::vector<double> shard_out_;  // by shard: when its queue of models is empty
  Rng churn_;
  std::vector<NodeId> passed_;
  double now_ = 0;
};

}  // namespace actorhost
