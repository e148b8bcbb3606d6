#pragma once
// The children of a node in the aggregation tree: what each has reported last, how long that is kept, and up to which
// of its reports it is settled, that is, part of what the root has told. Passive; the tree owns it.

#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "host/overlay/overlay_messages.hpp"

namespace actorhost {

// How long things hold without a message; aggregate_tree.hpp tells why these. Seconds.
inline constexpr double kTreeBeat = 0.5;    // between the beats that the root sends down
inline constexpr double kTreeLease = 1.75;  // a node counts on its parents for this long
inline constexpr double kTreeKeep = 2.5;    // and they keep its report for this long
inline constexpr double kTreeSilent = 0.8;  // then another parent is looked for
inline constexpr double kTreeRetry = 0.2;

class TreeChildren {
 public:
  struct Child {
    Peer peer;
    TreeReport last;
    double heard = 0;
    double asked = -kTreeKeep;  // when a result went out that wants an answer
    int asks = 0;               // of these since the last report
    uint64_t settled = 0;
    std::vector<NodeId> lost;                           // the parents that its reports have called so
    uint64_t noted = 0;                                 // the last one that a report of this node carries
    std::deque<std::pair<uint64_t, uint64_t>> waiting;  // its report, and the number of this node's that carries it
    bool due = true;                                    // a result is to be sent
    bool gone = false;                                  // it is dead, or has left; what lies below it may still live
    bool missed = false;                                // its silence has been told
  };

  /// A report has come. True if the tree should report, too, whatever has changed.
  bool take(const TreeReport& report, double now);
  void erase(NodeId node) { children_.erase(node); }
  void clear() { children_.clear(); }
  void lose_process(ProcessId process);
  /// Forgets those whose reports need not be kept any longer. Returns the time of the next call.
  double drop(NodeId self, double now);

  TreeTotal total() const;
  std::vector<NodeId> nodes() const;
  /// Until when some of them or below them count on a root.
  double leased_until() const;
  /// The greatest least that one of them knows.
  uint64_t known() const;
  /// Some child waits until its last report is settled.
  bool urgent() const;

  /// This node's report of this number carries what all have reported.
  void note(uint64_t number);
  /// This report of the node is settled.
  void settle(uint64_t number);
  /// The node is the root.
  void settle_all();

  std::map<NodeId, Child>& all() noexcept { return children_; }
  const std::map<NodeId, Child>& all() const noexcept { return children_; }

 private:
  bool covered(const Child& child, NodeId self) const;

  std::map<NodeId, Child> children_;
};

}  // namespace actorhost
