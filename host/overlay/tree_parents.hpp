#pragma once
// The parents of a node in the aggregation tree: normally one, more while the node moves between parents. The node
// relies on a parent until its lease expires, which follows from the parent's results. Passive; the tree owns it.

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "host/overlay/tree_children.hpp"

namespace actorhost {

class TreeParents {
 public:
  struct Parent {
    Peer peer;
    uint64_t needed = 0;     // the first report sent to it
    double received_at = 0;  // time of its last result, or of adding it
    double sent = -kTreeRetention;
    double until = 0;  // expiry of the lease
    TreeResult last;
    bool replied = false;
    bool due = true;                // send a report
    bool down = false;              // failed, or leaves
    bool silence_reported = false;  // to the callback of on_silence

    bool silent(double now) const noexcept { return down || now - received_at > kTreeSilent; }
  };

  // A node may leave and join again: its reports must then have higher numbers than before.
  explicit TreeParents(double now) noexcept : number_(static_cast<uint64_t>(std::max(0.0, now) * 1e6)) {}

  Parent* find(NodeId node) noexcept;
  void add(const Peer& peer, double now);
  void erase(NodeId node);
  void clear() { parents_.clear(); }
  void lose_process(ProcessId process);
  /// False: the sender is not a parent.
  bool take(const TreeResult& result, double now);
  /// Removes and returns the parents that are silent for too long, and the failed parents with an expired lease.
  std::vector<Peer> expire(double now);

  /// The number of the last report of this node.
  uint64_t number() const noexcept { return number_; }
  uint64_t next_number() const noexcept { return number_ + 1; }
  /// A report is sent now: returns its number.
  uint64_t count_report(double now);
  void all_due();
  bool any_due() const;
  /// The failed or leaving parents.
  std::vector<NodeId> lost() const;
  /// The last report that any parent has settled.
  uint64_t settled() const;
  /// A parent that keeps the node inside the tree with all reports up to `number`: `preferred` if possible, otherwise
  /// the parent with the longest lease.
  const Parent* inside(uint64_t number, NodeId preferred, double now) const;

  std::vector<Parent>& all() noexcept { return parents_; }
  const std::vector<Parent>& all() const noexcept { return parents_; }

 private:
  double sent_at(uint64_t number) const;

  std::vector<Parent> parents_;
  uint64_t number_;                               // of the last report
  std::deque<std::pair<uint64_t, double>> sent_;  // number and time of reports of the last seconds, sampled
};

}  // namespace actorhost
