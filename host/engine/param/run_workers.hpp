#pragma once
// The workers of a run of param.run, as shard 0 knows them. A member is absent until it reaches the run. Then it is
// busy with a task, waits at the barrier, or is parked: `schedule` gave it no work. Plain data; belongs to the run's
// ParamController.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "host/engine/param/param_messages.hpp"
#include "host/engine/param/run_recorder.hpp"

namespace actorhost {

struct RunWorker {
  bool ready = false;            // it has reached the run
  bool busy = false;             // it works on a task
  bool uncopied = false;         // the shards do not copy the push, because it is merged before the worker's next step
  bool staged = false;           // the push of its task is stored until shard 0 commits it
  bool parked = false;           // it has no task until `schedule` gives it work
  uint64_t step = 0;             // its clock: the number of its completed steps
  std::vector<ParamEntry> task;  // the entries of its task
  RecordedWorker record;
};

class RunWorkers {
 public:
  /// Adds a member of the run's start, as absent.
  RunWorker& expect(NodeId id) {
    absent_.insert(id);
    return workers_[id];
  }
  /// Adds a worker that joins after the start.
  void add(NodeId id) {
    if (!removed(id)) workers_.try_emplace(id);
  }
  /// The worker has failed or departed; ids are never reused.
  bool removed(NodeId id) const { return removed_.count(id) != 0; }
  std::optional<RunWorker> remove(NodeId id) {
    removed_.insert(id);
    absent_.erase(id);
    auto node = workers_.extract(id);
    if (node.empty()) return std::nullopt;
    if (node.mapped().busy) --busy_;
    return std::move(node.mapped());
  }
  void set_ready(NodeId id, RunWorker& worker) {
    worker.ready = true;
    absent_.erase(id);
  }
  void begin_task(RunWorker& worker) {
    worker.busy = true;
    ++busy_;
  }
  void end_task(RunWorker& worker) {
    worker.busy = false;
    worker.task.clear();
    --busy_;
  }

  RunWorker* find(NodeId id) {
    const auto found = workers_.find(id);
    return found == workers_.end() ? nullptr : &found->second;
  }
  /// The worker with this id; adds it if it is unknown.
  RunWorker& at(NodeId id) { return workers_[id]; }
  bool empty() const noexcept { return workers_.empty(); }
  uint32_t size() const noexcept { return static_cast<uint32_t>(workers_.size()); }
  auto begin() noexcept { return workers_.begin(); }
  auto end() noexcept { return workers_.end(); }
  auto begin() const noexcept { return workers_.begin(); }
  auto end() const noexcept { return workers_.end(); }

  /// The number of busy workers.
  uint32_t busy() const noexcept { return busy_; }
  /// No initial member is absent: each has reached the run or is removed.
  bool complete() const noexcept { return absent_.empty(); }
  bool all_ready() const {
    return std::all_of(begin(), end(), [](const auto& entry) { return entry.second.ready; });
  }
  std::vector<NodeId> parked() const {
    std::vector<NodeId> out;
    for (const auto& [id, worker] : workers_) {
      if (worker.parked) out.push_back(id);
    }
    return out;
  }

 private:
  std::map<NodeId, RunWorker> workers_;
  std::unordered_set<NodeId> absent_;  // initial members before they reach the run
  std::unordered_set<NodeId> removed_;
  uint32_t busy_ = 0;
};

}  // namespace actorhost
