#pragma once
// Those to whom a node reports in the aggregation tree: mostly one, more while it moves from one to another. It counts
// on a parent up to a time that follows from the parent's results (the lease). Passive; the tree owns it.

#include <deque>
#include <utility>
#include <vector>

#include "host/overlay/tree_children.hpp"

namespace actorhost {

class TreeParents {
 public:
  struct Parent {
    Peer peer;
    uint64_t needed = 0;  // the first report to it
    double heard = 0;     // or since when it is one
    double sent = -kTreeKeep;
    double until = 0;  // of the lease
    TreeResult last;
    bool answered = false;
    bool due = true;      // a report is to be sent
    bool gone = false;    // it is dead, or leaves
    bool missed = false;  // its silence has been told

    bool silent(double now) const noexcept { return gone || now - heard > kTreeSilent; }
  };

  Parent* find(NodeId node) noexcept;
  /// `number`: of the next report.
  void add(const Peer& peer, uint64_t number, double now);
  void erase(NodeId node);
  void clear() { parents_.clear(); }
  void lose_process(ProcessId process);
  /// False: it is no parent.
  bool take(const TreeResult& result, double now);
  /// Those that have been silent for too long, or are gone and whose lease has run out.
  std::vector<Peer> expire(double now);

  /// A report of this number is sent now.
  void sent(uint64_t number, double now);
  void all_due();
  /// Those that are gone.
  std::vector<NodeId> lost() const;
  /// The last report that any of them has settled.
  uint64_t settled() const;
  /// One through which the node is inside of the tree with all that it has reported up to `number`: `preferred` if that
  /// is one, otherwise the one with the longest lease.
  const Parent* inside(uint64_t number, NodeId preferred, double now) const;

  std::vector<Parent>& all() noexcept { return parents_; }
  const std::vector<Parent>& all() const noexcept { return parents_; }

 private:
  double sent_at(uint64_t number) const;

  std::vector<Parent> parents_;
  std::deque<std::pair<uint64_t, double>> sent_;  // reports of the last seconds, not each of them
};

}  // namespace actorhost
