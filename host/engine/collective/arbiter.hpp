#pragma once
// Ends calls that their leader cannot end, because the leader has failed or does not reply to a rank that must give up.
// Each process has one Arbiter, on the courier's thread, so it replies even while the ranks compute in Lua. README.md
// ("How a call ends") describes the protocol; NOTES.md argues why all ranks reach the same end.
//
// The arbiter of a call is the process of its lowest living rank. It queries the processes of all living ranks. A
// process that replies for an undecided rank promises that the rank accepts no lower ballot. The verdict is the
// decision of any rank, if there is one; otherwise the call fails. If an arbiter fails, the next arbiter repeats
// the query.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "host/cluster/membership.hpp"
#include "host/cluster/service_thread.hpp"
#include "host/engine/collective/arbiter_messages.hpp"

namespace actorhost {

class Arbiter final : public ServiceTask {
 public:
  struct Wiring {
    ProcessId process = 0;
    /// Sends to another process's arbiter.
    std::function<void(ProcessId to, Kind kind, const std::string& meta, Blob body)> send;
    std::function<MembershipPtr()> membership;        // newest membership
    std::function<void(std::function<void()>)> post;  // runs a function on the arbiter's thread
    /// Reports senders of unreadable frames; may be empty.
    std::function<void(Address, Kind, const Error&)> distrust = {};
  };
  /// The request of a rank to end a call.
  struct Appeal {
    CallKey call;
    NodeId rank = 0;
    std::vector<NodeId> members{};  // of the call, as the rank sees them
    Error error{};                  // ends the call if no rank has decided
  };

  explicit Arbiter(Wiring wiring) : wiring_(std::move(wiring)) {}
  /// Registers the arbiter as a task of a process's courier.
  explicit Arbiter(ServiceThread& courier);

  CallLedger& ledger() noexcept { return ledger_; }
  /// Requests a verdict for a rank. Thread-safe, does not block. The ledger receives a verdict for the rank eventually,
  /// whichever other ranks fail.
  void appeal(Appeal appeal);
  /// Queries the processes of `ranks` without a promise, and appeals if one of these ranks has decided the call. For a
  /// leader: the ranks that do not arrive may have ended the call under an earlier leader. Thread-safe, does not block.
  void appeal_if_decided(Appeal appeal, std::vector<NodeId> ranks);

  void on_frame(Frame&& frame, double now) override;
  void on_membership(const MembershipPtr& membership, double now) override;

 private:
  struct Waiting {
    Appeal appeal;
    uint64_t epoch = 0;  // of the membership that the rank's process knew
    std::optional<ProcessId> sent_to{};
  };
  struct Case {
    uint64_t ballot = kNoBallot;
    std::set<NodeId> members;
    std::map<NodeId, std::optional<Verdict>> replies;
    Error error;
  };

  Status take(Frame& frame);
  std::optional<NodeId> lowest_of(const std::vector<NodeId>& members) const;
  ProcessId home_of(NodeId rank) const;
  void add(Appeal appeal, uint64_t epoch);
  void on_unpromised(const CallKey& call, bool decided);
  void process_appeals();
  bool forward(Waiting& waiting);
  void open(const Appeal& appeal);
  void query(const CallKey& call, Case& entry, NodeId rank);
  void check_cases();
  bool all_have_replied(const Case& entry) const;
  void close(const CallKey& call, const Case& entry);

  const Wiring wiring_;
  CallLedger ledger_;
  std::vector<Waiting> appeals_;  // of this and other processes' ranks, until served
  std::map<CallKey, Case> cases_;
  std::map<CallKey, Appeal> conditional_;  // of ranks of this process, until a queried rank has decided
};

}  // namespace actorhost
