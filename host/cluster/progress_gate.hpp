#pragma once
// Who may go on: the interface of a barrier rule, and the gate that asks it. A Gate holds the workers that
// wait, asks the rule about those whose answer may have changed since last time, and says when to ask again
// if nothing happens. It belongs to the thread that owns the Progress; it never waits and takes the time as
// an argument.

#include <functional>
#include <span>
#include <vector>

#include "host/base/clock.hpp"
#include "host/cluster/progress.hpp"

namespace actorhost {

/// A rule's answer about one worker. The layout is shared with Lua (bindings/ffi_barrier.h).
struct Decision {
  bool pass = false;
  double recheck_seconds = kForever;  // ask again after so long even if nothing happens; only when !pass
};

/// What a rule's answer hangs on. Re-check times and changes of membership count for every rule.
enum class Watch : uint8_t {
  floor,  // the smallest clock: bsp, ssp
  event,  // any completion or suspicion
  timer   // nothing else: polls
};

class BarrierRule {
 public:
  BarrierRule() = default;
  BarrierRule(const BarrierRule&) = delete;
  BarrierRule& operator=(const BarrierRule&) = delete;
  virtual ~BarrierRule() = default;

  /// Answers for each of `asking` into out[0 .. asking.size()-1]. The slots are those of `progress` now.
  /// An error (a rule that raised) is final: the run cannot go on with this rule.
  virtual Status decide(const Progress& progress, std::span<const Slot> asking, double now,
                        std::span<Decision> out) = 0;
  /// The bound on how far a passing worker may be ahead; 0 is BSP (updates are merged in order and become
  /// visible at the barrier), -1 that the rule promises none.
  virtual int staleness() const { return -1; }
  virtual Watch watch() const { return Watch::event; }
};

class Gate {
 public:
  /// A rule that asks to be asked again at once is asked after this many seconds.
  static constexpr double kMinRecheck = 1e-4;

  /// Both must outlive the gate; set_rule puts another rule in charge, and everybody who waits is asked
  /// again.
  Gate(Progress& progress, BarrierRule& rule) : progress_(progress), rule_(&rule) {}
  void set_rule(BarrierRule& rule);
  BarrierRule& rule() const { return *rule_; }

  /// Worker `id` has completed its step and wants to go on. False when it is not counted.
  bool ask(NodeId id, double now);
  /// Appends to `passed` the workers that may go on now, in the order in which they asked; they wait no
  /// longer. Call after events, changes of membership and at next_time(). Cheap when no answer can have
  /// changed.
  Status poll(double now, std::vector<NodeId>& passed);
  /// When poll has to be called again even if nothing happens; kForever when never.
  double next_time() const noexcept { return next_time_; }

 private:
  struct Waiter {
    NodeId id;
    uint64_t ticket;  // of its asking; when Progress has another one, this entry is out of date
    double due;       // ask again at this time; in the past for those never asked about
  };

  bool state_changed() const noexcept;
  void remember_state() noexcept;
  /// Picks the entries from `from` on that are to be asked about: all of them or those whose time has come.
  void pick(size_t from, bool all, double now);
  /// Takes those who pass, and those who wait no longer for another reason, off the list.
  void apply(size_t from, double now, std::vector<NodeId>& passed);

  Progress& progress_;
  BarrierRule* rule_;
  std::vector<Waiter> waiters_;  // in order of asking
  size_t fresh_ = 0;             // waiters_[fresh_ ..] have not been asked about yet
  double next_time_ = kForever;
  bool ask_all_ = false;
  uint64_t seen_layout_ = 0;
  uint64_t seen_changes_ = 0;
  int32_t seen_floor_ = 0;
  std::vector<size_t> picked_;  // indices of waiters_
  std::vector<Slot> asking_;    // their slots
  std::vector<Decision> decisions_;
};

}  // namespace actorhost
