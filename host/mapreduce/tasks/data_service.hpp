#pragma once
// A process's end of the exchange: its store, and a thread that hands out blocks to other processes while the nodes are
// busy in Lua. On the rendezvous host it also drives the tracker. Made before the run starts, so that nobody's frame
// finds no mailbox; an idle one only sleeps. Tasks of this process use the store directly. Everything public: any
// thread.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/log.hpp"
#include "host/cluster/cluster.hpp"
#include "host/cluster/outbox.hpp"
#include "host/mapreduce/tasks/block_store.hpp"
#include "host/mapreduce/tasks/mapreduce_messages.hpp"
#include "host/mapreduce/tasks/tracker.hpp"

namespace actorhost {

class DataService {
 public:
  struct Options {
    size_t memory = 0;     // for all workers of this process
    uint32_t workers = 1;  // of this process
    /// On the rendezvous host, on the service's thread: how far the newest action is, every so often; nothing when none
    /// is under way.
    std::function<void(const std::optional<TrackerProgress>&)> progress = {};
  };

  DataService(Cluster& cluster, const Clock& clock, Log& log, const Options& options);
  ~DataService();
  DataService(const DataService&) = delete;
  DataService& operator=(const DataService&) = delete;

  ProcessId process() const noexcept { return process_; }
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
  void look() { inbox_->wake(); }

 private:
  void send(Frame&& frame);
  void serve();
  void drive_tracker();
  void tell_progress(double now);
  void handle(Frame&& frame);
  void hand_out(const Frame& question);

  Cluster& cluster_;
  const Clock& clock_;
  Log& log_;
  const ProcessId process_;
  const Options options_;
  MemoryBudget budget_;
  SpillFile spill_;
  std::atomic<uint64_t> reported_{0};  // of what was spilled
  BlockStore store_;
  std::shared_ptr<Mailbox> inbox_;  // attached by the cluster
  Outbox outbox_;                   // the thread's own, as all below
  std::unique_ptr<Tracker> tracker_;
  double shown_ = 0;  // when progress was told last
  MembershipPtr membership_;
  std::atomic<bool> quit_{false};
  std::thread thread_;
};

}  // namespace actorhost
