#pragma once
// One call of a collective on one rank, over frames: a passive machine, so that a node's thread (blocking calls), a
// process's courier (asynchronous ones) and a simulated network drive the same code.
//
// The lowest rank of the group leads: it says how the call ends, so the end is the same on all ranks that live to see
// it. Small calls are a star: each rank announces itself with its input, and the leader answers with the results (2
// messages a rank; the latency of a round trip). In large calls the data goes by a schedule, straight between ranks. A
// rank that has all that it is owed tells the leader (`done`); when all have, the leader commits. This round trip after
// the data makes "it worked" mean "it worked everywhere". A small call that gives every rank the same needs none: a
// rank that has the result can give it to the others if the leader is lost.
//
// The leader compares the announcements: ranks that do not make the same call get an error with both lines. A lost rank
// ends the call everywhere, unless all that was needed of it has arrived. If the leader is lost, an arbiter takes its
// place (arbiter.hpp); README.md ("How a call ends") has the protocol.

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
#include "host/engine/collective/choice.hpp"
#include "host/engine/collective/collective_messages.hpp"
#include "host/engine/collective/filtered_reduction.hpp"
#include "host/engine/collective/reduction.hpp"
#include "host/engine/collective/schedule_run.hpp"
#include "host/net/landings.hpp"

namespace actorhost {

struct CallSpec {
  CollectiveKind kind = CollectiveKind::barrier;
  std::string name;       // "allreduce"
  std::string signature;  // "allreduce sum float32[3,4]": must be the same on all ranks
  std::string where;      // the script's line
  CollectiveChoice choice;

  // What is combined: allreduce, reduce, reduce_scatter.
  CollectiveOp op = CollectiveOp::sum;
  Dtype dtype = Dtype::f32;
  size_t unit = 1;  // reduce_scatter: elements of a row
  Blob input;       // not written by anybody until the call is over
  /// allreduce: data goes through this filter on its way. The caller claims it; the call releases it at its end.
  std::shared_ptr<FilterStream> filter{};
  /// Not empty: a loss of which the script has not been told, "rank 2 lost", so its arguments may not suit the members
  /// that are left. The call fails on all ranks with that loss.
  std::string stale{};
  bool placed = false;  // its arguments are made for LossLedger::placed

  uint32_t root = 0;                    // broadcast, reduce: its place in the group
  std::optional<PackedValue> parcel{};  // broadcast: at the root

  // exchange: what this rank gives each member, itself included, and from which members it gets something
  std::vector<std::optional<PackedValue>> gives{};
  std::vector<bool> expects{};
  /// The caller will put the parts that it gets together, in the order of the members. Where sizes are known beforehand
  /// the parts come together already, in one block; elsewhere its own part may come as it is instead of as a copy.
  bool joined = false;
};

struct CallResult {
  uint32_t place = 0;  // of this rank among the `places` of the group
  uint32_t places = 1;
  Blob buffer;                                     // allreduce; reduce at the root; reduce_scatter: this rank's block
  PackedValue parcel;                              // broadcast
  std::vector<std::optional<PackedValue>> gets{};  // exchange
  uint64_t bytes_sent = 0;                         // of data, by this rank in frames
  FilterBytes filtered{};                          // of these, what went through a filter
};

/// "allreduce of 4000 bytes among 3 ranks: ring", of a call that has worked: for the log.
std::string choice_text(const CallSpec& spec, const CallResult& result, uint32_t ranks, const char* choice);

/// Says each choice once, not for each call. Of one thread.
class ChoiceLog {
 public:
  void log(Log& log, const std::string& who, const std::string& choice);

 private:
  static constexpr size_t kMost = 1000;
  std::set<std::string> said_;
};

class CollectiveCall {
 public:
  struct Group {
    uint32_t id = 0;
    uint32_t me = 0;  // place in the group; 0 leads
    uint32_t members = 1;
    std::vector<NodeId> ids{};    // of the members, increasing
    uint64_t world = 0;           // the group's members, as a hash
    uint64_t epoch = 0;           // of the membership that `world` was taken from
    uint32_t actions = 0;         // that this rank has entered
    std::vector<uint32_t> ranks;  // of the members, for messages
    /// The leader's: the script's line of each member's last collective, as far as it knows.
    std::vector<std::string> lines{};
    std::vector<uint32_t> homes{};  // the process of each member; empty: each has its own
    uint32_t processes = 0;         // how many these are; 0 where `homes` is empty
    NodeId joined = 0;  // as far as this rank knows, all workers with ids below take part in the calls of all workers
  };
  struct Wiring {
    /// Sends a frame of this call to a member. A member that is gone is no error.
    std::function<Status(uint32_t to, Kind kind, std::string_view meta, Blob body)> send;
    /// Called when all frames have given back what they had borrowed; any thread, must not block.
    std::function<void()> returned;
    /// The leader's, when ranks do not agree on the group's members: "rank 2 lost".
    std::function<std::string()> who_is_lost;
    /// The newest epoch that this rank knows of.
    std::function<uint64_t()> epoch;
    /// Where this rank decides, as which one, and by whose word.
    CallLedger* ledger = nullptr;
    CallKey key{};
    NodeId self = 0;
    NodeId leader = 0;
    /// The leader cannot end the call: asks an arbiter to end it, with this error if no rank has decided.
    std::function<void(const Error&)> appeal;
    /// A member has sent something that cannot be read. True: the link to it is closed, so it or this rank will be
    /// lost.
    std::function<bool(uint32_t from, Kind kind, const std::string& why)> distrust{};
    /// Of the mailbox that the frames of this call come to, and their tag.
    Landings* landings = nullptr;
    uint32_t tag = 0;
  };

