#pragma once
// The parameter server's checkpoints, as the coordinator's process prepares them from --checkpoint and --resume before
// the run begins. Errors name the flag. Used on the main thread.

#include "bindings/process/process_shared.hpp"
#include "bindings/process/run_options.hpp"

namespace actorhost {

inline constexpr int kNoCheckpoint = 4;  // exit code: the run's checkpoints cannot be written

class HostCheckpoints {
 public:
  /// The objects belong to the host runtime and outlive this one.
  HostCheckpoints(RunOptions& options, ProcessShared& process) : options_(options), process_(process) {}

  /// --resume: loads the newest complete checkpoint into the process; its servers restore the values. A job with its
  /// own checkpoints (actor.checkpoint, iterate) reads them later.
  Status load(Log& log);
  /// --checkpoint: tests the folder before the run begins.
  Status test();
  /// Locks the folder for this run once this host is the coordinator. Other hosts with the same command must not lock
  /// it.
  Status lock();
  /// Whether `test` or `lock` has failed.
  bool unusable() const noexcept { return unusable_; }

 private:
  Status usable(const Status& status);

  RunOptions& options_;
  ProcessShared& process_;
  bool unusable_ = false;
};

}  // namespace actorhost
