#pragma once
// The cluster as one VM's thread uses it: its identity, its port, a snapshot of the membership, and requests to the
// coordinator. Owned and used by that thread; `request_stop` and `wake` are thread-safe.
//
// Every blocking wait of the node is here. A wait ends with Code::interrupted if the node is to stop, with
// Code::aborted (or the run's own error) if the run has failed elsewhere, and with Code::peer_lost if an awaited
// address has failed.

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/base/non_copyable.hpp"
#include "host/base/tasks.hpp"
#include "host/cluster/cluster.hpp"
#include "host/net/port.hpp"

namespace actorhost {

enum class Role { worker, server };

/// Runs observers' chunks for a node (ChunkScheduler), on the node's thread.
class ChunkRunner : public Interface {
 public:
  /// Whether chunks may run now: not during a callback with a time limit.
  virtual bool may_run_chunks() = 0;
  /// Runs the pending chunks. It may use the node, except for collectives and actions.
  virtual void run_chunks() = 0;
  /// Bytes of the node's Lua state; read where the script enters an engine call, and before each wait.
  virtual uint64_t lua_bytes() = 0;
};

class Node {
 public:
  /// Seconds after which a wait logs the awaited nodes.
  static constexpr double kLongWait = 10;

  Node(Cluster& cluster, JobSource& job, const Clock& clock, Log& log, Address self);
  ~Node();

  Role role() const noexcept { return is_server(self_) ? Role::server : Role::worker; }
  Address address() const noexcept { return self_; }
  /// A worker's id or a server's shard.
  uint32_t index() const noexcept { return address_index(self_); }
  /// A worker's rank in the snapshot; nullopt for servers.
  std::optional<uint32_t> rank() const;
  /// "rank 2", "server 0": for messages and log lines.
  std::string name() const;

  Cluster& cluster() noexcept { return cluster_; }
  Port& port() noexcept { return port_; }
  NodeStats& stats() noexcept { return *stats_; }
  std::shared_ptr<NodeStats> shared_stats() const noexcept { return stats_; }
  const Clock& clock() const noexcept { return clock_; }
  Log& log() noexcept { return log_; }

  /// The membership as of the last `refresh`, which actions and collectives call at their start. Ranks do not change in
  /// between.
  const Membership& membership() const noexcept { return *membership_; }
  /// Takes a new snapshot. Returns the snapshot before it, or null if the epoch is the same.
  MembershipPtr refresh();
  /// The newest membership, whatever the snapshot: for protocols that follow it themselves.
  MembershipPtr newest_membership() const { return cluster_.membership(); }

  /// The error if the run is over or this node is to stop; called before and during every wait.
  Status check();
  void request_stop() noexcept {
    stop_.store(true, std::memory_order_release);
    port_.wake();
  }
  bool stop_requested() const noexcept { return stop_.load(std::memory_order_acquire); }
  /// The current wait checks the cluster's state. Thread-safe.
  void wake() { port_.wake(); }

  /// Sets the object that runs chunks (nullptr: none) in each of the waits below and in `run_chunks`.
  void set_chunk_runner(ChunkRunner* runner) { chunk_runner_ = runner; }
  ChunkScheduler::NodeQueue& chunk_queue() noexcept { return *chunk_queue_; }
  /// Called where a script enters an engine call: runs pending chunks, and blocks here while the run is paused.
  Status run_chunks() {
    Task::pay_for_computing();
    record_memory();
    return chunk_queue_->has_work() ? run_chunks_now() : Status();
  }
  /// A chunk runs within a wait: the node is inside another call.
  bool in_chunk() const noexcept { return in_chunk_; }
  /// While it lives, no wait runs chunks: for code that must not call Lua.
  class NoChunks : private NonCopyable {
   public:
    explicit NoChunks(Node& node) : node_(node), before_(std::exchange(node.no_chunks_, true)) {}
    ~NoChunks() { node_.no_chunks_ = before_; }

   private:
    Node& node_;
    const bool before_;
  };

  /// Waits for a frame. Ends with peer_lost if one of `awaited` has failed and no matching frame is left in the
  /// mailbox. An awaited server lives as long as the run: its loss ends the run. May be nested. `what` names the wait
  /// in messages, and in the log line after 10 s; `describe_awaited` names the awaited nodes there, if they are not
  /// `awaited`.
  Result<Frame> receive(const Port::Match& match, std::span<const Address> awaited, const std::string& what,
                        double deadline = kForever, const std::function<std::string()>& describe_awaited = {});

  /// Takes every matching frame, and waits until `deadline` for the first. Returns without a frame at the deadline,
  /// after it has run a chunk, and when Cluster::news differs from a given `news`.
  Status receive_all(const Port::Match& match, double deadline, std::vector<Frame>& out,
                     std::optional<uint64_t> news = std::nullopt);

  /// Waits until `done` holds, which it checks after each frame and each change of the cluster. Otherwise as `receive`.
  Status wait_until(const std::function<bool()>& done, std::span<const Address> awaited, const std::string& what,
                    double deadline = kForever, const std::function<std::string()>& describe_awaited = {});

