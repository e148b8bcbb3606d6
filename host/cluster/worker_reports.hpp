#pragma once
// What only this process can report to its coordinator about its workers, retained so that the next coordinator
// receives it too: in this process's attach message, or as repeated frames. The service thread calls it; `entered` and
// `cache_value` are thread-safe.

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "host/cluster/cluster_messages.hpp"
#include "host/cluster/membership.hpp"

namespace actorhost {

/// The frame that reports an error of a node's script.
inline Frame error_frame(Address node, const EndMessage& error) {
  return make_frame(cluster_kind::node_error, node, kNoAddress, 0, pack(error));
}

class WorkerReports {
 public:
  /// The number of actions that a worker has entered.
  void entered(NodeId node, uint32_t actions) {
    std::lock_guard lock(mutex_);
    actions_[node] = actions;
  }
  /// Retains the value of a finished action; up to a megabyte in all.
  void cache_value(uint32_t action, const Blob& value) {
    static constexpr size_t kMostBytes = size_t{1} << 20;
    std::lock_guard lock(mutex_);
    if (value_bytes_ + value.size() > kMostBytes) return;
    if (values_.emplace(action, value).second) value_bytes_ += value.size();
  }

  /// The script of a node raised this error.
  void failed(Address node, const EndMessage& error) { failure_ = {node, error}; }
  /// The script of a worker has ended.
  void ended(NodeId node) { ended_.insert(node); }
  /// A worker has become a peer, or has left the peers. False: as known before.
  bool participates(NodeId node, bool is_peer) {
    const auto [at, fresh] = is_peer_.try_emplace(node, is_peer);
    return fresh || std::exchange(at->second, is_peer) != is_peer;
  }
  /// Retains a frame to the coordinator while none is known.
  void hold(Frame&& frame) { unsent_.push_back(std::move(frame)); }

  /// The workers of process `self`, for its attach message.
  std::vector<AttachedWorker> workers(const Membership& table, ProcessId self) const {
    std::vector<AttachedWorker> out;
    std::lock_guard lock(mutex_);
    for (const Member& member : table.workers()) {
      if (member.process != self) continue;
      const auto peer = is_peer_.find(member.id);
      const bool left = peer != is_peer_.end() ? !peer->second : member.id >= table.founders();
      const auto entered = actions_.find(member.id);
      out.push_back({member.id, entered == actions_.end() ? 0 : entered->second, ended_.contains(member.id), left});
    }
    return out;
  }
  /// The frames, beside the attach message, that the previous coordinator may not have received.
  std::vector<Frame> take_unsent(ProcessId self) {
    std::vector<Frame> frames;
    if (failure_) frames.push_back(error_frame(failure_->first, failure_->second));
    {
      std::lock_guard lock(mutex_);
      for (const auto& [action, value] : values_) {
        frames.push_back(make_frame(cluster_kind::action_done, service_address(self), kNoAddress, action, {}, value));
      }
    }
    for (Frame& frame : std::exchange(unsent_, {})) frames.push_back(std::move(frame));
    return frames;
  }

 private:
  mutable std::mutex mutex_;            // guards the members up to the next blank line
  std::map<NodeId, uint32_t> actions_;  // number that each worker has entered
  std::map<uint32_t, Blob> values_;     // of finished actions
  size_t value_bytes_ = 0;

  std::deque<Frame> unsent_;
  std::set<NodeId> ended_;          // workers whose scripts have ended
  std::map<NodeId, bool> is_peer_;  // true: this worker is a peer; false: it has left
  std::optional<std::pair<Address, EndMessage>> failure_;
};

}  // namespace actorhost
