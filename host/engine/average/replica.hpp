#pragma once
// One worker's model for averaging, the lock that a step holds, and the requests of rounds: a copy at a round's start
// and the change at its end. Both happen only between steps, so a copy is consistent and a change never interleaves
// with an update.
//
// Shared by the worker's thread and its process's courier. Neither waits for the other longer than one copy of the
// memory takes. The worker does the requests of a round that arrive during a step when the step ends; the courier does
// requests between steps itself. So rounds cannot starve, and a step waits for one copy at most.
//
// Workers with long steps copy their model before each step and serve rounds from that copy, so a round need not wait
// for the end of the step.

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/result.hpp"
#include "host/engine/average/average_model.hpp"

namespace actorhost {

class AverageReplica {
 public:
  struct Stats {
    uint64_t rounds = 0;     // rounds that changed this model
    uint64_t missed = 0;     // rounds without this model
    uint64_t broken = 0;     // rounds that no worker applied
    uint64_t bytes = 0;      // sent by this process in rounds of this model
    uint64_t steps = 0;      // number of times that the lock was held
    double waiting = 0;      // seconds that the worker waited for the lock
    double copying = 0;      // seconds that the worker copied and changed the model itself
    uint64_t staleness = 0;  // steps between copy and change, in the last round and in total
    uint64_t all_staleness = 0;
    uint64_t age = 0;     // steps since the last change
    double distance = 0;  // from its copy to the mean in the last round: Euclidean norm
  };

  /// `long_step` is the least duration of a long step in seconds. `wake_courier` wakes the courier, on any thread.
  AverageReplica(const std::vector<AverageModel::Part>& parts, double long_step, const Clock& clock,
                 std::function<void()> wake_courier);

  const AverageLayout& layout() const noexcept { return model_.layout(); }

  // ---- the worker's thread ----

  /// Takes the lock. Fails, and names the tensor, if a round has found a value that is not finite since the last call.
  Status lock();
  /// Releases the lock and does pending requests of rounds. Fails like `lock`.
  Status unlock();
  /// Releases the lock and takes it again within one step, between gradient and update, so that rounds may copy or
  /// change the model there.
  Status pause();
  bool held() const;
  Stats stats() const;

  /// Frees the copy: until the next round there is nothing to compare the model with.
  void free_copy();

  /// To be called before the worker waits for a round of all; the round's outcome is then stored for the worker.
  void expect();
  bool settled() const;
  /// The outcome; to be taken once.
  Status outcome();

  // ---- the courier's thread ----

  /// Sets the function that wakes the worker on `settle`.
  void set_wake(std::function<void()> wake);
  void settle(Status outcome);

  enum class Copied { no, yes, refused };
  /// Requests a copy of the model between two steps, for a round.
  void request_copy();
  /// Whether the copy exists. `refused`: no copy for this round, because the last round's change waits for the end of a
  /// long step, or because the model is not finite (`fault`).
  Copied copied() const;
  std::string fault() const;
  /// The copy that `request_copy` requested. It is not overwritten while it is referenced.
  Blob copy() const;
  /// The round continues without this model.
  void forget_copy(bool missed);
  /// model += mean - copy, or with `full` model = mean; between steps.
  void apply(const AverageResult& result, bool full, uint64_t bytes_sent);
  /// The round was broken.
  void broken();

 private:
  enum class CopyState : uint8_t {
    none,
    requested,  // a copy, as soon as no step runs
    copied,     // for the round
    refused
  };
  struct Change {
    AverageResult result;
    Blob copy;          // empty: the model is replaced
    uint64_t step = 0;  // when it was copied
  };

  // With mutex_ locked.
  void work();
  void make_copy();
  void change(const Change& pending);
  Status raise_fault();
  Status serve_rounds(double now);

  AverageModel model_;  // its layout is constant; mutex_ guards the rest
  const double long_step_;
  const Clock& clock_;
  const std::function<void()> wake_courier_;

  mutable std::mutex mutex_;  // guards the members below
  bool held_ = false;
  double since_ = 0;  // when the lock was taken
  double last_step_ = 0;
  CopyState copy_state_ = CopyState::none;
  bool has_step_copy_ = false;  // the copy is the model before the current step
  uint64_t copy_step_ = 0;
  Blob copy_;
  std::optional<Change> change_;
  std::string fault_;
  bool fault_reported_ = true;  // the worker has the fault
  Stats stats_;
  uint64_t changed_step_ = 0;
  bool awaits_outcome_ = false;
  std::optional<Status> outcome_;
  std::function<void()> wake_;
};

}  // namespace actorhost
