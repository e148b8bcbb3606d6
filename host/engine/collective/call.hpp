#pragma once
// One call of a collective on one rank, over frames. A passive machine (driven by its owner: inputs are frames and the
// time), so a node's thread (blocking calls), a process's courier (asynchronous calls) and a simulated network run the
// same code.
//
// The lowest rank of the group leads. It decides how the call ends, so all ranks that survive see the same end. A small
// call is a star: each rank sends its input with its announcement, and the leader replies with the results (2 messages
// per rank, one round trip). In a large call the data goes directly between ranks, by a schedule. A rank that has
// received all its data sends `done` to the leader; once all ranks have, the leader sends `commit`. This extra round
// trip makes success on one rank mean success on all ranks. A small call with the same result for all ranks needs no
// commit: if the leader fails, any rank that has the result can give it to the others.
//
// The leader compares the announcements: ranks that make different calls get an error that names both script lines. If
// a rank fails, the call fails on all ranks, unless all required messages of that rank have arrived. If the leader
// fails, an arbiter takes its place (arbiter.hpp); README.md ("How a call ends") describes the protocol.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/base/log.hpp"
#include "host/cluster/membership.hpp"
#include "host/engine/collective/call_clock.hpp"
#include "host/engine/collective/call_ledger.hpp"
#include "host/engine/collective/collective_messages.hpp"
#include "host/engine/collective/reduction.hpp"
#include "host/engine/collective/schedule/choice.hpp"
#include "host/engine/collective/schedule_run.hpp"
#include "host/net/receive_buffers.hpp"

namespace actorhost {

struct CallSpec {
  CollectiveKind kind = CollectiveKind::barrier;
  std::string name;       // "allreduce"
  std::string signature;  // "allreduce sum float32[3,4]": identical on all ranks
  std::string where;      // the script's line
  CollectiveChoice choice;

  // Reductions: allreduce, reduce, reduce_scatter.
  CollectiveOp op = CollectiveOp::sum;
  Dtype dtype = Dtype::f32;
  size_t unit = 1;  // reduce_scatter: elements of a row
  Blob input;       // nothing writes it until the call is over
  /// Not empty: a loss that the script does not know of, "rank 2 lost", so the arguments may not suit the remaining
  /// members. The call fails on all ranks with that loss.
  std::string stale{};
  bool placed = false;  // the arguments suit the members LossLedger::placed

  uint32_t root = 0;                    // broadcast, reduce: place of the root in the group
  std::optional<PackedValue> parcel{};  // broadcast: at the root

  // exchange: the parcels for each member, including this rank, and the members that send a parcel to this rank
  std::vector<std::optional<PackedValue>> outgoing{};
  std::vector<bool> expected{};
  /// The caller will join the received parts in the order of the members. Where sizes are known in advance, the parts
  /// arrive in one block; elsewhere the rank's own part may be returned without a copy.
  bool joined = false;
};

struct CallResult {
  uint32_t place = 0;   // place of this rank in the group
  uint32_t places = 1;  // number of members
  Blob buffer;          // allreduce; reduce at the root; reduce_scatter: this rank's block
  PackedValue parcel;   // broadcast
  std::vector<std::optional<PackedValue>> received{};  // exchange
  uint64_t bytes_sent = 0;                             // payload that this rank sent in frames
};

/// "allreduce of 4000 bytes among 3 ranks: ring", for the log; of a successful call.
std::string choice_text(const CallSpec& spec, const CallResult& result, uint32_t ranks, const char* choice);

/// Logs each distinct choice once, not for each call. Used by one thread.
class ChoiceLog {
 public:
  void log(Log& log, const std::string& source, const std::string& choice);

