#pragma once
// Serves the outputs of one process to other processes while its nodes run Lua, and owns the process's store. On the
// coordinator it also drives the tracker. Tasks of the same process use the store directly. The public functions are
// thread-safe.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "host/cluster/service_thread.hpp"
#include "host/mapreduce/tasks/block_store.hpp"
#include "host/mapreduce/tasks/mapreduce_messages.hpp"
#include "host/mapreduce/tasks/tracker.hpp"

namespace actorhost {

class DataService final : private ServiceTask {
 public:
  struct Options {
    size_t memory = 0;     // for all workers of this process
    uint32_t workers = 1;  // of this process
    /// On the coordinator, on the service's thread: called periodically with the progress of the newest action, and
    /// once with nothing when no action runs any more.
    std::function<void(const std::optional<TrackerProgress>&)> progress = {};
    double progress_seconds = 5;  // between two calls while an action runs
  };

  DataService(Cluster& cluster, const Clock& clock, Log& log, const Options& options);
  ~DataService() override;

  ProcessId process() const noexcept { return thread_.process(); }
  BlockStore& store() noexcept { return store_; }
  MemoryBudget& budget() noexcept { return budget_; }
  SpillFile& spill() noexcept { return spill_; }
  /// Bytes of rows spilled since the last call. Each byte counts once, for the first caller.
  uint64_t take_spilled() noexcept {
    const uint64_t total = spill_.raw_bytes();
    const uint64_t before = reported_.exchange(total, std::memory_order_relaxed);
    return total > before ? total - before : 0;
  }
  /// Called when the membership may have changed.
  void wake() { thread_.wake(); }

 private:
  void on_frame(Frame&& frame, double now) override;
  void on_membership(const MembershipPtr& membership, double now) override;
  double tick(double now) override;
  double report_progress(double now);
  void send_blocks(const Frame& request);

  void report_stages(nlohmann::json& out);

  Cluster& cluster_;
  const Clock& clock_;
  const Options options_;
  MemoryBudget budget_;
  SpillFile spill_;
  std::atomic<uint64_t> reported_{0};  // the spilled bytes reported by take_spilled
  BlockStore store_;
  std::mutex tracker_mutex_;           // guards the tracker, which the service's thread and observers use
  std::unique_ptr<Tracker> tracker_;   // owned by the service's thread
  std::deque<StageRow> shown_stages_;  // the last rows for observers; owned by the cluster's thread
  double shown_ = -kForever;           // the time of the last progress call
  bool shows_ = false;                 // it had an action
  ServiceThread thread_;
};

}  // namespace actorhost
