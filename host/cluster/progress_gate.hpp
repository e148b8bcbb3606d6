#pragma once
// Which workers may go on: the interface of a barrier rule, and the gate that asks it. A Gate holds the workers that
// wait, asks the rule about those whose answer may have changed since last time, and says when to ask again if nothing
// happens. It belongs to the thread that owns the Progress, never waits, and takes the time as an argument.

#include <span>
#include <unordered_map>
#include <vector>

#include "host/base/clock.hpp"
#include "host/cluster/progress.hpp"
#include "host/cluster/progress_sample.hpp"

namespace actorhost {

/// A rule's answer about one worker. The layout is shared with Lua (bindings/modules/ffi_barrier.h).
struct Decision {
  bool pass = false;
  double recheck_seconds = kForever;  // ask again after so long even if nothing happens; only when !pass
  NodeId worker = 0;                  // of Watch::worker, with a step above 0: the answer stays until that worker has
  int32_t step = 0;                   // completed so many steps
};

/// What a rule's answer depends on. Re-check times and changes of membership count for every rule.
enum class Watch : uint8_t {
  floor,  // the smallest clock: bsp, ssp
  event,  // any completion or suspicion
  timer,  // nothing else: polls
  worker  // the step of a worker that the answer names; any completion or suspicion where it names none
};

/// What one worker sees when no worker knows all clocks.
struct PartialSight {
  Seen seen;                // those whose clocks it has been told
  uint32_t population = 0;  // how many workers there are
  bool aggregates = false;  // it sees no single clock: seen.lowest is what it knows of all, and there are no slots
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
  /// The same about one worker that sees no more than `sight`. `progress` holds that worker and those that it sees, so
  /// it does not tell how many there are. Code::unsupported for a rule that cannot answer so; an error is final here
  /// too.
  virtual Status decide_partly(const Progress& progress, Slot asking, const PartialSight& sight, double now,
                               Decision& out);
  /// The bound on how far a passing worker may be ahead; 0 is BSP (updates are merged in order and become
  /// visible at the barrier), -1 that the rule promises none.
  virtual int staleness() const { return -1; }
  virtual Watch watch() const { return Watch::event; }
  /// Rises when the rule has become another one: then all workers that wait are asked about again.
  virtual uint64_t version() const { return 0; }
  /// Whether all workers at one step that are asked about in one `decide` get the same answer, without a re-check time,
  /// whichever of them is asked about and how often. Holds for the rule as it is now; may take a while to tell.
  virtual bool by_step() const { return false; }
};

/// Every worker passes (ASP).
class FreeRule final : public BarrierRule {
 public:
  Status decide(const Progress& /*progress*/, std::span<const Slot> /*asking*/, double /*now*/,
                std::span<Decision> out) override {
    for (Decision& decision : out) decision.pass = true;
    return {};
  }
  Watch watch() const override { return Watch::timer; }
};

/// The workers that wait, and when to ask about which: the part of a Gate that needs no rule.
class Waiting {
 public:
  /// A rule that wants to be asked again at once is asked after this many seconds.
  static constexpr double kMinRecheck = 1e-4;

  /// `progress` must outlive it, and no other code may call its ask.
  explicit Waiting(Progress& progress) : progress_(progress) {}

  /// Worker `id` has completed its step and wants to go on. False when it is not counted.
  bool ask(NodeId id, double now);
  /// The next begin picks all waiting workers.
  void ask_everybody() noexcept { ask_all_ = true; }
  /// The workers whose answers are due, in the order in which they asked; their slots are valid until finish, which
  /// must follow before anything else happens to the progress (or another begin, which starts again).
  std::span<const Slot> begin(double now, Watch watch);
  /// Where the answers to begin go, one for each.
  std::span<Decision> decisions() noexcept { return decisions_; }
  /// Appends the workers that pass to `passed`; they wait no longer.
  void finish(std::vector<NodeId>& passed);
  /// When begin has to be called again even if nothing happens; kForever when never.
  double next_time() const noexcept { return next_time_; }
  /// How many answers there have been of each kind.
  uint64_t passed() const noexcept { return passed_; }
  uint64_t refused() const noexcept { return refused_; }

 private:
  struct Waiter {
    NodeId id;
    uint64_t ticket;    // of its asking; when Progress has another one, this entry is out of date
    double due;         // ask again at this time; in the past for those never asked about
    NodeId worker = 0;  // with a step above 0: ask again when that worker has completed so many
    int32_t step = 0;
  };

  bool state_changed(Watch watch) const noexcept;
  /// Whether worker `id` has come to `step`, or is not counted any longer.
  bool reached(NodeId id, int32_t step) const noexcept;
  bool some_reached() const noexcept;
  void pick(bool all, bool reached_too);
  void await(const Waiter& waiter);

  Progress& progress_;
  std::vector<Waiter> waiters_;      // in order of asking
  size_t fresh_ = 0;                 // waiters_[fresh_ ..] have not been asked about yet
  size_t from_ = 0;                  // this round looks at waiters_[from_ ..]
  std::vector<size_t> picked_;       // indices of waiters_
  std::vector<Slot> asking_;         // their slots
  std::vector<Decision> decisions_;  // their answers
  double now_ = 0;
  double next_time_ = kForever;
  std::unordered_map<NodeId, int32_t> awaited_;  // of Watch::worker: the least step that some waiter awaits of each
  bool some_name_nobody_ = false;                // and whether there are waiters whose answers named no worker
  Watch watch_ = Watch::event;                   // of this round
  bool ask_all_ = false;
  uint64_t seen_layout_ = 0;  // what the last round saw
  uint64_t seen_changes_ = 0;
  int32_t seen_floor_ = 0;
  uint64_t passed_ = 0;
  uint64_t refused_ = 0;
};

class Gate {
 public:
  /// Both must outlive the gate.
  Gate(Progress& progress, BarrierRule& rule)
      : progress_(progress), rule_(&rule), rule_version_(rule.version()), waiting_(progress) {}
  /// Takes another rule, which must outlive the gate; all workers that wait are asked about again.
  void set_rule(BarrierRule& rule);
  BarrierRule& rule() const { return *rule_; }

  bool ask(NodeId id, double now) { return waiting_.ask(id, now); }
  /// Appends to `passed` the workers that may go on now, in the order in which they asked; they wait no longer.
  /// Call after events, changes of membership and at next_time(). Cheap when no answer can have changed.
  Status poll(double now, std::vector<NodeId>& passed);
  double next_time() const noexcept { return waiting_.next_time(); }
  uint64_t passed() const noexcept { return waiting_.passed(); }
  uint64_t refused() const noexcept { return waiting_.refused(); }

 private:
  Progress& progress_;
  BarrierRule* rule_;
  uint64_t rule_version_;
  Waiting waiting_;
};

}  // namespace actorhost
