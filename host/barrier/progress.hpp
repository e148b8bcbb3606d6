#pragma once
// The clocks of the workers, as a barrier rule reads them. A worker's clock is its number of completed steps. Owned by
// the node that admits workers (a parameter server, a peer, the simulator), on one thread. Passive: nothing here waits
// or draws random numbers. The *counted* workers (alive or suspected, not parked) are in dense arrays, one entry per
// slot. A slot is valid until the next change of layout() (a worker removed, parked or added); an id is valid for ever.
// Every call on one worker is O(1) amortised. A call for an uncounted worker changes nothing and returns false,
// so late frames of failed workers are harmless.

#include <unordered_map>
#include <vector>

#include "host/barrier/slot_table.hpp"
#include "host/base/result.hpp"

namespace actorhost {

/// Number of workers at each step, with the smallest and greatest step kept up to date.
class StepCounts {
 public:
  void add(int32_t step);
  void remove(int32_t step);
  /// Moves one worker from `step` to the next step.
  void advance(int32_t step);

  uint32_t total() const noexcept { return total_; }
  /// Both need total() > 0.
  int32_t min() const noexcept { return min_; }
  int32_t max() const noexcept { return max_; }
  /// The number of workers with fewer than `step` completed steps; O(step - min()).
  uint32_t below(int64_t step) const noexcept;
  /// The smallest step such that at least `rank` workers are at it or below; 1 <= rank <= total().
  int32_t at_rank(uint32_t rank) const noexcept;

 private:
  uint32_t& count(int32_t step) noexcept { return counts_[static_cast<size_t>(step - base_)]; }
  void settle();

  std::vector<uint32_t> counts_;  // counts_[i] workers at step base_ + i
  int32_t base_ = 0;
  int32_t min_ = 0;
  int32_t max_ = 0;
  uint32_t total_ = 0;
};

/// A worker's report of its state.
struct WorkerState {
  int32_t step = 0;     // completed steps
  bool busy = false;    // works on a step
  double started = 0;   // when its step (or its last step) began
  double duration = 0;  // seconds of its last step, 0 at first
  double average = 0;   // seconds of its recent steps, averaged
};

class Progress {
 public:
  static constexpr NodeId kMaxId = (1U << 30) - 1;
  static constexpr int32_t kMaxSpread = 1 << 24;  // the counts per step are an array
  /// The weight of the newest step in the worker's running average; the last 2 or 3 steps make up half of it.
  static constexpr double kNewest = 0.25;
  /// The running average after another step.
  static double averaged(double average, double duration) noexcept {
    return average + (average > 0 ? kNewest : 1) * (duration - average);
  }

  /// Counts worker `id` from now on, with `step` completed steps. Fails if the id is known or out of range.
  Status add(NodeId id, int32_t step);
  /// The same for a worker that already works on a step.
  Status add(NodeId id, const WorkerState& state);
  /// Counts a joining worker: at the minimum clock of the counted workers, or at `first` if there are none.
  Status join(NodeId id, int32_t first = 0);
  /// Forgets a worker, counted or parked.
  bool remove(NodeId id);
  /// Stops counting an idle worker; no worker waits for it and it waits for none.
  bool park(NodeId id);
  /// Counts a parked worker again, at its own clock or the minimum clock, whichever is later, so that no worker waits
  /// for it.
  bool unpark(NodeId id);

  /// The worker begins a step.
  bool start(NodeId id, double now);
  /// The worker has completed a step, which is an event.
  bool complete(NodeId id, double now);
  /// The worker has pulled version `version` of the model.
  bool pulled(NodeId id, double version);
  /// The failure detector suspects the worker, or clears it.
  bool suspect(NodeId id, bool suspected);

  /// The worker requests admission and waits from now on. A repeated request changes nothing.
  bool request(NodeId id, double now);
  /// The worker no longer waits (it was admitted, or gave up).
  bool pass(NodeId id);

  uint32_t size() const noexcept { return static_cast<uint32_t>(ids_.size()); }
  bool parked(NodeId id) const { return parked_.count(id) != 0; }
  /// The slot of a counted worker, or kNoSlot.
  Slot slot(NodeId id) const noexcept { return slots_.find(id); }

  /// Of the counted workers. min and max need size() > 0; passed and quantile do not.
  int32_t min() const noexcept { return counts_.min(); }
  int32_t max() const noexcept { return counts_.max(); }
  /// The number of workers with at least `step` completed steps; O(step - min()).
  uint32_t passed(int64_t step) const noexcept { return size() - counts_.below(step); }
  /// The smallest step such that at least the fraction q of the workers are at it or below; infinite without workers.
  double quantile(double q) const noexcept;
  uint32_t waiting() const noexcept { return waiting_; }
  /// The number of buffered updates, which wait until enough have arrived for a merge.
  void set_buffered(size_t updates) noexcept { buffered_ = static_cast<uint32_t>(updates); }
  uint32_t buffered() const noexcept { return buffered_; }

  /// Number of completed steps so far; the resampling policy `event` counts them.
  uint64_t events() const noexcept { return events_; }
  /// Rises when slots move: workers added, removed, parked, unparked.
  uint64_t layout() const noexcept { return layout_; }
  /// Rises with every event, change of layout and change of suspicion: a rule's answer may depend on each.
  uint64_t changes() const noexcept { return changes_; }

  // One entry per slot; valid until the layout changes.
  const NodeId* ids() const noexcept { return ids_.data(); }
  const int32_t* steps() const noexcept { return steps_.data(); }         // completed steps
  const uint8_t* busy() const noexcept { return busy_.data(); }           // 1 while it works on a step
  const uint8_t* alive() const noexcept { return alive_.data(); }         // 0 while it is suspected
  const double* pulled() const noexcept { return pulled_.data(); }        // version of its last pull, 0 at first
  const double* durations() const noexcept { return durations_.data(); }  // seconds of its last step, 0 at first
  const double* averages() const noexcept { return averages_.data(); }    // seconds of its recent steps, 0 at first
  const double* started() const noexcept { return started_.data(); }      // when its step (or its last step) began
  const double* requested() const noexcept { return requested_.data(); }  // when it requested admission
  const uint64_t* tickets() const noexcept { return tickets_.data(); }  // number of its request, 0 if it does not wait
  const Slot* everyone() const noexcept { return everyone_.data(); }    // 0, 1, 2, ...

 private:
  struct Parked {
    int32_t step;
    double pulled;
    double duration;
    double average;
    uint8_t alive;
  };

  void insert(NodeId id, const Parked& worker);
  void erase(Slot slot);

  std::vector<NodeId> ids_;
  std::vector<int32_t> steps_;
  std::vector<uint8_t> busy_;
  std::vector<uint8_t> alive_;
  std::vector<double> pulled_;
  std::vector<double> durations_;
  std::vector<double> averages_;
  std::vector<double> started_;
  std::vector<double> requested_;
  std::vector<uint64_t> tickets_;
  std::vector<Slot> everyone_;
  SlotTable slots_;
  std::unordered_map<NodeId, Parked> parked_;
  StepCounts counts_;
  uint64_t events_ = 0;
  uint64_t layout_ = 0;
  uint64_t changes_ = 0;
  uint64_t requests_ = 0;
  uint32_t waiting_ = 0;
  uint32_t buffered_ = 0;
};

}  // namespace actorhost
