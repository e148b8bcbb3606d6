#pragma once
// The children of a node in the aggregation tree: their last reports, how long each is retained, and the last settled
// report of each (included in a result of the root). Passive; the tree owns it.

#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "host/overlay/overlay_messages.hpp"

namespace actorhost {

// Timeouts in seconds; aggregate_tree.hpp explains them.
inline constexpr double kTreeHeartbeat = 0.5;  // heartbeat interval of the root
inline constexpr double kTreeLease = 1.75;     // a node relies on a parent for this long
inline constexpr double kTreeRetention = 2.5;  // a parent retains a report for this long
inline constexpr double kTreeSilent = 0.8;     // then the node falls back to another parent
inline constexpr double kTreeRetry = 0.2;

class TreeChildren {
 public:
  struct Child {
    Peer peer;
    TreeReport last;
    double received_at = 0;
    double requested_at = -kTreeRetention;  // when a result last requested a report
    int requests = 0;                       // such results since the last report
    uint64_t settled = 0;
    std::vector<NodeId> lost;  // parents that its reports list as failed or departed
    uint64_t noted = 0;        // the last report included in a report of this node
    // Number of its report, number of this node's report that includes it.
    std::deque<std::pair<uint64_t, uint64_t>> waiting;
    bool due = true;                // send a result
    bool down = false;              // failed or departed; its subtree may still be live
    bool silence_reported = false;  // to the callback of on_silence
  };

  /// Stores a report. True if the tree should report at once even without a change.
  bool take(const TreeReport& report, double now);
  void erase(NodeId node) { children_.erase(node); }
  void clear() { children_.clear(); }
  void lose_process(ProcessId process);
  /// Drops children whose reports need not be retained any longer. Returns the time of the next call.
  double drop(NodeId self, double now);

  TreeTotal total() const;
  std::vector<NodeId> nodes() const;
  /// When the last lease of a child or its subtree expires.
  double leased_until() const;
  /// The greatest minimum that a child knows.
  uint64_t known() const;
  /// A child waits until its last report is settled.
  bool urgent() const;

  /// This node's report of this number includes the last reports of all children.
  void note(uint64_t number);
  /// The root has included this node's report of this number.
  void settle(uint64_t number);
  /// For the root: settles all reports.
  void settle_all();

  std::map<NodeId, Child>& all() noexcept { return children_; }
  const std::map<NodeId, Child>& all() const noexcept { return children_; }

 private:
  bool covered(const Child& child, NodeId self) const;

  std::map<NodeId, Child> children_;
};

}  // namespace actorhost
