#pragma once
// The workers of a run, as shard 0 knows them: absent members, workers with a task, parked workers. Passive; belongs to
// the run's ParamController.

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
  bool ready = false;
  bool busy = false;
  bool staged = false;
  bool parked = false;
  uint64_t step = 0;  // the first step that it has not completed in this run
  std::vector<ParamEntry> task;
  RecordedWorker record;
};

class RunWorkers {
 public:
  /// Adds a member at the start of the run.
  RunWorker& expect(NodeId id) {
    absent_.insert(id);
    return workers_[id];
  }
  /// Adds a worker later.
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
  /// The worker of this id; adds it if necessary.
  RunWorker& at(NodeId id) { return workers_[id]; }
  bool empty() const noexcept { return workers_.empty(); }
  uint32_t size() const noexcept { return static_cast<uint32_t>(workers_.size()); }
  auto begin() noexcept { return workers_.begin(); }
  auto end() noexcept { return workers_.end(); }
  auto begin() const noexcept { return workers_.begin(); }
  auto end() const noexcept { return workers_.end(); }

  /// Number of workers that work on a task.
  uint32_t busy() const noexcept { return busy_; }
  /// All initial members have arrived, or are removed.
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
  std::unordered_set<NodeId> absent_;  // initial members not ready yet
  std::unordered_set<NodeId> removed_;
  uint32_t busy_ = 0;
};

}  // namespace actorhost
