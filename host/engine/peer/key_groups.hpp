#pragma once
// Replica groups: which nodes hold which part of the ring. A group of nodes holds the keys of an arc, and its first
// member is the leader. Only the leader replies to requests for these keys, and it acknowledges a write once all
// members have it. Successive groups of an arc have increasing terms. A RangeMap stores what a node knows of the arcs
// around it. Passive, without time.

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "host/overlay/peer.hpp"

namespace actorhost {

/// Terms are ordered; the greater term wins.
struct GroupTerm {
  uint64_t number = 0;
  NodeId node = 0;  // the node that proposed it
  friend auto operator<=>(const GroupTerm&, const GroupTerm&) = default;
  static void fields(auto& m, auto&& field) { field(m.number, m.node); }
};

struct KeyGroup {
  GroupTerm term;
  std::vector<Peer> members;  // the first member is the leader

  bool has(NodeId node) const noexcept;
  bool is_valid() const noexcept { return !members.empty(); }
  const Peer& leader() const noexcept { return members.front(); }
  static void fields(auto& m, auto&& field) { field(m.term, m.members); }
};

/// The points behind `from` up to and including `to`; the whole circle if both are equal.
struct Arc {
  RingId from = 0;
  RingId to = 0;

  constexpr bool has(RingId place) const noexcept { return in_arc(from, place, to); }
  friend bool operator==(const Arc&, const Arc&) = default;
  static void fields(auto& m, auto&& field) { field(m.from, m.to); }
};

/// A group of one member has no other replica. So the next node on the ring is notified of the group: when the member
/// has failed, the next node knows that the keys are lost.
inline bool watched_by_next(const KeyGroup& group) noexcept { return group.members.size() == 1; }

/// A node's knowledge of an arc.
struct KeyRange {
  Arc arc;
  KeyGroup group;
  bool holds = false;                 // the node has the keys of the arc with the contents of that group
  std::vector<KeyGroup> before = {};  // the groups that it takes over from; empty once it serves
  GroupTerm promised = {};            // the node joins no group of a lower term
  std::optional<KeyGroup> next = {};  // a group about to take over

  bool serves() const noexcept { return before.empty(); }
  /// The node, whose knowledge this is, leads the group.
  bool led_by(NodeId node) const noexcept { return holds && serves() && group.leader().node == node; }
  static void fields(auto& m, auto&& field) { field(m.arc, m.group, m.holds, m.before, m.promised, m.next); }
};

/// Whether the arcs have a common point.
constexpr bool overlap(const Arc& a, const Arc& b) noexcept { return a.has(b.to) || b.has(a.to); }

class RangeMap {
 public:
  /// nullptr: nothing is known of this place.
  const KeyRange* find(RingId place) const noexcept;
  /// Splits ranges at both ends of the arc and returns the ranges inside it, in order.
  std::vector<KeyRange*> inside(const Arc& arc);
  /// All ranges that overlap the arc, without splitting.
  std::vector<KeyRange> around(const Arc& arc) const;
  /// Whether the node has promised to join only groups of terms above this one, somewhere in the arc.
  bool promised_above(const GroupTerm& term, const Arc& arc);
  /// Replaces everything inside the range's arc.
  void put(KeyRange range);
  /// Parts of the arc without a known range.
  std::vector<Arc> gaps(const Arc& arc);
  const std::map<RingId, KeyRange>& all() const noexcept { return ranges_; }
  /// Increases whenever a range may have changed.
  uint64_t changes() const noexcept { return changes_; }

 private:
  void cut(RingId place);
  std::map<RingId, KeyRange> ranges_;  // by the end of the arc
  uint64_t changes_ = 0;
};

/// Default and maximum number of replicas of each key. The maximum is the length of a successor list.
inline constexpr uint32_t kReplicas = 3;
inline constexpr uint32_t kMostReplicas = kNeighbourListLength;

/// Chooses the group for the keys of `owner`: the owner and the nearest usable nodes of `behind`, `copies` in total.
/// Prefers nodes of different processes.
std::vector<Peer> choose_group(const Peer& owner, const std::vector<Peer>& behind, size_t copies,
                               const std::function<bool(const Peer&)>& usable);

}  // namespace actorhost
