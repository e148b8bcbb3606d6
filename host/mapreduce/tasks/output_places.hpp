#pragma once
// Records which process holds each output, over all actions of a job. Also records, for longer than the outputs exist,
// where each task last ran and whether its accumulators have counted. Owned by the tracker and used on its thread.

#include <cstdint>
#include <map>
#include <vector>

#include "host/base/result.hpp"
#include "host/mapreduce/tasks/plan.hpp"

namespace actorhost {

class OutputPlaces {
 public:
  struct Stage {
    std::vector<ProcessId> at;    // by task; kNoProcess where there is no output
    std::vector<uint64_t> since;  // by task: the clock when the output was added
    uint32_t present = 0;
    uint32_t version = 0;  // grows with each change
    bool complete() const noexcept { return present == at.size(); }
    bool has(uint32_t task) const noexcept { return at[task] != kNoProcess; }
  };

  /// Adds a stage. Code::mismatch when the stage exists with another number of tasks.
  Status open(StageId id, uint32_t tasks);
  /// Of an open stage. The reference is valid until `forget`.
  const Stage& stage(StageId id) const { return stages_.at(id); }
  bool knows(StageId id) const { return stages_.contains(id); }

  /// Returns false when the task already has an output.
  bool add(StageId id, uint32_t task, ProcessId process);
  /// The number of outputs added so far.
  uint64_t clock() const noexcept { return clock_; }
  /// Removes an output that a worker did not find; the worker knew the places as of `seen`. Returns false when the
  /// output is already removed or was added again after `seen`.
  bool drop(StageId id, uint32_t task, ProcessId process, uint64_t seen);
  /// The same for all outputs of the stage on that process.
  bool drop_all(StageId id, ProcessId process, uint64_t seen);
  /// Removes all outputs of a failed process. Returns the number of lost outputs.
  size_t drop_process(ProcessId process);
  void forget(StageId id);

  /// The process where the task last completed, if that process is alive. Stages unused for long are not remembered.
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