 private:
  static constexpr size_t kMost = 1000;
  std::set<std::string> logged_;
};

class CollectiveCall {
 public:
  struct Group {
    uint32_t id = 0;
    uint32_t me = 0;  // place in the group; 0 is the leader
    uint32_t members = 1;
    std::vector<NodeId> ids{};    // of the members, increasing
    uint64_t world = 0;           // hash of the members' ids
    uint64_t epoch = 0;           // of the membership that `world` was computed from
    uint32_t actions = 0;         // number of actions that this rank has entered
    std::vector<uint32_t> ranks;  // of the members, for messages
    /// On the leader: the script line of each member's last collective, where known.
    std::vector<std::string> lines{};
    std::vector<uint32_t> homes{};  // process of each member; empty: one process for each member
    uint32_t processes = 0;         // number of distinct homes; 0 where `homes` is empty
    NodeId joined = 0;  // as far as this rank knows, all workers with lower ids take part in the calls of all workers
  };
  struct Wiring {
    /// Sends a frame of this call to a member. A failed member is no error.
    std::function<Status(uint32_t to, Kind kind, std::string_view meta, Blob body)> send;
    /// Called when no frame refers to the call's buffers any more; on any thread, must not block.
    std::function<void()> returned;
    /// On the leader, when ranks disagree on the group's members: names the lost ranks, "rank 2 lost".
    std::function<std::string()> describe_loss;
    /// Returns the newest epoch that this rank knows.
    std::function<uint64_t()> epoch;
    /// The ledger and the call, rank and leader under which this rank decides.
    CallLedger* ledger = nullptr;
    CallKey key{};
    NodeId self = 0;
    NodeId leader = 0;
    /// The leader cannot end the call: requests an arbiter's verdict, with this error if no rank has decided.
    std::function<void(const Error&)> appeal;
    /// A member has sent a malformed frame. True: the link to the member is closed, so the membership will drop the
    /// member or this rank.
    std::function<bool(uint32_t from, Kind kind, const std::string& why)> distrust{};
    /// The receive buffers of the mailbox that receives this call's frames, and the frames' tag.
    ReceiveBuffers* receive_buffers = nullptr;
    uint32_t tag = 0;
  };

  CollectiveCall(CallSpec spec, const Group& group, Wiring wiring, const CallClock& clock = CallClock());
  ~CollectiveCall() { expect_nothing(); }
  CollectiveCall(const CollectiveCall&) = delete;
  CollectiveCall& operator=(const CollectiveCall&) = delete;

  Status begin();
  /// Delivers a frame of this call from a member.
  Status take(uint32_t from, Frame&& frame);
  /// A member has failed. `message` is like "rank 2 lost".
  Status lost(uint32_t member, const std::string& message);
  /// Calls `lost` for each member outside the membership.
  Status on_membership(const Membership& membership);
  /// This rank has failed or cannot wait any longer: the leader ends the call on all ranks; any other rank asks the
  /// leader to do so.
  Status give_up(const Error& error);
  /// Does all due work: adopts an arbiter's verdict, gives up when the call is out of time, and appeals to an
  /// arbiter if the leader does not reply after that. To be called after every event and when the clock is due.
  Status tick(double now);
  /// A held leader takes reports but does not end the call, so that it handles `give_up` frames first.
  Status hold(bool held);

  /// The call has ended here, and no frame refers to its buffers, or the wait for the frames of a failed call has
  /// expired.
  bool over() const noexcept { return outcome_.has_value() && (loans_.all_returned() || loans_are_late_); }
  bool decided() const noexcept { return outcome_.has_value(); }
  CallClock& clock() noexcept { return clock_; }
  const Status& outcome() const { return *outcome_; }
  /// After a loss: the epoch that informs all ranks of it.
  uint64_t loss_epoch() const noexcept { return loss_epoch_; }
  /// The highest Group::joined of all announcements, as far as this rank knows.
  NodeId joined() const noexcept { return joined_; }
  CallResult& result() noexcept { return result_; }
  /// Asks the leader which ranks the call waits for.
  Status query_missing();
  /// The ranks that the call waits for, as far as this rank knows. A member other than the leader returns the leader's
  /// last reply or, without a reply, the leader.
  Missing missing() const;
  /// The error of a timeout: names the missing ranks.
  Error timed_out() const;
  /// On the leader: the script lines of all announced members. Empty on other ranks.
  const std::vector<std::string>& lines() const noexcept { return lines_; }
  const CallSpec& spec() const noexcept { return spec_; }
  const Group& group() const noexcept { return group_; }
  /// The algorithm that moved the data: "star", "ring", ...; empty before the choice.
  const char* algorithm() const noexcept { return algorithm_; }
  uint64_t bytes_sent() const noexcept { return bytes_sent_ + (run_ ? run_->bytes_sent() : 0); }

