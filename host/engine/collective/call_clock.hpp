#pragma once
// The time of a collective call on one rank: when the rank inquires about those that are missing, when it gives up, how
// long the leader may then still say which ranks are missing, and how long what a failed call has lent is waited for.
// All limits of time in this folder are written here, once. Passive: the node's thread, or the courier, hands in the
// time of its own Clock, does what is due, and sleeps until something is due again (Collectives::drive).
//
//   waits --give_up--> given_up --appeal--> appealed        any --end--> ended

#include <algorithm>
#include <utility>

#include "host/base/clock.hpp"

namespace actorhost {

class CallClock {
 public:
  /// Seconds that news may be later here than elsewhere: a new membership than the word of a rank that knows it, the
  /// end of an asynchronous call than the loss that ends it, the word that lets a late worker in.
  static constexpr double kForNews = 5;

  /// `timeout` in seconds from `now`.
  explicit CallClock(double now = 0, double timeout = kForever) noexcept
      : since_(now), deadline_(now + timeout), due_(deadline_), look_(now + kLookAfter) {}

  /// Ends by itself.
  bool limited() const noexcept { return deadline_ != kForever; }
  /// Until when frames of the call may wait for room: as long as the leader may say which ranks are missing.
  double last_word() const noexcept { return deadline_ + kForLeader; }

  /// When one of the next three becomes true; kForever: none will.
  double due() const noexcept { return due_; }
  bool out_of_time(double now) const noexcept { return stage_ == Stage::waits && now >= due_; }
  /// The rank has given up, and the leader has had its moment since.
  bool leader_is_late(double now) const noexcept { return stage_ == Stage::given_up && now >= due_; }
  /// The call has failed, and what it has lent is not waited for any longer.
  bool loans_are_late(double now) const noexcept { return stage_ == Stage::ended && now >= due_; }
  /// What has happened; told again, it changes nothing. No inquiry follows.
  void give_up(double now) noexcept { enter(Stage::given_up, now + kForLeader); }
  void appeal() noexcept { enter(Stage::appealed, kForever); }
  void end(double now, bool failed) noexcept { enter(Stage::ended, failed ? now + kForLoans : kForever); }

  /// True once before each look: time to find out which ranks are missing.
  bool asks_for_news(double now) noexcept { return now >= look_ - kNewsBefore && !std::exchange(asked_, true); }
  /// Time to look where those are that are missing.
  bool looks(double now) const noexcept { return now >= look_; }
  /// The next look comes after longer intervals each time, unless this one has raised a suspicion.
  void looked(double now, bool suspicion) noexcept {
    interval_ = suspicion ? kLookAfter : std::min(2 * interval_, kLookAtMost);
    look_ = now + interval_;
    asked_ = false;
  }
  void look_no_more() noexcept { look_ = kForever; }
  bool waits_long(double now) const noexcept { return now - since_ >= kLongWait; }
  /// When a caller that looks, and one that asks for news before that, has to do something next.
  double next_look() const noexcept { return std::min(due_, look_); }
  double next() const noexcept { return std::min(due_, asked_ ? look_ : look_ - kNewsBefore); }

 private:
  static constexpr double kForLeader = 0.5;   // seconds after giving up in which the leader may name missing ranks
  static constexpr double kForLoans = 0.5;    // seconds after a failure until what was lent is let go
  static constexpr double kLookAfter = 1;     // seconds of waiting before the rendezvous host is asked for the others
  static constexpr double kLookAtMost = 4;    // it is asked again, at intervals that double up to this
  static constexpr double kNewsBefore = 0.5;  // seconds before that in which the leader may name missing ranks
  static constexpr double kLongWait = 10;     // seconds; then the log says for which ranks this one waits

  enum class Stage { waits, given_up, appealed, ended };
  void enter(Stage stage, double due) noexcept {
    if (stage <= stage_) return;
    stage_ = stage;
    due_ = due;
    look_no_more();
  }

  Stage stage_ = Stage::waits;
  double since_;
  double deadline_;
  double due_;
  double look_;
  double interval_ = kLookAfter;
  bool asked_ = false;
};

}  // namespace actorhost
