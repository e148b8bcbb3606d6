#pragma once
// Checks during a long wait whether the awaited ranks will ever arrive. A member may have ended its script, be in an
// action, or wait for this rank itself, directly or through other ranks. Used by the node's thread.
//
// The coordinator's reply may overtake earlier frames, so a `StallInspector` acts only on confirmed reports. Two
// consecutive reports must show that a member has ended or is in an action. In a cycle of waiting ranks, every other
// rank must report its unchanged wait twice after this rank has first seen the cycle. The waits must be in calls of
// different sequences: in one sequence a script cannot cause a cycle, but a broken link can.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/cluster/node.hpp"
#include "host/engine/collective/call.hpp"
#include "host/engine/collective/call_clock.hpp"

namespace actorhost {

/// The call that a rank waits in, for messages and for reports to the coordinator. Refers to memory of the waiting
/// rank.
struct WaitingCall {
  std::string_view name;            // "allreduce"
  std::string_view signature;       // "allreduce sum float32[3]"
  std::string_view where;           // the script's line
  std::span<const NodeId> ids;      // of the members
  std::span<const uint32_t> ranks;  // of the members
  uint64_t sequence;                // of the blocking or the asynchronous calls of the group
};

/// The number of the blocking or the asynchronous calls of a group.
inline uint64_t sequence_of(uint32_t group, bool asynchronous) noexcept {
  return 2 * uint64_t{group} + (asynchronous ? 1 : 0);
}

/// A blocking call of a group with this number. Refers to the arguments.
inline WaitingCall waiting_call(const CallSpec& spec, const CallGroup& group, uint32_t number) {
  return {spec.name, spec.signature, spec.where, group.ids, group.ranks, sequence_of(number, false)};
}

class StallInspector {
 public:
  /// `number` identifies this wait among the node's waits. A wait with a timeout ends by itself, so it is not reported
  /// and takes part in no cycle.
  StallInspector(Node& node, const WaitingCall& call, uint32_t number, CallClock& clock)
      : node_(node), call_(call), number_(number), clock_(clock) {}

  /// To be called when `CallClock::check_due` holds. Asks the coordinator where the other workers are. `absent`: places
  /// of the missing members. An error (Code::mismatch, or the run's error) ends the wait.
  Status check(const std::vector<uint32_t>& absent);

 private:
  struct CycleRank {
    NodeId id;
    uint32_t number;   // of the rank's wait
    uint32_t reports;  // how often the rank has reported this wait

    bool same_wait(const CycleRank& other) const noexcept { return id == other.id && number == other.number; }
  };

  void log_long_wait(const std::vector<uint32_t>& absent);
  Status check_reports(const std::vector<Whereabouts>& list, const std::vector<uint32_t>& absent) const;
  std::vector<CycleRank> find_cycle(const std::vector<Whereabouts>& list, const std::vector<NodeId>& absent) const;
  Status check_cycle(const std::vector<Whereabouts>& list, const std::vector<NodeId>& absent);
  std::string call_text() const;
  std::string rank_text(NodeId id) const;

  Node& node_;
  const WaitingCall call_;
  const uint32_t number_;
  CallClock& clock_;
  bool suspected_ = false;
  bool logged_ = false;
  /// As first seen: begins with a rank absent here and ends with a rank that waits for this rank.
  std::vector<CycleRank> cycle_;
};

}  // namespace actorhost
