#pragma once
// A worker's blocking collectives, on its own thread: numbers the calls of each group, finds the group's live members,
// and drives a call to its end, in shared memory where all members live in this process, else over frames.
//
// A call in which the group loses a member fails on all members with Code::peer_lost ("allreduce: rank 2 lost"). So
// does the first call after a loss, unless an action lies between or an asynchronous call has failed with that loss.
// The members that are left make the next call. A failed call leaves its inputs as they were, and nothing behind for
// later calls.

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
#include "host/engine/collective/inquiry.hpp"
#include "host/engine/collective/loss_ledger.hpp"
#include "host/engine/collective/meeting.hpp"

namespace actorhost {

/// Workers that call collectives among themselves: all of them, or a named part. One object a rank.
struct CollectiveGroup {
  std::string name{};                  // empty: the group of all workers
  std::vector<NodeId> ids{};           // of a named group, increasing
  uint32_t id = 0;                     // as frames spell it
  uint32_t async_calls = 0;            // started so far
  uint32_t calls = 0;                  // made so far
  LossLedger losses{};                 // of its members
  std::vector<NodeId> called{};        // the members of the last call; empty: there was none, or it told of a loss
  std::shared_ptr<Meeting> meeting{};  // of `called`, where they all live in this process; shared with them
  std::vector<std::shared_ptr<AsyncCall>> flying{};  // asynchronous ones not known to be over; shared with the courier
  std::map<NodeId, std::string> lines{};             // where each member made its last call: for messages
  // Statistics of the calls that worked here.
  uint64_t worked = 0;
  uint64_t bytes_sent = 0;
  FilterBytes filtered{};
};

class Collectives {
 public:
  /// The arbiter is that of the node's process.
  Collectives(Node& node, Meetings& meetings, Arbiter& arbiter);

  CollectiveGroup& everybody() noexcept { return everybody_; }
  /// A chunk that runs on this node alone makes the calls.
  bool alone() const noexcept { return node_.answering(); }
  /// Numbers the group's calls anew, under another id, which depends on its name and `restarts`: ranks have left calls
  /// at different places.
  void restart(CollectiveGroup& group, uint32_t restarts);
  /// The live members of a group as of now: a script's `root` and the places of results count these. Looks for a new
  /// membership first.
  std::vector<NodeId> members_of(const CollectiveGroup& group);

  struct Placing {
    std::optional<uint32_t> place;  // this rank's, unless it is no live member
    uint32_t places = 0;
    std::string untold;  // "rank 2 lost": the next call can only fail with that, whatever its arguments are
  };
  /// What the arguments of the next call, which is marked CallSpec::placed, are made for.
  Result<Placing> place(CollectiveGroup& group);

  /// `timeout` in seconds; a rank that waits for the leader gives it a moment longer to say which ranks are missing.
  Result<CallResult> run(CollectiveGroup& group, CallSpec spec, double timeout = kForever);
  /// Starts the call beside this thread. The input must not be written before it is done.
  Result<std::shared_ptr<AsyncCall>> start(CollectiveGroup& group, CallSpec spec, AsyncCalls& calls,
                                           double timeout = kForever);
  /// A call of everybody that lets in, in id order, the workers that have joined late and wait for it; returns how
  /// many. A worker that has joined late makes no collective before that: its first one, whichever it is, waits for the
  /// others' join_point and is then the next call of everybody. If its first one is a join_point, it is the others'
  /// own.
  Result<uint32_t> join_point(CallSpec spec, double timeout = kForever);
  /// Until the call is done, for up to `seconds` (Code::timeout; it goes on then). The result may be taken once.
  Result<CallResult> wait(AsyncCalls& calls, const std::shared_ptr<AsyncCall>& call, double seconds);

 private:
  struct Live {
    std::vector<NodeId> before;  // where others made the call before this one
    CollectiveCall::Group group;
    CallClock clock{};
  };

  bool outside() const noexcept { return node_.role() == Role::worker && node_.index() >= joined_; }
  /// Until this worker has been let in, where it has joined late.
  Status come_in() { return outside() ? wait_outside() : Status(); }
  Status wait_outside();
  Status look_for_an_end(const std::string& what, bool& ended_before);
  Status take_place(const JoinPoint& point);
  Result<std::vector<NodeId>> who_knocks();
  Status let_in(const JoinPoint& point);

  Result<Live> look(const CollectiveGroup& group, const std::string& name);
  /// The same for a call that is made or started now; marks it as stale where it has to tell of a loss.
  Result<Live> enter(CollectiveGroup& group, CallSpec& spec, double timeout);
  Status hear_of_flying(CollectiveGroup& group);
  Status drop_leftovers(const CollectiveGroup& group);
  Meeting& meeting_of(CollectiveGroup& group, const Live& live);
  Result<CallResult> meet(CollectiveGroup& group, Live& live, const CallSpec& spec, std::vector<Frame>& strays);
  Result<CallResult> call(CollectiveGroup& group, const Live& live, CallSpec spec, std::vector<Frame> early);
  Status drive(CollectiveCall& call, const CollectiveGroup& group, const Live& live, std::vector<Frame> frames);
  Status take_frames(CollectiveCall& call, const CollectiveGroup& group, const Live& live, std::vector<Frame>& frames);
  void answer_late(const CollectiveGroup& group, const Frame& frame);
  void appeal(const CollectiveGroup& group, uint32_t number, const std::vector<NodeId>& members, const Error& error);
  Status send(const CollectiveGroup& group, NodeId to, Kind kind, std::string_view meta, Blob body, double until);
  /// Until `there` holds, which another rank knows already; but not for long.
  Status wait_for_news(const std::function<bool()>& there);
  /// After a loss: waits until this rank knows of it too, so that its next call is made with the members that are left.
  Status catch_up(uint64_t epoch);
  Result<CallResult> fail_alone(CollectiveGroup& group, const Live& live, const Error& error);
  Port::Match match(const CollectiveGroup& group) const;

  Node& node_;
  Meetings& meetings_;
  Arbiter& arbiter_;
  CollectiveGroup everybody_;
  uint32_t waits_ = 0;           // numbers them
  NodeId joined_;                // all workers with ids below make the calls of all
  uint32_t late_ = 0;            // how many came in with this one
  std::set<NodeId> knocking_{};  // leader: the workers that have asked to be let in
  ChoiceLog choices_;
};

}  // namespace actorhost