 private:
  bool leads() const noexcept { return group_.me == 0; }
  bool reduces() const noexcept;
  bool inlined() const;
  size_t own_cost() const;
  size_t elements() const noexcept { return spec_.input.size() / dtype_size(spec_.dtype); }
  Route route(uint32_t from, uint32_t to) const noexcept { return {group_.id, group_.ids[from], group_.ids[to]}; }
  Route route_to(uint32_t to) const noexcept { return route(group_.me, to); }
  static Blob own_copy(Blob bytes);
  Status send_message(uint32_t to, Kind kind, Blob body = {});
  bool retains(const Blob& result) const noexcept;
  bool decide(const Status& outcome, const Blob& result = {});
  Blob inline_input();

  Status malformed(uint32_t from, Kind kind, const Error& why);
  bool distrusts(uint32_t from, Kind kind, const Error& why) const;
  Status on_member_message(uint32_t from, const Frame& frame);
  Status on_leader_message(const Frame& frame);
  Status on_announce(uint32_t from, const Frame& frame);
  Status check(uint32_t from, const Announce& announce);
  Status all_announced();
  Status send_missing(uint32_t from);
  Status send_star_results();
  Status make_reduction_results(std::vector<Blob>& results, uint32_t& at);
  Status make_exchange_results(std::vector<Blob>& results, uint32_t& at);
  Status send_go();
  Status on_go(const Frame& frame);
  Status on_result(const Frame& frame);
  Status read_result(const Blob& body);
  Span result_span(uint32_t rank) const noexcept;
  Status on_piece(uint32_t from, Frame&& frame);
  Status on_parcel(uint32_t from, Frame&& frame);

  uint32_t processes() const noexcept { return group_.homes.empty() ? group_.members : group_.processes; }
  Algorithm choose(size_t bytes) const;
  Status start_reduction();
  Status start_broadcast(const Go& go);
  Status start_exchange();
  /// Continues after `from`'s data has been taken, or gives up if the data is invalid.
  Status continue_after(uint32_t from, const Status& taken);
  Result<Blob> allocate(uint64_t bytes) const;
  Status start(const Schedule& schedule, ScheduleRun::Buffers buffers);
  bool is_remote(uint32_t from) const;
  void expect_parts();
  Blob place_of_part(uint32_t from, uint64_t bytes) const;
  void expect_nothing() noexcept {
    if (wiring_.receive_buffers != nullptr) wiring_.receive_buffers->forget(this);
  }
  Status send_parcel(uint32_t to, PackedValue& parcel);
  Status take_early();
  Status report_if_done();
  Status commit_if_done();
  Status fail(const Error& error);
  void appeal(const Error& error);
  void adopt(const Verdict& verdict);
  void collect_result();
  void end(Status outcome);

  CallSpec spec_;
  const Group group_;
  Wiring wiring_;
  CallClock clock_;
  Loans loans_;
  std::unique_ptr<ScheduleRun> run_;
  Go announced_data_;                              // on the leader: the data that the root of a broadcast will send
  std::vector<std::pair<uint32_t, Frame>> early_;  // data that arrived before the run was started
  bool exchanging_ = false;
  size_t parcels_due_ = 0;
  std::vector<PackedValue> partial_parcels_;  // by rank: parcels whose frames have arrived in part
  Blob whole_;  // room for the joined result of an exchange whose parts all have `part_` bytes
  size_t part_ = 0;
  bool done_ = false;        // this rank has received all its data
  bool has_result_ = false;  // of a star; valid once the leader commits
  bool appealed_ = false;
  bool held_ = false;
  bool all_announced_ = false;  // all ranks have announced the call while it was held
  std::optional<Error> given_up_;
  uint64_t loss_epoch_ = 0;
  NodeId joined_ = 0;
  /// The call has failed on all ranks, so no rank uses the buffers that this rank has lent. Frames may hold them for a
  /// long time, so this rank waits only briefly.
  bool failed_for_all_ = false;
  bool loans_are_late_ = false;
  std::optional<Status> outcome_;
  CallResult result_;
  const char* algorithm_ = "";
  uint64_t bytes_sent_ = 0;
  std::optional<Missing> missing_reply_;  // by the leader's last reply

  // Used by the leader.
  std::vector<bool> announced_;
  std::vector<Blob> inputs_;  // of star calls
  std::vector<bool> finished_;
  size_t announcements_ = 0;
  size_t finishes_ = 0;
  bool all_inlined_ = true;
  std::vector<std::string> lines_;
};

}  // namespace actorhost
