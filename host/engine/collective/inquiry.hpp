#pragma once
// A rank's wait for others that has become long asks whether they will ever come: a member may have ended its script,
// be in an action, or itself wait, over other ranks, for this one. On the node's thread.
//
// The rendezvous host's answer may overtake frames that were sent before it, so nothing is believed at once. That a
// member has ended or is in an action is believed when it is told twice. That ranks wait for each other in a circle is
// believed when each of the others has said twice, since this rank first saw the circle, that it still waits in the
// same call for the same rank.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/cluster/node.hpp"
#include "host/engine/collective/call_clock.hpp"

namespace actorhost {

/// The call in which a rank waits, for messages and for the others. Refers to memory of the waiting rank.
struct WaitingCall {
  std::string_view name;            // "allreduce"
  std::string_view signature;       // "allreduce sum float32[3]"
  std::string_view where;           // the script's line
  std::span<const NodeId> ids;      // of the members
  std::span<const uint32_t> ranks;  // of the members
};

class Inquiry {
 public:
  /// `number` tells the node's waits apart. One whose clock is limited ends by itself, so no rank is stuck behind it.
  Inquiry(Node& node, const WaitingCall& call, uint32_t number, CallClock& clock)
      : node_(node), call_(call), number_(number), clock_(clock) {}

  /// When the clock `looks`. `absent`: places of those that have not come. An error (Code::mismatch, or the run's) ends
  /// the wait.
  Status look(const std::vector<uint32_t>& absent);

 private:
  struct Link {
    NodeId id;
    uint32_t number;  // of its wait
    uint32_t told;

    bool same_wait(const Link& other) const noexcept { return id == other.id && number == other.number; }
  };

  void log_long_wait(const std::vector<uint32_t>& absent);
  Status judge(const std::vector<Whereabouts>& list, const std::vector<uint32_t>& absent) const;
  std::vector<Link> find_circle(const std::vector<Whereabouts>& list, const std::vector<NodeId>& absent) const;
  Status judge_circle(const std::vector<Whereabouts>& list, const std::vector<NodeId>& absent);
  std::string call_text() const;
  std::string rank_text(NodeId id) const;

  Node& node_;
  const WaitingCall call_;
  const uint32_t number_;
  CallClock& clock_;
  bool astray_ = false;
  bool logged_ = false;
  std::vector<Link> circle_;  // as first seen: from this rank's absent one to the last, which waits for this rank
};

}  // namespace actorhost
