#pragma once
// Batches that a thread of its own gathers a few ahead of the script. Owned by a userdata of actor.c.data, whose
// finalizer ends it; every function but the thread's is called on the Vm's thread. What is read and written is kept
// alive by the holders that come with it. No call fails: a position that is no row is the result of its batch.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "host/base/blob.hpp"

namespace actorhost {

/// Writes the rows at `positions` (an ah_positions) to `out`. Returns 0, or where in them (from 1) one is no row.
using Gather = std::function<int64_t(const void* positions, void* out)>;

class BatchLoader {
 public:
  struct Target {
    Blob block;  // keeps `to`
    void* to;
  };
  /// What of a batch could not be gathered: nothing where `at` is 0.
  struct Misfit {
    size_t source = 0;  // from 0
    int64_t at = 0;     // in the positions, from 1
  };

  /// A batch has a part from each source. Throws std::system_error when there is no thread to be had.
  explicit BatchLoader(std::vector<Gather> sources);
  /// Waits for the part that is being gathered; further ones are not.
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  /// Begins a batch: an ah_positions, as numbers, and a target for each source. Does not block.
  void submit(std::vector<int32_t> positions, std::vector<Target> targets);
  /// Waits for the oldest batch that was submitted and not taken; there has to be one. A batch that the thread has not
  /// begun, since the machine is busy, is gathered by the caller.
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
  size_t begun_ = 0;  // of them; those stand before the others
  bool quit_ = false;
  std::thread thread_;
};

}  // namespace actorhost
