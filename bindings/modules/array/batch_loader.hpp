#pragma once
// Loads batches of rows from in-memory data sets ahead of the training loop. The loader's own thread copies ("gathers")
// the rows of each batch into tensors while the script works on the previous batch. A userdata of actor.c.data owns the
// loader; its finalizer ends the loader and the thread. All public functions are called on the Vm's thread; only `take`
// and the destructor block. Sources and targets keep their memory alive. `submit` accepts invalid positions; `take`
// reports them.

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "host/base/blob.hpp"
#include "host/base/non_copyable.hpp"
#include "host/base/tasks.hpp"

namespace actorhost {

/// Writes the rows at `positions`, an ah_positions (ffi_data.h), to `out`. Returns 0, or the index (from 1) of the
/// first invalid position.
using Gather = std::function<int64_t(const void* positions, void* out)>;

class BatchLoader : private NonCopyable {
 public:
  struct Target {
    Blob block;  // keeps the memory at `to` alive
    void* to;
  };
  /// The first invalid position of a batch; `at` is 0 when all positions are valid.
  struct Misfit {
    size_t source = 0;  // the source that has no such row, from 0
    int64_t at = 0;     // index in the positions, from 1
  };

  /// A batch has one part from each source. Throws std::system_error when no thread can be started.
  explicit BatchLoader(std::vector<Gather> sources);
  /// Waits until the thread has gathered its current part of a batch; drops all other parts.
  ~BatchLoader();

  /// Queues a batch, with one target for each source. `positions` has the words of an ah_positions: the number of
  /// positions, then the positions. Does not block.
  void submit(std::vector<int32_t> positions, std::vector<Target> targets);
  /// Removes the oldest submitted batch from the queue, which must not be empty, once the batch is complete. If the
  /// thread has not begun the batch (the machine is busy), the caller gathers the batch itself; else it waits.
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
  WaitPoint changed_;
  std::deque<Batch> batches_;
  size_t begun_ = 0;  // the gathering of this many of the oldest batches has begun
  bool quit_ = false;
  Task thread_;
};

}  // namespace actorhost
