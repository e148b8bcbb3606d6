#pragma once
// Records the states, clocks, progress and inconsistency of simulated nodes over time, for SimResult. Makes no
// decisions. Owned by a simulation; one thread. The functions called at each step are inline.

#include <vector>

#include "host/sim/clocks.hpp"
#include "host/sim/measures.hpp"
#include "host/sim/scenario.hpp"

namespace actorhost {

class RunRecord {
 public:
  enum class State : uint8_t {
    working,
    travelling,  // waits for messages in flight
    waiting,     // held by the rule
    down,        // crashed, and not removed yet
    departed
  };
  struct Node {
    double since = 0;  // start of the state
    double busy = 0;
    uint64_t version = 0;  // updates in the model when the node pulled the model
    int32_t base = 0;      // its clock when it joined
    uint32_t started = 0;  // steps since it joined
    State state = State::waiting;
  };

  /// `scenario` must outlive it.
  explicit RunRecord(const Scenario& scenario) : scenario_(scenario) {}

  /// The node's first model is the current model.
  NodeId add(int32_t step, double now);
  void remove(NodeId id, double now);
  void enter(NodeId id, State state, double now) {
    Node& node = nodes_[id];
    const double seconds = now - node.since;
    switch (node.state) {
      case State::working:
        node.busy += seconds;
        result_.busy += seconds;
        break;
      case State::travelling: result_.network += seconds; break;
      case State::waiting: result_.waiting += seconds; break;
      case State::down: result_.down += seconds; break;
      case State::departed: break;
    }
    node.state = state;
    node.since = now;
  }
  /// The node's next step uses the current model.
  void pull(NodeId id, double now) {
    nodes_[id].version = result_.updates;
    trace(SimTraceEvent::Kind::release, id, now);
  }
  /// Starts a step; returns its index among the node's own steps.
  uint32_t start(NodeId id, double now) {
    enter(id, State::working, now);
    if (pulls_++ >= next_sequence_) measure_sequence(id);
    trace(SimTraceEvent::Kind::start, id, now);
    result_.last_progress = now;
    return nodes_[id].started++;
  }
  /// The node has done its work; its update may still have to travel.
  void finish_work(NodeId id, double now) { trace(SimTraceEvent::Kind::finish, id, now); }
  /// Completes the step: the model includes the update, and the node waits, unless it has crashed meanwhile.
  void apply(NodeId id, double now) {
    Node& node = nodes_[id];
    if (node.state != State::down) enter(id, State::waiting, now);
    result_.last_progress = now;
    staleness_.add(static_cast<double>(result_.updates++ - node.version));
    clocks_.advance(id);
    trace(SimTraceEvent::Kind::apply, id, now);
  }
  /// Records the progress up to `time`. Call before the events of `time`.
  void record_progress(double time) {
    while (time >= next_point_) add_point();
  }
  /// Ends the record; call once.
  SimResult finish(double ended);
  /// The error when all nodes wait without end; the message names them. `idle` lists the missing events: "no node
  /// works and no re-check is due".
  Error deadlock(double now, const char* idle) const;

  const Clocks& clocks() const noexcept { return clocks_; }
  const Node& node(NodeId id) const noexcept { return nodes_[id]; }
  /// Prefetches the memory that an event of the node will need.
  void fetch(NodeId id) const noexcept {
    __builtin_prefetch(&nodes_[id]);
    __builtin_prefetch(&nodes_[id].state);  // half of the time in the next cache line
    clocks_.fetch(id);
  }
  uint32_t ids() const noexcept { return static_cast<uint32_t>(nodes_.size()); }
  SimResult& result() noexcept { return result_; }

 private:
  void measure_sequence(NodeId puller);
  void add_point();
  void trace(SimTraceEvent::Kind kind, NodeId id, double now) {
    if (scenario_.trace) result_.trace.push_back({kind, id, clocks_.step(id), now});
  }
  void sum_up_steps();

  const Scenario& scenario_;
  Clocks clocks_;
  std::vector<Node> nodes_;  // by id
  SimResult result_;
  MomentSums staleness_;
  MomentSums sequence_;
  uint64_t pulls_ = 0;
  uint64_t next_sequence_ = 0;  // number of the next measured pull
  uint32_t point_ = 0;          // index of the next point of result_.progress
  double next_point_ = 0;       // time of the next point
};

}  // namespace actorhost
