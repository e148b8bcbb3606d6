#pragma once
// Nodes around a hub that knows all clocks: the central oracle, and the parameter server with its shards. A node works;
// its update travels to the hub (delay, loss, the shards' queues), which counts the step and asks the barrier; nodes
// that pass get the model and work again. simulate_hub runs it; one thread.

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
    finished,  // a node's work
    arrived,   // an update at the hub, or its part at a shard
    merged,    // an update's part in a shard
    released,  // the model at the node
    joins,
    leaves,   // one of the nodes
    departs,  // that node
    crashes,
    suspected,
    missed,
    returns  // a new node for one that crashed
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
  std::vector<uint32_t> parts_;    // by id: of its message that are still under way
  std::vector<double> shard_in_;   // by shard: when its queue of updates is empty
  std::vector<double> shard_out_;  // and that of models
  Rng churn_;
  std::vector<NodeId> passed_;
  double now_ = 0;
};

}  // namespace actorhost
