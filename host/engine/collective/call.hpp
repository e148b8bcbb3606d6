#pragma once
// One call of a collective on one rank, over frames. A passive machine (driven by its owner: inputs are frames and the
// time), so a node's thread (blocking calls), a process's courier (asynchronous calls) and a simulated network run the
// same code. This class is what all ranks share: the input, the data, the decision and the time limits. LeaderCall and
// MemberCall are the two parts of the protocol.
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

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "host/base/non_copyable.hpp"
#include "host/cluster/membership.hpp"
#include "host/engine/collective/call_clock.hpp"
#include "host/engine/collective/call_spec.hpp"
#include "host/engine/collective/call_transfer.hpp"

namespace actorhost {

class CollectiveCall : private NonCopyable {
 public:
  /// The call of the rank at place `group.me`: a LeaderCall at place 0, a MemberCall elsewhere.
  static std::unique_ptr<CollectiveCall> make(CallSpec spec, CallGroup group, CallWiring wiring,
                                              const CallClock& clock = CallClock());
  virtual ~CollectiveCall() = default;

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
  virtual Status hold(bool /*held*/) { return {}; }

  /// The call has ended here, and no frame refers to its buffers, or the wait for the frames of a failed call has
  /// expired.
  bool over() const noexcept { return decided() && (loans_.all_returned() || loans_are_late_); }
  bool decided() const noexcept { return outcome_.has_value(); }
  CallClock& clock() noexcept { return clock_; }
  const Status& outcome() const { return *outcome_; }
  /// After a loss: the epoch that informs all ranks of it.
  uint64_t loss_epoch() const noexcept { return loss_epoch_; }
  /// The highest CallGroup::joined of all announcements, as far as this rank knows.
  NodeId joined() const noexcept { return joined_; }
  CallResult& result() noexcept { return result_; }
  /// On a member: asks the leader which ranks the call waits for. On the leader: asks whether these ranks have decided
  /// the call under an earlier leader.
  virtual Status query_missing() = 0;
  /// The ranks that the call waits for, as far as this rank knows. A member other than the leader returns the leader's
  /// last reply or, without a reply, the leader.
  virtual Missing missing() const = 0;
  /// The error of a timeout: names the missing ranks.
  Error timed_out() const;
  /// On the leader: the script line of an announced member. Empty on other ranks.
  virtual std::string_view line(uint32_t /*member*/) const { return {}; }
  const CallSpec& spec() const noexcept { return spec_; }
  const CallGroup& group() const noexcept { return group_; }
  /// The algorithm that moved the data: "star", "ring", ...; of a successful call.
  const char* algorithm() const noexcept {
    return has_result_ ? algorithm_name(Algorithm::star) : transfer_.algorithm();
  }

 protected:
  CollectiveCall(CallSpec spec, CallGroup group, CallWiring wiring, const CallClock& clock);

  /// Announces the call. `small`: this rank's input goes with its announcement. Otherwise, at the root of a broadcast,
  /// `root_sends` describes the data.
  virtual Status announce(bool small, const Go& root_sends) = 0;
  /// Takes a frame of the protocol.
  virtual Status on_message(uint32_t from, const Frame& frame) = 0;
  /// This rank has received all its data; once.
  virtual Status on_all_data() = 0;
  virtual Status on_lost(uint32_t member, const Error& error) = 0;
  /// This rank gives up; once.
  virtual Status abandon(const Error& error) = 0;
  /// The call has ended: releases memory.
  virtual void release() noexcept {}

  template <typename... Heads>
  Status send(uint32_t to, Kind kind, const Blob& body, const Heads&... heads) {
    return wiring_.send(to, kind, pack(group_.route_to(to), heads...), body);
  }
  Blob inline_input() const;
  Status start_transfer(const Go& go) { return continue_started(transfer_.start(go)); }
  Status malformed(uint32_t from, Kind kind, const Error& why);
  Status read_star_result(const Blob& body);
  Status report_if_done();
  void appeal(const Error& error);
  bool decide(const Status& outcome, const Blob& result = {});
  void end(Status outcome);

  CallSpec spec_;
  const CallGroup group_;
  const CallWiring wiring_;
  uint64_t loss_epoch_ = 0;
  NodeId joined_ = 0;
  uint64_t inlined_bytes_sent_ = 0;
  bool has_result_ = false;  // of a star; valid once the leader commits
  bool done_ = false;        // this rank has received all its data

 private:
  bool inlined() const;
  size_t own_cost() const;
  Status continue_started(const Status& started);
  Status continue_moved(const Status& moved);
  void adopt(const Verdict& verdict);

  CallClock clock_;
  Loans loans_;
  CallResult result_;
  CallTransfer transfer_;
  bool appealed_ = false;
  std::optional<Error> given_up_;
  /// The call has failed on all ranks, so no rank uses the buffers that this rank has lent. Frames may hold them for a
  /// long time, so this rank waits only briefly.
  bool failed_for_all_ = false;
  bool loans_are_late_ = false;
  std::optional<Status> outcome_;
};

}  // namespace actorhost
