#pragma once
// One node's part in the aggregation tree, which distributes the minimum of all clocks to every node. Owned and driven
// by the Overlay; passive. The README draws the tree and explains why no node ever believes in more than the true
// minimum.
//
// A node is "inside" while a parent promises to retain the node's report and every ancestor up to the root promises the
// same (the lease). A parent retains a report for kTreeRetention from its arrival. The child relies on it for
// kTreeLease from the time of sending, and for less when the parent's own lease is shorter. So no clock is dropped
// before its node knows. The difference between kTreeRetention and kTreeLease covers one missed heartbeat (0.5 s) and
// messages in flight. A new root waits for kTreeRetention after the last message from the old root: then no node relies
// on the old root any more.

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "host/base/non_copyable.hpp"
#include "host/overlay/tree_clock.hpp"
#include "host/overlay/tree_parent_search.hpp"
#include "host/overlay/tree_role.hpp"

namespace actorhost {

/// A node's view of all clocks.
struct Aggregate {
  uint64_t least = 0;        // no included or voting node has a clock below this
  uint64_t count = 0;        // nodes whose clocks limited the minimum, a few heartbeats ago
  uint64_t sum = 0;          // sum of the nodes' contributions, equally old
  NodeId slowest = kNoNode;  // a node that had the minimum clock a few heartbeats ago
  bool included = false;     // all other nodes wait for this node's clock; `least` is valid only then
};

/// Messages sent.
struct TreeTraffic {
  uint64_t reports = 0, results = 0;
};

class AggregateTree : private NonCopyable {
 public:
  AggregateTree(PeerCalls& calls, const Neighbourhood& near, Finder& finder, double now)
      : calls_(calls), near_(near), parents_(now), search_(calls, near, finder, parents_) {}

  /// As documented at the functions of the same names in Overlay.
  void set_clock(std::optional<uint64_t> clock, uint64_t sum);
  void set_voters(bool votes, uint64_t all);
  Aggregate aggregate(double now) const;
  void on_aggregate(std::function<void(const Aggregate&)> callback) { on_aggregate_ = std::move(callback); }
  const TreeTraffic& traffic() const noexcept { return traffic_; }

  /// Called for each parent or child with an overdue message.
  void on_silence(std::function<void(const Peer&)> callback) { silent_ = std::move(callback); }
  /// Other nodes exist, and they may have a root already.
  void expect_others() { role_.set_founder(false); }
  /// Other nodes have received this minimum. If this node becomes the root, it starts there.
  void expect_least(uint64_t least) noexcept {
    if (!role_.has_seen_root()) known_.least = std::max(known_.least, least);
  }
  /// Other nodes exist, and none of them has been a root.
  void bootstrap() { role_.set_founder(true); }

  void on_report(const TreeReport& report);
  /// Returns false if the result acknowledges a report that this node never sent.
  bool on_result(const TreeResult& result);
  void on_detach(const Peer& from) { children_.erase(from.node); }
  void lose_process(ProcessId process);
  /// Hands the children over to the parents, or from the root to the successor. Afterwards call only `restart`.
  void leave();
  /// The node has taken another id.
  void restart();
  /// `joined`: the node has its place on the ring. Returns the time of the next call.
  double tick(bool joined);

 private:
  double turn(bool joined);
  void resume();
  void take_role(bool joined);
  void become_root(uint64_t least);
  void resign(double until);
  void report_silence();
  void refresh();
  void learn(const TreeParents::Parent* best, bool was_inside);
  TreeTotal total() const;
  std::vector<Peer> others() const;
  void send_reports();
  void send_results();
  double next_time(bool joined) const;

  PeerCalls& calls_;
  const Neighbourhood& near_;
  std::function<void(const Aggregate&)> on_aggregate_;
  std::function<void(const Peer&)> silent_;
  TreeTraffic traffic_;

  TreeClock clock_;
  TreeRole role_;
  TreeChildren children_;
  TreeParents parents_;
  TreeParentSearch search_;
  uint64_t settled_ = 0;  // the last report of this node that children rely on
  TreeTotal reported_;    // in the last report
  bool dirty_ = false;    // the clock was set during a tick
  double ticked_ = 0;

  struct Inclusion {
    bool inside = false;  // a parent and all its ancestors retain this node's report
    double until = 0;     // ... until then
    bool included = false;
  };
  Inclusion inclusion_;
  TreeTotal known_{0, 0, 0, kNoNode};  // of all nodes
  uint64_t known_term_ = 0;            // the term of the root that announced `known_`
  bool push_ = false;                  // send results to the children at once
  struct Heartbeat {
    bool due = false;
    double last = -kForever;
  };
  Heartbeat heartbeat_;
  Aggregate last_notified_;
};

}  // namespace actorhost
