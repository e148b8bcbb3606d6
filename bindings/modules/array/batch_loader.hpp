#pragma once
// Gathers batches on its own thread, a few batches ahead of the script. Owned by a userdata of actor.c.data, whose
// finalizer ends it. Except for that thread, all functions run on the Vm's thread. Sources and targets hold their
// memory. No call fails: an invalid position is a part of its batch's result.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "host/base/blob.hpp"

namespace actorhost {

/// Writes the rows at `positions` (an ah_positions) to `out`. Returns 0, or the index (from 1) of an invalid
/// position.
using Gather = std::function<int64_t(const void* positions, void* out)>;

class BatchLoader {
 public:
  struct Target {
    Blob block;  // keeps `to` alive
    void* to;
  };
  /// The first invalid position of a batch; `at` is 0 when all positions are valid.
  struct Misfit {
    size_t source = 0;  // from 0
    int64_t at = 0;     // index in the positions, from 1
  };

  /// Each source contributes one part of a batch. Throws std::system_error when no thread can be started.
  explicit BatchLoader(std::vector<Gather> sources);
  /// Waits for the part in progress; drops the remaining parts.
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  /// Queues a batch: an ah_positions, as numbers, and a target for each source. Does not block.
  void submit(std::vector<int32_t> positions, std::vector<Target> targets);
  /// Waits for the oldest submitted batch, which must exist, and removes it. If the thread has not begun the batch,
  /// because the machine is busy, the caller gathers it.
  Misfit take();

 private:
  struct Batch {
    std::vector<int32_t> positions;
    std::vector<Target> targets;
    Misfit misfit = {};
    bool done = false;
  };

  void run();
  void gather_next(std::unique_lock<std::mutex>& lock);
  Misfit gather(const Batch& batch);

  const std::vector<Gather> sources_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> batches_;
  size_t begun_ = 0;  // the first begun_ batches have begun
  bool quit_ = false;
  std::thread thread_;
};

}  // namespace actorhost
