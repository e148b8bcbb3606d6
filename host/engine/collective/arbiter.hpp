#pragma once
// Ends calls that their leader cannot end: because the leader is lost, or because it does not answer a rank that has to
// give up. Each process has one Arbiter, on the courier's thread, so it answers also while the ranks compute in Lua.
// README.md ("How a call ends") has the protocol, NOTES.md says why all ranks come to the same end.
//
// The arbiter of a call is the process of its lowest living rank. It asks the processes of all living ranks. A process
// that answers for an undecided rank promises that the rank accepts no lower ballot from then on. If any rank has
// decided, its decision is the verdict; else the call has failed. When an arbiter is lost, the next one asks again.

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
    std::function<void(ProcessId to, Kind kind, const std::string& meta, Blob body)>
        send;                                         // to another process's arbiter
    std::function<MembershipPtr()> membership;        // the newest
    std::function<void(std::function<void()>)> post;  // has it called on the arbiter's thread
    /// Told of senders whose frames cannot be read; may be empty.
    std::function<void(Address, Kind, const Error&)> distrust = {};
  };
  /// A call of which a rank needs an end.
  struct Appeal {
    CallKey call;
    NodeId rank = 0;
    std::vector<NodeId> members{};  // of the call, as the rank sees it
    Error error{};                  // how it ends if no rank has decided it
  };

  explicit Arbiter(Wiring wiring) : wiring_(std::move(wiring)) {}
  /// On a process's courier, whose task it becomes.
  explicit Arbiter(ServiceThread& courier);

  CallLedger& ledger() noexcept { return ledger_; }
  /// Any thread. Some time later the ledger has a verdict for the rank, whichever ranks are lost meanwhile.
  void appeal(Appeal appeal);

  void on_frame(Frame&& frame, double now) override;
  void on_membership(const MembershipPtr& membership, double now) override;

 private:
  struct Waiting {
    Appeal appeal;
    uint64_t epoch = 0;  // of what the rank's process knew
    std::optional<ProcessId> sent_to{};
  };
  struct Case {
    uint64_t ballot = 0;
    std::set<NodeId> members;
    std::map<NodeId, std::optional<Verdict>> answers;
    Error error;
  };

  Status take(Frame& frame);
  std::optional<NodeId> lowest_of(const std::vector<NodeId>& members) const;
  ProcessId home_of(NodeId rank) const;
  void look_at_appeals();
  bool pass_on(Waiting& waiting);
  void open(const Appeal& appeal);
  void ask(const CallKey& call, Case& it, NodeId rank);
  void look_at_cases();
  bool all_have_answered(const Case& it) const;
  void close(const CallKey& call, const Case& it);

  const Wiring wiring_;
  CallLedger ledger_;
  std::vector<Waiting> appeals_;  // of this process's ranks and others', until they are served
  std::map<CallKey, Case> cases_;
};

}  // namespace actorhost
