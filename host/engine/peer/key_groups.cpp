#include "host/engine/peer/key_groups.hpp"

#include <algorithm>

namespace actorhost {

bool KeyGroup::has(NodeId node) const noexcept {
  return std::any_of(members.begin(), members.end(), [&](const Peer& peer) { return peer.node == node; });
}

const KeyRange* RangeMap::find(RingId place) const noexcept {
  if (ranges_.empty()) return nullptr;
  auto at = ranges_.lower_bound(place);
  if (at == ranges_.end()) at = ranges_.begin();
  return at->second.arc.has(place) ? &at->second : nullptr;
}

void RangeMap::cut(RingId place) {
  const KeyRange* around = find(place);
  if (around == nullptr || around->arc.to == place) return;
  KeyRange front = *around;
  KeyRange& back = ranges_.at(front.arc.to);
  front.arc.to = place;
  back.arc.from = place;
  ranges_.emplace(place, std::move(front));
}

std::vector<KeyRange*> RangeMap::inside(const Arc& arc) {
  ++changes_;
  cut(arc.from);
  cut(arc.to);
  std::vector<KeyRange*> found;
  for (auto& [end, range] : ranges_) {
    if (arc.has(end)) found.push_back(&range);
  }
  // In ring order from the start of the arc.
  std::sort(found.begin(), found.end(),
            [&](const KeyRange* a, const KeyRange* b) { return a->arc.to - arc.from - 1 < b->arc.to - arc.from - 1; });
  return found;
}

std::vector<KeyRange> RangeMap::around(const Arc& arc) const {
  std::vector<KeyRange> found;
  for (const auto& [end, range] : ranges_) {
    if (overlap(range.arc, arc)) found.push_back(range);
  }
  return found;
}

bool RangeMap::promised_above(const GroupTerm& term, const Arc& arc) {
  const std::vector<KeyRange*> ranges = inside(arc);
  return std::any_of(ranges.begin(), ranges.end(), [&](const KeyRange* range) { return term < range->promised; });
}

void RangeMap::put(KeyRange range) {
  std::vector<RingId> old;
  for (const KeyRange* inside_one : inside(range.arc)) old.push_back(inside_one->arc.to);
  for (const RingId end : old) ranges_.erase(end);
  const RingId end = range.arc.to;
  ranges_.insert_or_assign(end, std::move(range));
}

std::vector<Arc> RangeMap::gaps(const Arc& arc) {
  std::vector<Arc> out;
  const std::vector<KeyRange*> known = inside(arc);
  if (known.empty()) return {arc};
  RingId at = arc.from;
  for (const KeyRange* range : known) {
    if (range->arc.from != at) out.push_back({at, range->arc.from});
    at = range->arc.to;
  }
  if (at != arc.to) out.push_back({at, arc.to});
  return out;
}

std::vector<Peer> choose_group(const Peer& owner, const std::vector<Peer>& behind, size_t copies,
                               const std::function<bool(const Peer&)>& usable) {
  std::vector<Peer> chosen = {owner};
  const auto take = [&](bool same_process) {
    for (const Peer& peer : behind) {
      if (chosen.size() >= copies) return;
      const bool there = std::any_of(chosen.begin(), chosen.end(), [&](const Peer& c) {
        return c.node == peer.node || (!same_process && c.process == peer.process);
      });
      if (!there && usable(peer)) chosen.push_back(peer);
    }
  };
  take(false);
  take(true);
  return chosen;
}

}  // namespace actorhost
