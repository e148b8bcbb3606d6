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

class WorkerReports {
 public:
  /// The number of actions that a worker has entered.
  void entered(NodeId node, uint32_t actions);
  /// Retains the value of a finished action; up to a megabyte in all.
  void cache_value(uint32_t action, const Blob& value);

  /// The script of a node raised this error.
  void failed(Address node, const EndMessage& error) { failure_ = {node, error}; }
  /// The script of a worker has ended.
  void ended(NodeId node) { ended_.insert(node); }
  /// A worker has become a peer, or has left the peers. False: as known before.
  bool participates(NodeId node, bool is_peer);
  /// Retains a frame to the coordinator while none is known.
  void hold(Frame&& frame) { unsent_.push_back(std::move(frame)); }

  /// The workers of process `self`, for its attach message.
  std::vector<AttachedWorker> workers(const Membership& table, ProcessId self) const;
  /// The frames, beside the attach message, that the previous coordinator may not have received.
  std::vector<Frame> take_unsent(ProcessId self);

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

/// A node's script raised this error.
inline Frame error_frame(Address node, const EndMessage& error) {
  return make_frame(cluster_kind::node_error, node, kNoAddress, 0, pack(error));
}

}  // namespace actorhost
