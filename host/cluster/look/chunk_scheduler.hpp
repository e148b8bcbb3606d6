#pragma once
// The chunks of Lua that observers send to the nodes of this process. The cluster's service thread adds them. A node's
// thread takes them while it waits, or where it enters an engine call (Node::run_chunks), and returns output and
// results. Output is bounded. A node runs its chunks one after the other; while a chunk for all nodes waits, another
// may run. A chunk ends by itself, by an interrupt of its observer, or, while it waits, because it has failed on
// another node. Thread-safe; nothing blocks.

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/result.hpp"
#include "host/cluster/look/console_messages.hpp"

namespace actorhost {

struct ConsoleChunk {
  ConsoleRequest request;
  std::string source;
};
using ConsoleChunkPtr = std::shared_ptr<const ConsoleChunk>;

class ChunkScheduler {
 public:
  /// The chunks of one node. Any thread may read the flags, without a lock.
  class NodeQueue {
   public:
    /// Node::run_chunks has work: a chunk, or a pause.
    bool has_work() const noexcept { return has_work_.load(std::memory_order_relaxed); }
    bool has_chunk() const noexcept { return has_chunk_.load(std::memory_order_relaxed); }
    /// The current chunk must end, wherever it is.
    bool cut() const noexcept { return cut_.load(std::memory_order_relaxed); }
    const std::atomic<bool>& cut_flag() const noexcept { return cut_; }
    /// The chunk for all nodes has failed on another node: its waits here end.
    bool failed() const noexcept { return failed_.load(std::memory_order_relaxed); }
    bool held() const noexcept { return held_.load(std::memory_order_relaxed); }

   private:
    friend class ChunkScheduler;
    struct Running {
      ConsoleChunkPtr chunk;
      bool cut = false;
      uint64_t written = 0;
      uint64_t left_out = 0;
    };

    Address node = kNoAddress;
    std::function<void()> wake;       // wakes the node's wait
    std::function<void()> interrupt;  // interrupts its Lua code; may be empty
    std::deque<ConsoleChunkPtr> waiting;
    std::vector<Running> running;  // a chunk for all nodes, and one that runs in its wait
    size_t next_together = 0;      // index into together_
    std::string failure_reason;
    bool idle = false;  // a server that waits for chunks for all nodes

    std::atomic<bool> has_work_{false}, has_chunk_{false}, cut_{false}, failed_{false}, held_{false};
  };

  /// Sends frames to the coordinator; called on any thread, with the mutex held.
  using Send = std::function<void(Frame&&)>;
  explicit ChunkScheduler(Send send) : send_(std::move(send)) {}

  // ---- the service thread ----

  /// A frame of the coordinator: `request`, `cut`, `over`, `hold`.
  Status take(const Frame& frame);
  /// Interrupts the chunks that must end once more, because their Lua code may have missed the first interrupt. True:
  /// some remain; call it again.
  bool interrupt_again();
  /// The coordinator has failed, and the observers' connections with it: ends the pause and all chunks.
  void cancel_all();

  // ---- a node's thread ----

  /// Adds a node.
  std::shared_ptr<NodeQueue> add_node(Address node, std::function<void()> wake);
  /// Sets the function that interrupts a chunk in Lua code; called on any thread.
  void set_interrupt(NodeQueue& queue, std::function<void()> interrupt);
  /// The node has ended: refuses its pending chunks.
  void remove_node(const std::shared_ptr<NodeQueue>& queue);

  /// Begins the next chunk for this node alone; nullptr if there is none.
  ConsoleChunkPtr begin(NodeQueue& queue);
  /// The node's script waits for chunks for all nodes, until it begins one.
  void report_ready(NodeQueue& queue);
  /// Whether there is a chunk for all nodes that this node has not begun.
  bool has_together(const NodeQueue& queue) const;
  /// Begins that chunk; nullptr if a pause holds the node. A server, which may start late, skips failed chunks.
  ConsoleChunkPtr begin_together(NodeQueue& queue);

  /// Output of the current chunk; drops the bytes beyond its limit.
  void write(NodeQueue& queue, std::string_view text);
  /// The current chunk has ended with these values.
  void finish(NodeQueue& queue, ConsoleDone done, std::string_view values);
  /// The chunk for all nodes has failed on this node and may still run here: reports it to the others.
  void fail_together(NodeQueue& queue, const std::string& error);
  /// The reason of NodeQueue::failed.
  std::string failure_reason(const NodeQueue& queue) const;

 private:
  struct Together {
    ConsoleChunkPtr chunk;
    std::optional<bool> ok = std::nullopt;  // once it is over
    bool cut = false;                       // on all nodes, also on nodes that begin it later
    std::string failure_reason = {};
  };

  void on_request(ConsoleRequest&& request, const Blob& source);
  void on_cut(const ConsoleCut& cut);
  void send(Kind kind, std::string_view meta, std::string_view body = {});
  void refuse(const ConsoleChunk& chunk, Address node, const std::string& why);
  void update_flags(NodeQueue& queue);
  size_t find_together(const NodeQueue& queue) const;
  static std::string_view within_limit(NodeQueue::Running& running, std::string_view text);

  const Send send_;
  mutable std::mutex mutex_;
  std::map<Address, std::shared_ptr<NodeQueue>> queues_;
  std::map<Address, std::deque<ConsoleChunkPtr>> early_;  // for workers that have not been added yet
  std::set<Address> ended_;                               // workers that have ended
  std::vector<Together> together_;
  bool paused_ = false;
};

}  // namespace actorhost
