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

#include "host/overlay/finder.hpp"
#include "host/overlay/tree_parents.hpp"

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

class AggregateTree {
 public:
  AggregateTree(Requests& requests, const Neighbourhood& near, Finder& finder, double now)
      : requests_(requests), near_(near), finder_(finder), number_(first_number(now)) {}

  /// As documented at the functions of the same names in Overlay.
  void set_clock(std::optional<uint64_t> clock, uint64_t sum);
  void set_voters(bool votes, uint64_t all);
  Aggregate aggregate(double now) const;
  void on_aggregate(std::function<void(const Aggregate&)> callback) { on_aggregate_ = std::move(callback); }
  const TreeTraffic& traffic() const noexcept { return traffic_; }

  /// Called for each parent or child with an overdue message.
  void on_silence(std::function<void(const Peer&)> callback) { silent_ = std::move(callback); }
  /// Other nodes exist, and they may have a root already.
  void expect_others() { founder_ = false; }
  /// Other nodes have received this minimum. If this node becomes the root, it starts there.
  void expect_least(uint64_t least) noexcept {
    if (root_seen_ == -kForever) known_.least = std::max(known_.least, least);
  }
  /// Other nodes exist, and none of them has been a root.
  void bootstrap() { founder_ = true; }

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
  // A node may leave and join again: its reports must then have higher numbers than before.
  static uint64_t first_number(double now) noexcept { return static_cast<uint64_t>(std::max(0.0, now) * 1e6); }
  double turn(bool joined);
  void resume();
  void take_role(bool joined);
  void become_root(uint64_t least);
  void resign();
  RingId parent_key() const noexcept;
  void seek();
  void adopt(const Peer& owner);
  void attach(const Peer& peer);
  void detach(NodeId node);
  void check_parents();
  void fall_back();
  void check_children();
  void refresh();
  void learn(const TreeParents::Parent* best, bool was_inside);
  TreeTotal total() const;
  uint64_t handed_over(NodeId parent);
  std::vector<Peer> others() const;
  void send_reports();
  void send_results();
  double next_time(bool joined) const;

  Requests& requests_;
  const Neighbourhood& near_;
  Finder& finder_;
  std::function<void(const Aggregate&)> on_aggregate_;
  std::function<void(const Peer&)> silent_;
  TreeTraffic traffic_;

  std::optional<uint64_t> own_;
  uint64_t own_sum_ = 0;
  bool votes_ = false;
  std::optional<uint64_t> voters_;   // as in TreeTotal; nullopt without a membership table
  bool limits_ = false;              // the clock limits the minimum, as it does once the root has counted this node
  uint64_t participates_since_ = 0;  // the first report that includes this node's own clock
  bool dirty_ = false;

  TreeChildren children_;
  TreeParents parents_;
  uint64_t number_;               // of the last report
  uint64_t settled_ = 0;          // the last report of this node that children rely on
  TreeTotal reported_;            // in the last report
  std::optional<NodeId> target_;  // the correct parent, as far as known
  RingId key_ = 0;                // the key that the parent owns
  double next_seek_ = 0;
  double next_fall_back_ = 0;
  uint32_t seeking_ = 0;  // the lookup in flight, 0: none
  uint32_t lookups_ = 0;

  bool founder_ = true;
  bool is_root_ = false;
  bool owns_root_key_ = false;  // owner of key 0
  double owns_root_key_since_ = 0;
  double root_seen_ = -kForever;  // when a root was last known to exist
  double ticked_ = 0;
  double token_until_ = 0;  // expiry of the token from a resigned root; token_known_: its minimum
  uint64_t token_known_ = 0;
  NodeId token_from_ = 0;
  uint64_t token_term_ = 0;
  std::optional<NodeId> token_to_;  // the node that received the token from this node
  uint64_t term_ = 0;               // the latest known root's term
  uint64_t own_term_ = 0;           // the term of this node's last time as root
  double resigned_until_ = 0;       // this node has resigned as root, and relies on its old state until then

  bool inside_ = false;
  double inside_until_ = 0;
  bool included_ = false;
  TreeTotal known_{0, 0, 0, kNoNode};  // of all nodes
  uint64_t known_term_ = 0;            // the term of the root that announced `known_`
  bool push_ = false;                  // send results to the children at once
  bool heartbeat_due_ = false;
  double last_heartbeat_ = -kForever;
  Aggregate last_notified_;
};

}  // namespace actorhost
