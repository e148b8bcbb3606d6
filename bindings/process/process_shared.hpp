#pragma once
// The objects shared by the VMs of one process, beside the cluster. `console`, `data` and `meetings` are thread-safe;
// `program` and `resumed` do not change during a run; each store belongs to the thread of its shard's server.

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bindings/process/console.hpp"
#include "bindings/process/program.hpp"
#include "host/base/non_copyable.hpp"
#include "host/base/series.hpp"
#include "host/cluster/look/barrier_board.hpp"
#include "host/cluster/service_thread.hpp"
#include "host/data/content/data_cache.hpp"
#include "host/data/file/folder_lock.hpp"
#include "host/engine/average/averages.hpp"
#include "host/engine/collective/async_calls.hpp"
#include "host/engine/collective/meeting.hpp"
#include "host/engine/param/checkpoint.hpp"
#include "host/engine/param/trace.hpp"
#include "host/engine/peer/peer_service.hpp"
#include "host/engine/share/lock_service.hpp"
#include "host/engine/values/param_store.hpp"
#include "host/mapreduce/tasks/data_service.hpp"

namespace actorhost {

/// A process's courier with its tasks. Add a new task as a member behind the courier, before `start`.
struct CourierWithTasks : private NonCopyable {
  CourierWithTasks(Cluster& cluster, const Clock& clock, Log& log)
      : courier(cluster, clock, log, courier_address(cluster.process())),
        locks(courier),
        arbiter(courier),
        calls(courier, arbiter),
        averages(courier),
        peers(courier) {
    courier.start();
  }
  ~CourierWithTasks() { courier.stop(); }

  ServiceThread courier;
  LockService locks;
  Arbiter arbiter;
  AsyncCalls calls;
  Averages averages;
  PeerService peers;
};

/// The end of a run after SIGTERM, on all its hosts.
inline const EndMessage kTerminated{Code::interrupted, false, "terminated", kNoAddress};

/// The state of the last checkpoint, which SIGTERM requests from the loop of server 0. In order: no run with
/// checkpoints is served; such a run is served; the last checkpoint is requested; it has begun; the writer has its
/// values.
enum class LastCheckpoint { none, served, requested, begun, taken };

/// The job's own checkpoint keepers (actor.checkpoint) that save in this process, by name. Thread-safe.
class Keepers {
 public:
  void add(const std::string& name) {
    std::lock_guard lock(mutex_);
    saved_.emplace(name, false);
  }
  /// `name` makes no further saves.
  void drop(const std::string& name) {
    std::lock_guard lock(mutex_);
    saved_.erase(name);
  }
  bool any() const {
    std::lock_guard lock(mutex_);
    return !saved_.empty();
  }
  /// Requests one more save of each keeper.
  void begin_last() {
    std::lock_guard lock(mutex_);
    last_ = true;
  }
  bool last() const {
    std::lock_guard lock(mutex_);
    return last_;
  }
  /// Counts a save of keeper `name`; true when the save completes the request.
  bool saved(const std::string& name) {
    std::lock_guard lock(mutex_);
    if (!last_) return false;
    saved_[name] = true;
    return std::all_of(saved_.begin(), saved_.end(), [](const auto& keeper) { return keeper.second; });
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, bool> saved_;  // saved since the request
  bool last_ = false;
};

struct ProcessShared {
  Console console;
  std::shared_ptr<DataCache> data = std::make_shared<DataCache>();
  SeriesBook series;                                // the job's reports
  BarrierBoard barrier;                             // the workers that wait at a barrier
  std::shared_ptr<Program> program;                 // the embedding program; null without one
  std::vector<std::unique_ptr<ParamStore>> stores;  // by shard; they outlive the servers' VMs
  std::atomic<int64_t> finished_run{-1};            // the last action that the present servers have served to its end
  std::optional<ParamCheckpoint> resumed;           // the checkpoint that the run resumes from
  std::unique_ptr<DataService> exchange;            // map-reduce's store and service; constant while nodes run
  std::unique_ptr<CourierWithTasks> courier;        // constant while nodes run
  std::function<void(const Error&)> checkpoint_failed;  // ends the run
  std::atomic<LastCheckpoint> last_checkpoint{LastCheckpoint::none};
  Keepers keepers;
  FolderLocks locks;                  // of the checkpoint folders
  Meetings meetings;                  // of this process's nodes
  std::unique_ptr<ParamTrace> trace;  // of --record; only server 0 uses it while nodes run

  /// The writer of checkpoints; the first call makes it, with this call's directory. Thread-safe.
  ParamCheckpointer& checkpointer(const std::string& directory, uint32_t shards, Log& log) {
    std::lock_guard lock(checkpointer_mutex_);
    if (!checkpointer_) {
      checkpointer_ = std::make_unique<ParamCheckpointer>(CheckpointFolder{directory}, shards, log, checkpoint_failed);
    }
    return *checkpointer_;
  }
  bool checkpoint_pending() {
    std::lock_guard lock(checkpointer_mutex_);
    return checkpointer_ && checkpointer_->pending();
  }
  /// Waits until all taken checkpoints are on disk.
  Status flush_checkpoints() {
    std::lock_guard lock(checkpointer_mutex_);
    return checkpointer_ ? checkpointer_->flush() : Status();
  }

 private:
  std::mutex checkpointer_mutex_;
  std::unique_ptr<ParamCheckpointer> checkpointer_;
};

}  // namespace actorhost
