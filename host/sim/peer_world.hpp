#pragma once
// The environment of simulated peers: nodes that work and crash, messages with delay and loss, and the rule. Starts no
// step by itself; a PeerProtocol does. Owned by a PeerSimulation. One thread.

#include <memory>
#include <optional>
#include <vector>

#include "host/base/random.hpp"
#include "host/sim/event_queue.hpp"
#include "host/sim/peer_protocol.hpp"
#include "host/sim/peer_rule.hpp"
#include "host/sim/run_record.hpp"
#include "host/sim/work_times.hpp"

namespace actorhost {

class PeerWorld {
 public:
  using State = RunRecord::State;

  /// Both must outlive it.
  PeerWorld(const Scenario& scenario, PeerRule& rule);

  // For protocols.

  const Scenario& scenario() const noexcept { return scenario_; }
  PeerRule& rule() const noexcept { return rule_; }
  const Clocks& clocks() const noexcept { return record_.clocks(); }
  /// Neither crashed nor departed.
  bool up(NodeId id) const noexcept { return record_.node(id).state < State::down; }
  /// Has completed its step and does not have permission for the next step yet.
  bool held(NodeId id) const noexcept { return up(id) && record_.node(id).state != State::working; }
  PeerState state(NodeId id) const noexcept;

  /// Sends a message at `time`, and sets `time` to the arrival time. False when the message is lost.
  bool try_send(double& time);
  /// Sends a message until a try arrives; returns the arrival time.
  double send(double now);
  /// Counts messages that take no simulated time.
  void count_messages(uint32_t count) noexcept { record_.result().messages += count; }
  /// Delivers the message to the protocol at `time`: within this call when `time` is `now`.
  void deliver(double time, double now, const PeerMessage& message);
  /// Calls the protocol's woken at `time`.
  void wake(double time, NodeId id) { queue_.push(time, id, kWake); }
  /// The node is held and waits for messages in flight.
  void await_messages(NodeId id, double now) { record_.enter(id, State::travelling, now); }
  /// Runs the rule. A node that passes starts its next step. Otherwise returns the seconds until the rule must run
  /// again. `seen` and `lowest` as in PeerView; the caller sets one of them.
  std::optional<double> decide(NodeId id, std::span<const PeerState> seen, int32_t lowest, double now);
  void start(NodeId id, double now);

 protected:
  static constexpr uint32_t kMessage = 0;  // tags of the queue; the event's node is the message's index in messages_
  static constexpr uint32_t kWake = 1;
  static constexpr uint32_t kFinished = 2;  // a node has done its work
  static constexpr uint32_t kOthers = 3;    // first tag of the owner

  /// Sets the protocol; required before any event.
  void use(std::unique_ptr<PeerProtocol> protocol) { protocol_ = std::move(protocol); }
  PeerProtocol& protocol() noexcept { return *protocol_; }
  NodeId add(int32_t step, double now);
  /// Handles an event with one of the first three tags.
  void handle(const SimEvent& event);

  const Scenario& scenario_;
  PeerRule& rule_;
  RunRecord record_;
  EventQueue queue_;
  Status failure_;  // of the rule

 private:
  /// The times of a node's steps that it sends to other nodes.
  struct Pace {
    double requested_at = 0;  // when it completed its last step
    double begun = 0;         // when it began its latest step
    double duration = 0;      // seconds of its last completed step
    double average = 0;       // Progress::averaged
  };
  void complete(NodeId id, double now);

  std::vector<Pace> paces_;  // by id
  std::unique_ptr<PeerProtocol> protocol_;
  WorkTimes work_;
  Rng network_;
  std::vector<PeerMessage> messages_;  // in flight
  std::vector<uint32_t> free_;         // free indices of messages_
};

}  // namespace actorhost
