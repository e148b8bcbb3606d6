#pragma once
// Makes a worker's collectives, on the worker's own thread. It numbers the calls of each group, finds the group's live
// members, and drives a call to its end: in shared memory if all members are in this process, otherwise over frames.
// The node's CollectiveEngine owns it. Calls block as declared.
//
// A call that loses a member fails on all members with Code::peer_lost ("allreduce: rank 2 lost"). After a loss between
// two calls the next call fails in the same way, unless the script already knows of the loss: by an action after the
// loss, or by an asynchronous call that failed with the loss. The remaining members make the call after that. A failed
// call does not change its inputs and does not affect later calls.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/cluster/node.hpp"
#include "host/engine/collective/arbiter.hpp"
#include "host/engine/collective/async_calls.hpp"
#include "host/engine/collective/call.hpp"
#include "host/engine/collective/late_joiners.hpp"
#include "host/engine/collective/loss_ledger.hpp"
#include "host/engine/collective/meeting.hpp"
#include "host/engine/collective/stall_inspector.hpp"

namespace actorhost {

/// A group of workers that make the same collectives: all workers, or a named group. Each rank has its own object.
struct CollectiveGroup {
  std::string name{};                  // empty: the group of all workers
  std::vector<NodeId> ids{};           // of a named group, increasing
  uint32_t id = 0;                     // identifies the group in frames
  uint32_t async_calls = 0;            // number of started asynchronous calls
  uint32_t calls = 0;                  // number of blocking calls
  LossLedger losses{};                 // of its members
  std::vector<NodeId> called{};        // members of the last call; empty: no call yet, or the last call reported a loss
  std::shared_ptr<Meeting> meeting{};  // of `called`, if all are in this process; these members share it
  std::vector<std::shared_ptr<AsyncCall>> in_flight{};  // asynchronous calls, also ended ones; shared with the courier
  std::map<NodeId, std::string> lines{};                // script line of each member's last call, for messages
  // Statistics of this rank's successful calls.
  uint64_t succeeded = 0;
  uint64_t bytes_sent = 0;
};

class Collectives {
 public:
  /// `arbiter` is the arbiter of the node's process.
  Collectives(Node& node, Meetings& meetings, Arbiter& arbiter);

  CollectiveGroup& all_workers() noexcept { return all_workers_; }
  /// The caller is a console's chunk that runs only on this node.
  bool alone() const noexcept { return node_.in_chunk(); }
  /// Restarts the numbers of the group's calls under a new id, derived from its name and `restarts`, after ranks have
  /// left calls at different places.
  void restart(CollectiveGroup& group, uint32_t restarts);
  /// The live members of a group in the newest membership: a script's `root` and the places of results index this list.
  std::vector<NodeId> members_of(const CollectiveGroup& group);
  /// All workers by the ranks that the script knows, for the members of a new group.
  std::vector<NodeId> workers_by_rank();

  struct Placing {
    std::optional<uint32_t> place;  // place of this rank, if it is a live member
    uint32_t places = 0;            // number of live members
    /// "rank 2 lost": the next call fails with this loss, whatever its arguments are.
    std::string unreported_loss;
  };
  /// Fixes the live members for the arguments of the next call, if these depend on places (a root, a value for each
  /// rank). The caller then marks the call CallSpec::placed.
  Result<Placing> place(CollectiveGroup& group);

  /// Makes a call and blocks until it ends. `timeout` in seconds; after the timeout the leader has CallClock's time to
  /// name the missing ranks.
  Result<CallResult> run(CollectiveGroup& group, CallSpec spec, double timeout = kForever);
  /// Starts an asynchronous call and returns at once, except that a late worker first waits for its admission. The
  /// input must not change until the call is done.
  Result<std::shared_ptr<AsyncCall>> start(CollectiveGroup& group, CallSpec spec, AsyncCalls& calls,
                                           double timeout = kForever);
  /// A call of all workers that admits the waiting late workers, in id order. Returns their number. The first
  /// collective of a late worker waits for the other workers' join_point, and then takes part in the call that follows
  /// it. If this first collective is itself a join_point, it matches the other workers' current join_point.
  Result<uint32_t> join_point(CallSpec spec, double timeout = kForever);
  /// Blocks until the call is done, for up to `seconds`. After Code::timeout the call continues. Only the first
  /// successful `wait` returns the result.
  Result<CallResult> wait(AsyncCalls& calls, const std::shared_ptr<AsyncCall>& call, double seconds);

 private:
  struct Live {
    std::vector<NodeId> before;  // members of the last call, where they differ
    CallGroup group;
    CallClock clock{};
  };

  /// Blocks until this worker is admitted, if it is a late worker. Returns the number of workers admitted with it.
  Result<uint32_t> ensure_admitted();
  Status admit(const JoinPoint& point);

  /// The live members in the node's present snapshot of the membership.
  std::vector<NodeId> members_in_snapshot(const CollectiveGroup& group) const;
  Result<Live> snapshot(const CollectiveGroup& group, const std::string& name);
  /// `snapshot` for a call that begins now; marks the call as stale if it has to report a loss.
  Result<Live> enter(CollectiveGroup& group, CallSpec& spec, double timeout);
  Status collect_async_losses(CollectiveGroup& group);
  Status drop_leftovers(const CollectiveGroup& group);
  Meeting& meeting_of(CollectiveGroup& group, const Live& live);
  Result<CallResult> meet(CollectiveGroup& group, Live& live, const CallSpec& spec, std::vector<Frame>& strays);
  Result<CallResult> call(CollectiveGroup& group, const Live& live, CallSpec spec, std::vector<Frame> early);
  Status drive(CollectiveCall& call, const CollectiveGroup& group, const Live& live, std::vector<Frame> frames);
  Status take_frames(CollectiveCall& call, const CollectiveGroup& group, const Live& live, std::vector<Frame>& frames);
  void appeal_for_late(const CollectiveGroup& group, const Frame& frame);
  /// This rank's appeal for the group's present call.
  Arbiter::Appeal appeal(const CollectiveGroup& group, const Live& live, const Error& error) const;
  Status send(const CollectiveGroup& group, NodeId to, Kind kind, std::string_view meta, Blob body, double until);
  /// Waits until this rank learns an event that another rank knows: until `there` returns true, for up to
  /// CallClock::kMaxPropagation.
  Status wait_until_known(const std::function<bool()>& there);
  /// After a loss: waits until this rank has the new membership, so its next call includes only the remaining members.
  Status catch_up(uint64_t epoch);
  Result<CallResult> fail_alone(CollectiveGroup& group, const Live& live, const Error& error);
  Port::Match match(const CollectiveGroup& group) const;

  Node& node_;
  Meetings& meetings_;
  Arbiter& arbiter_;
  CollectiveGroup all_workers_;
  uint32_t waits_ = 0;  // numbers the waits
  LateJoiners late_joiners_;
  ChoiceLog choices_;
};

}  // namespace actorhost
