#pragma once
// Decides by the time when one rank's part in a collective call checks, gives up and ends. Defines all time limits of
// this folder. Passive: the owner of the call (a node's thread, or the courier for asynchronous calls) passes the time,
// does all due work, and sleeps until `due`, `next_check` or `next` (Collectives::drive).
//
//   waiting --give_up--> given_up --appeal--> appealed        any --end--> ended
//
//   waiting    until the deadline at most; meanwhile the rank checks regularly where the missing ranks are
//   given_up   kForLeader: the leader has this time to name the missing ranks and to end the call
//   appealed   without a limit: the rank has asked an arbiter to end the call in place of the leader
//   ended      after a failure kForLoans: frames in flight may still refer to buffers that the caller has lent

#include <algorithm>
#include <utility>

#include "host/base/clock.hpp"

namespace actorhost {

class CallClock {
 public:
  /// Seconds within which an event that one rank knows reaches each other rank: a new membership, the end of an
  /// asynchronous call that has lost a member, the admission of a late worker.
  static constexpr double kMaxPropagation = 5;

  /// `timeout` in seconds from `now`.
  explicit CallClock(double now = 0, double timeout = kForever) noexcept
      : since_(now), deadline_(now + timeout), due_(deadline_), next_check_(now + kFirstCheck) {}

  /// The call has a timeout.
  bool limited() const noexcept { return deadline_ != kForever; }
  /// The deadline for sending a frame of the call: the end of the leader's time to name the missing ranks.
  double send_deadline() const noexcept { return deadline_ + kForLeader; }

  /// The time at which `out_of_time`, `leader_is_late` or `loans_are_late` becomes true; kForever: never.
  double due() const noexcept { return due_; }
  bool out_of_time(double now) const noexcept { return stage_ == Stage::waiting && now >= due_; }
  /// The rank has given up, and the leader has not ended the call in time.
  bool leader_is_late(double now) const noexcept { return stage_ == Stage::given_up && now >= due_; }
  /// The call has failed, and the wait for its lent buffers has expired.
  bool loans_are_late(double now) const noexcept { return stage_ == Stage::ended && now >= due_; }

  // The events. A repeated event has no effect. After any event there are no further checks.
  void give_up(double now) noexcept { enter(Stage::given_up, now + kForLeader); }
  void appeal() noexcept { enter(Stage::appealed, kForever); }
  void end(double now, bool failed) noexcept { enter(Stage::ended, failed ? now + kForLoans : kForever); }

  /// True once before each check: it is time to ask the leader which ranks are missing.
  bool query_due(double now) noexcept { return now >= next_check_ - kQueryLead && !std::exchange(queried_, true); }
  /// It is time to ask the coordinator where the missing ranks are.
  bool check_due(double now) const noexcept { return now >= next_check_; }
  /// A check has been made: schedules the next check. The interval doubles up to kMaxCheckInterval, or begins again at
  /// kFirstCheck if the check has raised a suspicion.
  void checked(double now, bool suspicion) noexcept {
    interval_ = suspicion ? kFirstCheck : std::min(2 * interval_, kMaxCheckInterval);
    next_check_ = now + interval_;
    queried_ = false;
  }
  void stop_checks() noexcept { next_check_ = kForever; }
  /// The log should name the missing ranks.
  bool waits_long(double now) const noexcept { return now - since_ >= kLongWait; }
  /// The time at which the caller must act next: `next_check` for callers that only check, `next` for callers that also
  /// query the leader.
  double next_check() const noexcept { return std::min(due_, next_check_); }
  double next() const noexcept { return std::min(due_, queried_ ? next_check_ : next_check_ - kQueryLead); }

 private:
  static constexpr double kForLeader = 0.5;       // seconds from giving up until the leader is late
  static constexpr double kForLoans = 0.5;        // seconds from a failure until lent buffers are abandoned
  static constexpr double kFirstCheck = 1;        // seconds of waiting before the first check
  static constexpr double kMaxCheckInterval = 4;  // longest interval, in seconds, between checks
  static constexpr double kQueryLead = 0.5;       // seconds from the query to the leader until the check
  static constexpr double kLongWait = 10;         // seconds of waiting before the log names the missing ranks

  enum class Stage { waiting, given_up, appealed, ended };
  void enter(Stage stage, double due) noexcept {
    if (stage <= stage_) return;
    stage_ = stage;
    due_ = due;
    stop_checks();
  }

  Stage stage_ = Stage::waiting;
  double since_;
  double deadline_;
  double due_;
  double next_check_;
  double interval_ = kFirstCheck;
  bool queried_ = false;
};

}  // namespace actorhost
