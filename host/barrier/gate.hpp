#pragma once
// Admission of workers: the interface of a barrier rule, and the gate that evaluates it. A Gate holds the waiting
// workers, evaluates the rule again for a worker when its answer may have changed, and returns the time of the next
// evaluation without events. Owned by the thread that owns the Progress; never blocks, and takes the time as an
// argument.

#include <span>
#include <unordered_map>
#include <vector>

#include "host/barrier/progress.hpp"
#include "host/barrier/progress_sample.hpp"
#include "host/base/clock.hpp"
#include "host/base/non_copyable.hpp"

namespace actorhost {

/// A rule's answer for one worker. The layout is shared with Lua (bindings/modules/engine/ffi_barrier.h).
struct Decision {
  bool pass = false;
  double recheck_seconds = kForever;  // evaluate again after so long even without events; only if !pass
  // of Watch::worker, with a step above 0: the answer holds until that worker has completed so many steps
  NodeId worker = 0;
  int32_t step = 0;
};

/// The inputs of a rule's answer. Recheck times and membership changes count for every rule.
enum class Watch : uint8_t {
  floor,  // the minimum clock: bsp, ssp
  event,  // any completion or suspicion
  timer,  // nothing else: polls
  worker  // the step of a worker that the answer names; without a name, any completion or suspicion
};

/// A worker's view if no worker knows all clocks.
struct PartialSight {
  Seen seen;                // the workers with a known clock
  uint32_t population = 0;  // number of workers
  bool aggregates = false;  // it sees no single clock: seen.lowest is the minimum of all, and there are no slots
};

class BarrierRule : public Interface {
 public:
  /// Writes a decision for each of `requesters` to out[0 .. requesters.size()-1]. The slots are current slots of
  /// `progress`. An error (the rule raised) is final: the run cannot continue with this rule.
  virtual Status decide(const Progress& progress, std::span<const Slot> requesters, double now,
                        std::span<Decision> out) = 0;
  /// Writes a decision for one worker that sees no more than `sight`. `progress` holds that worker and those that it
  /// sees, so its size is not the population. Code::unsupported for a rule that needs all clocks; an error is final
  /// here too.
  virtual Status decide_partly(const Progress& progress, Slot requester, const PartialSight& sight, double now,
                               Decision& out);
  /// The bound on how far an admitted worker may be ahead; 0 is BSP (updates are merged in order and become visible at
  /// the barrier), -1 means no bound.
  virtual int staleness() const { return -1; }
  virtual Watch watch() const { return Watch::event; }
  /// Rises when the rule changes: then all waiting workers are evaluated again.
  virtual uint64_t version() const { return 0; }
};

/// Every worker passes (ASP).
class FreeRule final : public BarrierRule {
 public:
  Status decide(const Progress& /*progress*/, std::span<const Slot> /*requesters*/, double /*now*/,
                std::span<Decision> out) override {
    for (Decision& decision : out) decision.pass = true;
    return {};
  }
  Watch watch() const override { return Watch::timer; }
};

/// The waiting workers and their recheck times: the part of a Gate that needs no rule.
class Waiting {
 public:
  /// Shortest recheck time in seconds.
  static constexpr double kMinRecheck = 1e-4;

  /// `progress` must outlive it, and no other code may call `progress.request`.
  explicit Waiting(Progress& progress) : progress_(progress) {}

  /// Worker `id` has completed its step and requests admission. False if it is not counted.
  bool request(NodeId id, double now);
  /// Makes the next begin pick all waiting workers.
  void mark_all_due() noexcept { all_due_ = true; }
  /// The due workers, in the order of their requests. Their slots are valid until finish, which must follow
  /// before any change of the progress (or another begin, which starts again).
  std::span<const Slot> begin(double now, Watch watch);
  /// The array for the answers to begin, one per slot.
  std::span<Decision> decisions() noexcept { return decisions_; }
  /// Appends the admitted workers to `passed`; they no longer wait.
  void finish(std::vector<NodeId>& passed);
  /// When to call begin again even without events; kForever if never.
  double next_time() const noexcept { return next_time_; }
  /// Number of answers of each kind.
  uint64_t passed() const noexcept { return passed_; }
  uint64_t refused() const noexcept { return refused_; }

 private:
  struct Waiter {
    NodeId id;
    uint64_t ticket;  // of its request; if Progress has another ticket, this entry is out of date
    double due;       // next evaluation; in the past for new requests
    // with a step above 0: evaluate again once that worker has completed so many steps
    NodeId worker = 0;
    int32_t step = 0;
  };

  bool state_changed(Watch watch) const noexcept;
  /// Whether worker `id` has completed `step` steps, or is no longer counted.
  bool reached(NodeId id, int32_t step) const noexcept;
  bool some_reached() const noexcept;
  void pick(bool all, bool reached_too);
  void await(const Waiter& waiter);

  Progress& progress_;
  std::vector<Waiter> waiters_;      // in order of their requests
  size_t fresh_ = 0;                 // waiters_[fresh_ ..] have not been evaluated yet
  size_t from_ = 0;                  // this round covers waiters_[from_ ..]
  std::vector<size_t> picked_;       // indices of waiters_
  std::vector<Slot> requesters_;     // their slots
  std::vector<Decision> decisions_;  // their answers
  double now_ = 0;
  double next_time_ = kForever;
  // of Watch::worker: the lowest step that some waiter awaits of each worker
  std::unordered_map<NodeId, int32_t> awaited_;
  bool some_unnamed_ = false;   // some waiters' answers named no worker
  Watch watch_ = Watch::event;  // of this round
  bool all_due_ = false;
  uint64_t seen_layout_ = 0;  // state at the last round
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
  /// Takes another rule, which must outlive the gate; all waiting workers are evaluated again.
  void set_rule(BarrierRule& rule);
  BarrierRule& rule() const { return *rule_; }

  bool request(NodeId id, double now) { return waiting_.request(id, now); }
  /// Appends the newly admitted workers to `passed`, in the order of their requests; they no longer wait. Call it after
  /// events, membership changes and at next_time(). Cheap if no answer can have changed.
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
