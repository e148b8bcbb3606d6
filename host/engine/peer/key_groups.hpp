#pragma once
// Who looks after which part of the ring. The keys of an arc are held by a group of nodes, the first of which leads:
// it alone answers for them, and each write is with all of the group before it is acknowledged. Groups of one arc
// follow each other in terms. A node keeps what it knows of the arcs that it has to do with. Passive, without time.

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "host/overlay/peer.hpp"

namespace actorhost {

/// The greater one wins.
struct GroupTerm {
  uint64_t number = 0;
  NodeId node = 0;  // who has claimed it
  friend auto operator<=>(const GroupTerm&, const GroupTerm&) = default;
  static void fields(auto& m, auto&& field) { field(m.number, m.node); }
};

struct KeyGroup {
  GroupTerm term;
  std::vector<Peer> members;  // the first one leads

  bool has(NodeId node) const noexcept;
  bool sound() const noexcept { return !members.empty(); }
  static void fields(auto& m, auto&& field) { field(m.term, m.members); }
};

/// The points behind `from` up to `to`; the whole circle where these are the same.
struct Arc {
  RingId from = 0;
  RingId to = 0;

  constexpr bool has(RingId place) const noexcept { return in_arc(from, place, to); }
  friend bool operator==(const Arc&, const Arc&) = default;
  static void fields(auto& m, auto&& field) { field(m.from, m.to); }
};

/// Nobody else has the keys of a group of one. So the next node on the ring is told of it: to know, when it has died,
/// that they are gone.
inline bool watched_by_next(const KeyGroup& group) noexcept { return group.members.size() == 1; }

/// What a node knows of an arc.
struct KeyRange {
  Arc arc;
  KeyGroup group;
  bool holds = false;                 // the node has the arc's keys as that group's members have them
  std::vector<KeyGroup> before = {};  // until the group serves: those that it takes over from
  GroupTerm promised = {};            // the node takes part in no group of a lesser term
  std::optional<KeyGroup> next = {};  // a group that is about to take over

  bool serves() const noexcept { return before.empty(); }
  static void fields(auto& m, auto&& field) { field(m.arc, m.group, m.holds, m.before, m.promised, m.next); }
};

/// Whether some point lies in both.
constexpr bool overlap(const Arc& a, const Arc& b) noexcept { return a.has(b.to) || b.has(a.to); }

class RangeMap {
 public:
  /// nullptr: nothing is known of that place.
  const KeyRange* find(RingId place) const noexcept;
  /// Cuts ranges where the arc begins and ends, so that they lie inside of it or outside. Those inside, in order.
  std::vector<KeyRange*> inside(const Arc& arc);
  /// As they are, also those that lie outside in part.
  std::vector<KeyRange> around(const Arc& arc) const;
  /// In place of all that lies inside of its arc.
  void put(KeyRange range);
  /// Parts of the arc of which nothing is known.
  std::vector<Arc> gaps(const Arc& arc);
  const std::map<RingId, KeyRange>& all() const noexcept { return ranges_; }
  /// Rises whenever something may have been changed.
  uint64_t changes() const noexcept { return changes_; }

 private:
  void cut(RingId place);
  std::map<RingId, KeyRange> ranges_;  // by their ends
  uint64_t changes_ = 0;
};

/// Copies of each key where nobody says otherwise, and the most there can be: a node knows so many behind it.
inline constexpr uint32_t kReplicas = 3;
inline constexpr uint32_t kMostReplicas = kReach;

/// The nodes that hold the keys of `owner`: itself and of the usable ones behind it on the ring, nearest first, as many
/// as make `copies`. Of different processes, as long as there are some.
std::vector<Peer> choose_group(const Peer& owner, const std::vector<Peer>& behind, size_t copies,
                               const std::function<bool(const Peer&)>& usable);

}  // namespace actorhost