  /// Logs that `what` has waited for kLongWait seconds, for `awaited` if it is not empty.
  void log_long_wait(const std::string& what, const std::string& awaited) const;

  /// As receive_all, but with one wait at most, which `wake` ends too: for conditions that other threads set. Also
  /// returns after it has run a chunk.
  Status receive_some(const Port::Match& match, double deadline, std::vector<Frame>& out);

  /// Code::peer_lost for `what` once the run's first coordinator has failed.
  Status check_first_coordinator(const std::string& what) const;
  /// While it lives, waits end with Code::peer_lost once the run's first coordinator has failed: for engines that need
  /// services of that coordinator.
  class RequiresFirstCoordinator : private NonCopyable {
   public:
    RequiresFirstCoordinator(Node& node, const char* what)
        : node_(node), before_(std::exchange(node.needs_first_coordinator_, what)) {}
    ~RequiresFirstCoordinator() { node_.needs_first_coordinator_ = before_; }

   private:
    Node& node_;
    const char* const before_;
  };

  struct Action {
    uint32_t index = 0;
    bool replayed = false;
    Blob value;  // if replayed
  };
  /// Enters the next numbered action.
  Result<Action> enter_action(const std::string& kind, const std::string& where);
  /// Records an action's value for nodes that start late.
  void finish_action(uint32_t index, Blob value);
  /// As finish_action, and returns the first recorded value, which is the same on every node.
  Result<Blob> agree_on_action(uint32_t index, const Blob& value);
  uint32_t actions() const noexcept { return actions_; }
  /// This worker joined late and continues at the others' position: it skips the actions that they have entered before.
  void skip_actions(uint32_t entered) { set_actions(std::max(actions_, entered)); }
  /// A chunk for all nodes begins: the next action has this number on every node.
  void set_actions(uint32_t entered);

  /// This worker joined too late to take part: its script may end here as if it had finished.
  void leave_out() noexcept { left_out_ = true; }
  bool left_out() const noexcept { return left_out_; }

  /// Makes sure that shards serve action `action`, or any (kAnyAction). Waits until all live workers have entered that
  /// action.
  Status start_servers(uint32_t action);

  /// A module or file of the job: this machine's copy if its hash equals the coordinator's, else the coordinator's
  /// text.
  Result<SourceText> find_source(const std::string& name);

  /// The live workers of a membership, in id order, without late joiners that are still outside the others' collectives
  /// and take no action before.
  Result<std::vector<NodeId>> at_work(const Membership& membership);

  /// The workers' positions, for a long wait. `waiting` reports this node's wait to workers that request them.
  Result<std::vector<Whereabouts>> whereabouts(const LongWait* waiting = nullptr);
  /// The workers that have not entered `action` and still can.
  Result<std::vector<Whereabouts>> behind(uint32_t action);
  /// "rank 2 (worker 2 on alpha:4711) (last in param.run at job.lua:12), ...": for messages.
  std::string describe(const std::vector<Whereabouts>& workers) const;

 private:
  using RequestBuilder = std::function<Frame(Address coordinator)>;

  struct Wait;
  Result<Frame> receive(const Port::Match& match, Wait wait, double deadline);
  template <typename Attempt>
  auto wait_and_log(const Attempt& attempt, double deadline);
  template <typename Attempt>
  auto open_wait(const Attempt& attempt);
  template <typename Attempt>
  auto wait_and_run_chunks(const Attempt& attempt) -> decltype(attempt());
  void record_memory();
  Status run_chunks_now();
  Result<Frame> request_from_coordinator(const RequestBuilder& build_request, Kind reply_kind, const std::string& what,
                                         const std::function<std::string()>& describe_awaited = {});
  RequestBuilder request_builder(Kind kind, uint32_t tag, const std::string& meta = {}) const;

  Cluster& cluster_;
  JobSource& job_;
  const Clock& clock_;
  Log& log_;
  const Address self_;
  Port port_;
  const std::shared_ptr<NodeStats> stats_;  // shared with the process's reports
  MembershipPtr membership_;
  struct Wait {
    std::span<const Address> awaited = {};
    std::string what = {};
    std::function<std::string()> describe_awaited = {};  // names the missing nodes, if they are not `awaited`
    std::optional<ProcessId> coordinator = {};           // the coordinator that the request went to
    std::optional<uint64_t> news = {};                   // another number of Cluster::news ends the wait
  };
  Wait wait_;                                      // the innermost current wait
  const char* needs_first_coordinator_ = nullptr;  // the call that needs it
  uint32_t actions_ = 0;
  uint32_t request_number_ = 0;
  bool left_out_ = false;
  std::atomic<bool> stop_{false};
  const std::shared_ptr<ChunkScheduler::NodeQueue> chunk_queue_;  // shared with the scheduler
  ChunkRunner* chunk_runner_ = nullptr;
  bool open_ = false;           // chunks may end the current wait
  bool chunk_arrived_ = false;  // ... and a chunk has ended it
  bool in_chunk_ = false;       // a chunk runs
  bool no_chunks_ = false;
};

}  // namespace actorhost
