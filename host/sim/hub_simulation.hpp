#pragma once
// Nodes around a hub that knows all clocks: the central oracle, and the parameter server with its shards. A node works;
// its update travels to the hub (delay, loss, the shards' queues), which counts the step and asks the barrier; those
// who pass get the model back and work again. What simulate_hub runs; one thread.

#include <memory>
#include <string>
#include <vector>

#include "host/sim/event_queue.hpp"
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
    leaves,   // somebody
    departs,  // that node
    crashes,
    suspected,
    missed,
    returns  // a new node for one that crashed
  };
  enum class State : uint8_t { working, travelling, waiting, down, gone };
  struct Node {
    double since = 0;  // of the state
    double busy = 0;
    uint64_t version = 0;  // updates that the model had when it was pulled
    int32_t base = 0;      // its clock when it came
    uint32_t started = 0;  // steps since
    uint32_t parts = 0;    // of its message that are still under way
    State state = State::waiting;
  };

  void push(double time, uint32_t node, Kind kind) { queue_.push(time, node, static_cast<uint32_t>(kind)); }
  void populate();
  NodeId add_node(double now, bool starts);
  void begin(NodeId id, double now);
  void start(NodeId id, double now);
  void finish(NodeId id, double now);
  void send(NodeId id, double now, Kind kind, uint32_t direction);
  void arrive(NodeId id, double now);
  void apply(NodeId id, double now);
  void release(NodeId id, double now);
  void remove(NodeId id, double now, bool crashed);
  SimEvent take_event();
  void handle(const SimEvent& event);
  void handle_membership(const SimEvent& event, Kind kind);
  void enter(Node& node, State state, double now);
  double service_time(StepRng& rng);
  void measure_sequence(NodeId puller);
  void note_progress(double time);
  void add_point();
  void trace(SimTraceEvent::Kind kind, NodeId id, double now);
  Status decide(double now);
  Error deadlock(double now) const;
  SimResult finish_result();

  const Scenario& scenario_;
  SimWatch* watch_;
  bool direct_;  // no message takes time
  WorkTimes work_;
  Clocks clocks_;
  std::unique_ptr<Admission> admission_;
  EventQueue queue_;
  std::vector<Node> nodes_;
  std::vector<double> shard_in_;   // by shard: when its queue of updates is empty
  std::vector<double> shard_out_;  // and that of models
  Rng churn_;
  std::vector<NodeId> passed_;
  SimResult result_;
  MomentSums staleness_;
  MomentSums sequence_;
  uint64_t pulls_ = 0;
  uint64_t next_sequence_ = 0;  // the pull at which the sequence is measured next
  uint32_t point_ = 0;          // of result_.progress
  double now_ = 0;
};

}  // namespace actorhost
