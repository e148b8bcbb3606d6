#pragma once
// One worker's model as averaging sees it: its tensors, the lock that a step holds, and the two things that a round
// does to them, a copy at its beginning and the change at its end. Both happen between steps only, so a copy is
// consistent and a change meets no half of an update.
//
// Shared by the worker's thread and its process's courier. Neither ever waits for more of the other than one copy of
// the memory: what a round asks for during a step the worker does when the step ends; what it asks for between steps
// the courier does itself. So rounds cannot starve, and a step waits for one copy at most.
//
// Workers whose steps are long copy their model before each, and answer rounds out of that: a round then need not wait
// for the step's end.

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "host/base/blob.hpp"
#include "host/base/clock.hpp"
#include "host/base/result.hpp"
#include "host/kernel/kernels.hpp"

namespace actorhost {

/// How a model's tensors lie in one buffer: those of one element type one behind the other.
struct AverageLayout {
  struct Segment {
    Dtype dtype = Dtype::f32;
    size_t begin = 0;     // byte, aligned as a block is
    size_t elements = 0;  // not 0

    size_t bytes() const noexcept { return elements * dtype_size(dtype); }
  };
  std::vector<Segment> segments;
  size_t bytes = 0;
};

/// What a round has made of the models: the mean of `count` of them, laid out as the copies are. The sum of all `terms`
/// is theirs; few copies of one process are added up where they are used, which saves writing and reading a sum.
struct AverageResult {
  std::vector<Blob> terms;
  uint32_t count = 1;
};

class AverageReplica {
 public:
  struct Part {
    std::string name;
    Dtype dtype = Dtype::f32;
    Blob bytes;  // the tensor's own
  };
  struct Stats {
    uint64_t rounds = 0;     // that have changed this model
    uint64_t missed = 0;     // that went without it
    uint64_t broken = 0;     // that no worker applied
    uint64_t bytes = 0;      // that this process has sent in rounds of this model
    uint64_t steps = 0;      // times that the lock was held
    double waiting = 0;      // seconds that the worker waited for the lock
    double copying = 0;      // seconds that it copied and changed by itself
    uint64_t staleness = 0;  // steps between copy and change, in the last round and in all
    uint64_t all_staleness = 0;
    uint64_t age = 0;  // steps since the last change
  };

  /// `long_step`: seconds from which on a step counts as long. `look` wakes the courier, on any thread.
  AverageReplica(const std::vector<Part>& parts, double long_step, const Clock& clock, std::function<void()> look);

  const AverageLayout& layout() const noexcept { return layout_; }

  // ---- the worker's thread ----

  /// Takes the lock. Fails when a round has found what is no number in the model since the last call, with its name.
  Status lock();
  /// Gives it back, and does what rounds have asked for meanwhile. Fails as `lock` does.
  Status unlock();
  /// Unlocks and locks within one step, between its gradient and its update, so that rounds may copy or change there.
  Status pause();
  bool held() const;
  Stats stats() const;

  /// Until the next round there is nothing to compare the model with: the copy's memory goes back.
  void rest();

  /// To be called before the worker waits for a round of all: the round's end is then kept for it.
  void expect();
  bool settled() const;
  /// How it ended; once.
  Status outcome();

  // ---- the courier's thread ----

  /// What waits for `settle`.
  void set_wake(std::function<void()> wake);
  void settle(Status outcome);

  enum class Copied { no, yes, refused };
  /// Wants the model as it is between two steps, for a round.
  void ask_copy();
  /// Whether there is one. `refused`: there is none for this round, since the last round's change waits for the end of
  /// a step that is a long one, or since the model is not finite (`fault`).
  Copied copied() const;
  std::string fault() const;
  /// As of `ask_copy`; not written as long as anything refers to it.
  Blob copy() const;
  /// The round goes without this model.
  void forget_copy(bool missed);
  /// model += mean - copy, or with `full` model = mean; between steps.
  void apply(const AverageResult& result, bool full, uint64_t bytes_sent);
  /// The round was broken.
  void broken();

 private:
  struct Piece {
    Part part;
    size_t at = 0;  // byte of the buffer
  };
  struct Change {
    AverageResult result;
    Blob copy;          // empty: the model is replaced
    uint64_t step = 0;  // when it was copied
  };

  // With the lock held.
  void work();
  void make_copy();
  bool finite_copy(const Piece& piece);
  void change(const Change& what);
  Status raise_fault();
  Status let_rounds_in(double now);

  AverageLayout layout_;
  std::vector<Piece> parts_;
  const double long_step_;
  const Clock& clock_;
  const std::function<void()> look_;

  mutable std::mutex mutex_;  // guards what follows
  bool held_ = false;
  double since_ = 0;  // when the lock was taken
  double last_step_ = 0;
  bool wanted_ = false;    // a copy, as soon as there is no step
  bool standing_ = false;  // the copy is that of the model before the step that goes on
  bool copied_ = false;    // for the round
  bool refused_ = false;
  uint64_t copy_step_ = 0;
  Blob copy_;
  std::optional<Change> change_;
  std::string fault_;
  bool told_ = true;  // of the fault
  Stats stats_;
  uint64_t changed_step_ = 0;
  bool expects_ = false;
  std::optional<Status> outcome_;
  std::function<void()> wake_;
};

}  // namespace actorhost