  CollectiveCall(CallSpec spec, const Group& group, Wiring wiring, const CallClock& clock = CallClock());
  ~CollectiveCall() {
    release_filter();
    expect_nothing();
  }
  CollectiveCall(const CollectiveCall&) = delete;
  CollectiveCall& operator=(const CollectiveCall&) = delete;

  Status begin();
  /// A frame of this call, from a member.
  Status take(uint32_t from, Frame&& frame);
  /// A member is gone. `message` as in "rank 2 lost".
  Status lost(uint32_t member, const std::string& message);
  /// The same for each member that is not there any more.
  Status on_membership(const Membership& membership);
  /// This rank cannot wait any longer or has failed: a leader ends the call everywhere, another rank asks it to.
  Status give_up(const Error& error);
  /// What is due: adopts an arbiter's verdict, gives up when the call is out of time, and appeals to an arbiter if the
  /// leader does not answer then. To be called after whatever has happened, and when the clock says so.
  Status tick(double now);
  /// While the call is held a leader takes reports and does not end the call, so that a complaint is heard first.
  Status hold(bool held);

  /// The call has ended here, and no frame refers to its buffers any more, or to those of a failed call for too long.
  bool over() const noexcept { return outcome_.has_value() && (loans_.all_returned() || loans_are_late_); }
  bool decided() const noexcept { return outcome_.has_value(); }
  CallClock& clock() noexcept { return clock_; }
  const Status& outcome() const { return *outcome_; }
  /// When a rank is lost: the epoch in which all ranks know of it.
  uint64_t news() const noexcept { return news_; }
  /// As Group::joined, as far as the ranks that disagree on it have said.
  NodeId joined() const noexcept { return joined_; }
  CallResult& result() noexcept { return result_; }
  /// Asks the leader for which ranks the call waits.
  Status ask();
  /// The ranks for which the call waits, as far as this rank knows: a member other than the leader gives the leader's
  /// last answer, or, without one, the leader itself.
  Missing missing() const;
  /// This rank has waited for too long for those that are missing.
  Error timed_out() const;
  /// The leader's: the lines of the members that have announced; empty for others.
  const std::vector<std::string>& lines() const noexcept { return lines_; }
  const CallSpec& spec() const noexcept { return spec_; }
  const Group& group() const noexcept { return group_; }
  /// What carried the data: "star", "ring", ...; empty before it is known.
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
  Status tell(uint32_t to, Kind kind, Blob body = {});
  bool keeps(const Blob& result) const noexcept;
  bool decide(const Status& outcome, const Blob& kept = {});
  Blob inline_input();

  Status malformed(uint32_t from, Kind kind, const Error& why);
  bool distrusts(uint32_t from, Kind kind, const Error& why) const;
  Status take_report(uint32_t from, const Frame& frame);
  Status take_word(const Frame& frame);
  Status on_announce(uint32_t from, const Frame& frame);
  Status check(uint32_t from, const Announce& announce);
  Status all_announced();
  Status answer_who(uint32_t from);
  Status answer_star();
  Status answer_reduction(std::vector<Blob>& results, uint32_t& at);
  Status answer_exchange(std::vector<Blob>& results, uint32_t& at);
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
  Status start_filtered();
  Status take_parcel(uint32_t from, PackedValue parcel);
  /// What follows when bytes of a member have been taken in, or are such as it cannot have sent.
  Status look_after(uint32_t from, const Status& taken);
  void release_filter() noexcept {
    if (std::exchange(holds_filter_, false)) spec_.filter->release();
  }
  Result<Blob> allocate(uint64_t bytes) const;
  Status start(const Schedule& schedule, ScheduleRun::Buffers buffers);
  bool comes_over_a_link(uint32_t from) const;
  void expect_parts();
  Blob place_of_part(uint32_t from, uint64_t bytes) const;
  void expect_nothing() noexcept {
    if (wiring_.landings != nullptr) wiring_.landings->forget(this);
  }
  Status give(uint32_t to, PackedValue& parcel);
  Status take_early();
  Status look_if_done();
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
  std::unique_ptr<FilteredReduction> filtered_;
  bool holds_filter_ = false;
  Go coming_;                                      // leader: what the root of a broadcast will send
  std::vector<std::pair<uint32_t, Frame>> early_;  // data that came before this rank knew what to do with it
  bool exchanging_ = false;
  size_t parcels_due_ = 0;
  std::vector<PackedValue> coming_in_;  // by rank: parcels of several frames
  Blob whole_;                          // what an exchange gets, joined, if every part of it has `part_` bytes
  size_t part_ = 0;
  bool done_ = false;        // this rank has all that it is owed
  bool has_result_ = false;  // of a small call, which only comes true with the leader's commit
  bool appealed_ = false;
  bool held_ = false;
  bool all_came_ = false;  // while it was held
  std::optional<Error> given_up_;
  uint64_t news_ = 0;
  NodeId joined_ = 0;
  /// The call has failed on all ranks, so none uses the buffers that this rank has lent. A rank may give them back late
  /// or never, so this rank waits only briefly.
  bool failed_for_all_ = false;
  bool loans_are_late_ = false;
  std::optional<Status> outcome_;
  CallResult result_;
  const char* algorithm_ = "";
  uint64_t bytes_sent_ = 0;
  std::optional<Missing> told_;  // by the leader

  // the leader's
  std::vector<bool> announced_;
  std::vector<Blob> inputs_;  // of star calls
  std::vector<bool> finished_;
  size_t announcements_ = 0;
  size_t finishes_ = 0;
  bool all_inlined_ = true;
  std::vector<std::string> lines_;
};

}  // namespace actorhost
