#pragma once
// A worker's blocking collectives, on the worker's own thread. Numbers the calls of each group, finds the group's live
// members, and drives a call to its end: in shared memory where all members are in this process, otherwise over frames.
//
// A call that loses a member fails on all members with Code::peer_lost ("allreduce: rank 2 lost"). The first call after
// a loss fails in the same way, unless an action lies between or an asynchronous call has failed with that loss. The
// remaining members make the next call. A failed call does not change its inputs and does not affect later calls.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/cluster/node.hpp"
#include "host/engine/collective/arbiter.hpp"
#include "host/engine/collective/async_calls.hpp"
#include "host/engine/collective/call.hpp"
#include "host/engine/collective/loss_ledger.hpp"
#include "host/engine/collective/meeting.hpp"
#include "host/engine/collective/stall_inspector.hpp"

namespace actorhost {

/// A group of workers that make the same collectives: all workers, or a named group. One object per rank.
struct CollectiveGroup {
  std::string name{};                  // empty: the group of all workers
  std::vector<NodeId> ids{};           // of a named group, increasing
  uint32_t id = 0;                     // identifies the group in frames
  uint32_t async_calls = 0;            // started so far
  uint32_t calls = 0;                  // made so far
  LossLedger losses{};                 // of its members
  std::vector<NodeId> called{};        // members of the last call; empty: no call yet, or the last call reported a loss
  std::shared_ptr<Meeting> meeting{};  // of `called`, where they all are in this process; shared by them
  std::vector<std::shared_ptr<AsyncCall>> in_flight{};  // asynchronous calls, maybe finished; shared with the courier
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
  /// The caller is a chunk that runs on this node alone.
  bool alone() const noexcept { return node_.in_chunk(); }
  /// Restarts the numbers of the group's calls under a new id, derived from its name and `restarts`, after ranks have
  /// left calls at different places.
  void restart(CollectiveGroup& group, uint32_t restarts);
  /// The live members of a group in the newest membership: a script's `root` and the places of results index this list.
  std::vector<NodeId> members_of(const CollectiveGroup& group);

  struct Placing {
    std::optional<uint32_t> place;  // place of this rank, if it is a live member
    uint32_t places = 0;
    /// "rank 2 lost": the next call can only fail with this loss, whatever its arguments are.
    std::string unreported_loss;
  };
  /// The members that the arguments of the next call, marked CallSpec::placed, have to suit.
  Result<Placing> place(CollectiveGroup& group);

  /// Makes a call and blocks until it ends. `timeout` in seconds; after it, the leader has a moment to name the missing
  /// ranks.
  Result<CallResult> run(CollectiveGroup& group, CallSpec spec, double timeout = kForever);
  /// Starts an asynchronous call and returns at once. Nothing may write the input until the call is done.
  Result<std::shared_ptr<AsyncCall>> start(CollectiveGroup& group, CallSpec spec, AsyncCalls& calls,
                                           double timeout = kForever);
  /// A call of all workers that admits, in id order, the late workers that wait for it. Returns their number. The first
  /// collective of a late worker, whichever it is, first waits for the others' join_point. Its call is then the next
  /// call of all workers, unless it is a join_point itself, which matches the others' current join_point.
  Result<uint32_t> join_point(CallSpec spec, double timeout = kForever);
  /// Blocks until the call is done, for up to `seconds`; after Code::timeout the call continues. Returns the result
  /// once.
  Result<CallResult> wait(AsyncCalls& calls, const std::shared_ptr<AsyncCall>& call, double seconds);

 private:
  struct Live {
    std::vector<NodeId> before;  // members of the last call, where they differ
    CallGroup group;
    CallClock clock{};
  };

  bool needs_admission() const noexcept { return node_.role() == Role::worker && node_.index() >= joined_; }
  /// Blocks until this worker is admitted, if it is a late worker.
  Status ensure_admitted() { return needs_admission() ? wait_for_admission() : Status(); }
  Status wait_for_admission();
  Status check_for_end(const std::string& subject, bool& ended_before);
  Status adopt_join_point(const JoinPoint& point);
  Result<std::vector<NodeId>> collect_joiners();
  Status admit(const JoinPoint& point);

  Result<Live> snapshot(const CollectiveGroup& group, const std::string& name);
  /// `snapshot` for a call that is made or started now; marks the call as stale if it has to report a loss.
  Result<Live> enter(CollectiveGroup& group, CallSpec& spec, double timeout);
  Status collect_async_losses(CollectiveGroup& group);
  Status drop_leftovers(const CollectiveGroup& group);
  Meeting& meeting_of(CollectiveGroup& group, const Live& live);
  Result<CallResult> meet(CollectiveGroup& group, Live& live, const CallSpec& spec, std::vector<Frame>& strays);
  Result<CallResult> call(CollectiveGroup& group, const Live& live, CallSpec spec, std::vector<Frame> early);
  Status drive(CollectiveCall& call, const CollectiveGroup& group, const Live& live, std::vector<Frame> frames);
  Status take_frames(CollectiveCall& call, const CollectiveGroup& group, const Live& live, std::vector<Frame>& frames);
  void appeal_for_late(const CollectiveGroup& group, const Frame& frame);
  void appeal(const CollectiveGroup& group, uint32_t number, const std::vector<NodeId>& members, const Error& error);
  Status send(const CollectiveGroup& group, NodeId to, Kind kind, std::string_view meta, Blob body, double until);
  /// Waits until `there` holds, which another rank already knows, for up to CallClock::kMaxPropagation.
  Status wait_until_known(const std::function<bool()>& there);
  /// After a loss: waits until this rank knows the new membership, so its next call includes only remaining members.
  Status catch_up(uint64_t epoch);
  Result<CallResult> fail_alone(CollectiveGroup& group, const Live& live, const Error& error);
  Port::Match match(const CollectiveGroup& group) const;

  Node& node_;
  Meetings& meetings_;
  Arbiter& arbiter_;
  CollectiveGroup all_workers_;
  uint32_t waits_ = 0;          // numbers the waits
  NodeId joined_;               // all workers with lower ids take part in the calls of all workers
  uint32_t late_ = 0;           // number of workers admitted together with this worker
  std::set<NodeId> joiners_{};  // on the leader: late workers waiting for admission
  ChoiceLog choices_;
};

}  // namespace actorhost
