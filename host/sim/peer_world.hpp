#pragma once
// The world of the peers: nodes that work and crash, messages that take time and get lost, and the rule. It lets no
// node go on by itself; a PeerProtocol does that, as its methods say. Owned by a PeerSimulation; one thread.

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
  /// Neither crashed nor gone.
  bool up(NodeId id) const noexcept { return record_.node(id).state < State::down; }
  /// Has completed its step and may not go on yet.
  bool held(NodeId id) const noexcept { return up(id) && record_.node(id).state != State::working; }
  PeerState state(NodeId id) const noexcept;

  /// Sends a message at `time`, which becomes the time of its arrival. False when it gets lost.
  bool try_send(double& time);
  /// Sends a message again and again until it arrives; returns when.
  double send(double now);
  /// Messages that take no time.
  void count_messages(uint32_t count) noexcept { record_.result().messages += count; }
  /// Lets the protocol have the message at `time`: within this call, when that is now.
  void deliver(double time, double now, const PeerMessage& message);
  /// Calls woken then.
  void wake(double time, NodeId id) { queue_.push(time, id, kWake); }
  /// The node is held, and waits for messages that are under way.
  void asks(NodeId id, double now) { record_.enter(id, State::travelling, now); }
  /// Asks the rule. A node that passes starts its next step; else returns the seconds until the rule wants to be asked
  /// again. `seen` or `lowest`, as PeerView has them.
  std::optional<double> decide(NodeId id, std::span<const PeerState> seen, int32_t lowest, double now);
  void start(NodeId id, double now);

 protected:
  static constexpr uint32_t kMessage = 0;  // tags of the queue; the event's node is the message's place in messages_
  static constexpr uint32_t kWake = 1;
  static constexpr uint32_t kFinished = 2;  // a node's work
  static constexpr uint32_t kOthers = 3;    // from here on, the owner's

  /// The protocol, which must be set before anything happens.
  void use(std::unique_ptr<PeerProtocol> protocol) { protocol_ = std::move(protocol); }
  PeerProtocol& protocol() noexcept { return *protocol_; }
  NodeId add(int32_t step, double now);
  /// An event of one of the first three tags.
  void handle(const SimEvent& event);

  const Scenario& scenario_;
  PeerRule& rule_;
  RunRecord record_;
  EventQueue queue_;
  Status failure_;  // of the rule

 private:
  /// What a node tells others of its steps.
  struct Pace {
    double asked = 0;     // when it completed its last step
    double begun = 0;     // when it began it
    double duration = 0;  // seconds that it took, when it is complete
    double average = 0;   // Progress::averaged
  };
  void complete(NodeId id, double now);

  std::vector<Pace> paces_;  // by id
  std::unique_ptr<PeerProtocol> protocol_;
  WorkTimes work_;
  Rng network_;
  std::vector<PeerMessage> messages_;  // under way
  std::vector<uint32_t> free_;         // places of messages_
};

}  // namespace actorhost
