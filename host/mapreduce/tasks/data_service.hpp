#pragma once
// A process's end of the exchange: its store, and a service that hands out blocks to other processes while the nodes
// are busy in Lua. On the rendezvous host it also drives the tracker. Tasks of this process use the store directly.
// Any thread may call what is public.

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
    /// On the rendezvous host, on the service's thread: how far the newest action is, every so often; nothing when none
    /// is under way.
    std::function<void(const std::optional<TrackerProgress>&)> progress = {};
  };

  DataService(Cluster& cluster, const Clock& clock, Log& log, const Options& options);
  ~DataService() override;

  ProcessId process() const noexcept { return thread_.process(); }
  BlockStore& store() noexcept { return store_; }
  MemoryBudget& budget() noexcept { return budget_; }
  SpillFile& spill() noexcept { return spill_; }
  /// Bytes of rows that went to disk since the last call: each counts once, whichever task asks.
  uint64_t take_spilled() noexcept {
    const uint64_t total = spill_.raw_bytes();
    const uint64_t before = reported_.exchange(total, std::memory_order_relaxed);
    return total > before ? total - before : 0;
  }
  /// The membership may have changed.
  void look() { thread_.look(); }

 private:
  void on_frame(Frame&& frame, double now) override;
  void on_membership(const MembershipPtr& membership, double now) override;
  double tick(double now) override;
  double tell_progress(double now);
  void hand_out(const Frame& question);

  void tell_stages(nlohmann::json& out);

  Cluster& cluster_;
  const Clock& clock_;
  const Options options_;
  MemoryBudget budget_;
  SpillFile spill_;
  std::atomic<uint64_t> reported_{0};  // of what was spilled
  BlockStore store_;
  std::mutex tracker_mutex_;           // with which the thread, or who looks into the run, uses the tracker
  std::unique_ptr<Tracker> tracker_;   // the thread's own
  std::deque<StageRow> shown_stages_;  // to those who look into the run; the cluster's thread's own
  double shown_ = 0;                   // when progress was told last
  ServiceThread thread_;
};

}  // namespace actorhost
