#pragma once
// What the nodes of a peer-to-peer simulation do, second by second, and what is counted of it: states, clocks, progress
// and inconsistency, as SimResult has them. Nothing here decides anything. Owned by PeerWorld; one thread.

#include <vector>

#include "host/sim/clocks.hpp"
#include "host/sim/measures.hpp"
#include "host/sim/scenario.hpp"

namespace actorhost {

class PeerRecord {
 public:
  enum class State : uint8_t {
    working,
    asking,   // messages that it waits for are under way
    waiting,  // the rule has held it
    down,     // crashed, and not missed yet
    gone
  };
  struct Node {
    double since = 0;     // of the state
    double asked = 0;     // when it completed its last step
    double begun = 0;     // when it began it
    double duration = 0;  // seconds that it took, when it is complete
    double average = 0;   // Progress::averaged
    double busy = 0;
    uint64_t version = 0;  // updates of all when it began its step
    int32_t base = 0;      // its clock when it came
    uint32_t started = 0;  // steps since
    State state = State::waiting;
  };

  /// `scenario` must outlive it.
  explicit PeerRecord(const Scenario& scenario) : scenario_(scenario) {}

  NodeId add(int32_t step, double now);
  void remove(NodeId id, double now);
  void enter(NodeId id, State state, double now);
  /// Begins a step; returns its number among the node's own.
  uint32_t start(NodeId id, double now);
  /// Completes it; an update of the model that all others see at once.
  void complete(NodeId id, double now);
  /// Notes the progress up to `time`, before what happens then.
  void note_progress(double time);
  /// Ends the record; call once.
  SimResult finish(double ended);
  /// Everybody waits, for ever: says who.
  Error deadlock(double now) const;

  const Clocks& clocks() const noexcept { return clocks_; }
  const Node& node(NodeId id) const noexcept { return nodes_[id]; }
  uint32_t ids() const noexcept { return static_cast<uint32_t>(nodes_.size()); }
  SimResult& result() noexcept { return result_; }

 private:
  void measure_sequence(NodeId puller);
  void add_point();
  void trace(SimTraceEvent::Kind kind, NodeId id, double now);
  void sum_up_steps();

  const Scenario& scenario_;
  Clocks clocks_;
  std::vector<Node> nodes_;  // by id
  SimResult result_;
  MomentSums staleness_;
  MomentSums sequence_;
  uint64_t pulls_ = 0;
  uint64_t next_sequence_ = 0;  // the pull at which the sequence is measured next
  uint32_t point_ = 0;          // of result_.progress
};

}  // namespace actorhost
