#pragma once
// Which process holds which outputs, over all actions of a job. Also, for longer than the outputs, where each task has
// last run and whether its accumulators have counted. The tracker's own, one thread.

#include <cstdint>
#include <map>
#include <vector>

#include "host/base/result.hpp"
#include "host/mapreduce/tasks/plan.hpp"

namespace actorhost {

class OutputPlaces {
 public:
  struct Stage {
    std::vector<ProcessId> at;    // by task; kNoProcess where there is none
    std::vector<uint64_t> since;  // by task: the clock when it came there
    uint32_t here = 0;
    uint32_t version = 0;  // grows with each change
    bool complete() const noexcept { return here == at.size(); }
    bool has(uint32_t task) const noexcept { return at[task] != kNoProcess; }
  };

  /// Makes the stage known. Code::mismatch when it is known with another number of tasks.
  Status open(StageId id, uint32_t tasks);
  /// Of a stage that is open. The reference holds until it is forgotten.
  const Stage& stage(StageId id) const { return stages_.at(id); }
  bool knows(StageId id) const { return stages_.contains(id); }

  /// False when the task has its output already.
  bool add(StageId id, uint32_t task, ProcessId process);
  /// Counts the outputs that have come.
  uint64_t clock() const noexcept { return clock_; }
  /// A worker that was told the places as of `seen` has not found the output there. False when that is no news: the
  /// output is known to be gone, or it has come there since.
  bool drop(StageId id, uint32_t task, ProcessId process, uint64_t seen);
  /// The same for all of a stage there.
  bool drop_all(StageId id, ProcessId process, uint64_t seen);
  /// A process is gone with all that it held; how many outputs that were.
  size_t lose(ProcessId process);
  void forget(StageId id);

  /// The process where the task was last done, if it is still there. Not known any more for stages that have not been
  /// used for long.
  ProcessId last_run(StageId id, uint32_t task) const;
  /// True the first time.
  bool count_once(StageId id, uint32_t task);

 private:
  static bool drop_task(Stage& stage, uint32_t task, ProcessId process, uint64_t seen);

  std::map<StageId, Stage> stages_;
  uint64_t clock_ = 0;
  std::map<StageId, std::vector<ProcessId>> ran_;
  size_t ran_entries_ = 0;
  std::map<StageId, std::vector<bool>> counted_;
};

}  // namespace actorhost
