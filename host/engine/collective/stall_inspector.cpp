#include "host/engine/collective/stall_inspector.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "host/engine/collective/collective_messages.hpp"

namespace actorhost {

namespace {

constexpr uint32_t kConfirms = 2;  // each rank of a cycle must report so often that it still waits

}  // namespace

void StallInspector::log_long_wait(const std::vector<uint32_t>& absent) {
  if (logged_ || absent.empty() || !clock_.waits_long(node_.clock().now())) return;
  logged_ = true;
  std::vector<uint32_t> ranks;
  for (const uint32_t member : absent) ranks.push_back(call_.ranks[member]);
  node_.log().info(node_.name(), std::string(call_.name) + ": waiting for over 10 s for " + ranks_text(ranks));
}

Status StallInspector::check(const std::vector<uint32_t>& absent) {
  log_long_wait(absent);
  std::vector<NodeId> ids;
  for (const uint32_t member : absent) ids.push_back(call_.ids[member]);
  const LongWait waiting{.number = number_, .what = call_text(), .absent = ids, .sequence = call_.sequence};
  AH_LET(auto list, node_.whereabouts(clock_.limited() ? nullptr : &waiting));
  Status there = check_reports(list, absent);
  if (!there.ok() && suspected_) return there;
  suspected_ = !there.ok();
  if (!clock_.limited()) AH_TRY(check_cycle(list, ids));
  clock_.checked(node_.clock().now(), suspected_ || !cycle_.empty());
  return {};
}

Status StallInspector::check_reports(const std::vector<Whereabouts>& list, const std::vector<uint32_t>& absent) const {
  const std::string here = node_.name() + " is in " + call_text() + ", but ";
  for (const Whereabouts& w : list) {
    const bool waited_for =
        std::any_of(absent.begin(), absent.end(), [&](uint32_t member) { return call_.ids[member] == w.id; });
    if (!waited_for || !node_.membership().alive(w.id)) continue;
    if (w.ended) return Error{Code::mismatch, here + rank_text(w.id) + " has come to the end of its script"};
    if (w.in_action && w.actions > node_.actions()) {
      return Error{Code::mismatch, here + rank_text(w.id) + " is in " + w.kind + " at " + w.where};
    }
  }
  return {};
}

/// The shortest cycle of waiting ranks: begins with a rank absent here, follows the ranks that each rank waits
/// for, and ends with a rank that waits for this rank. Empty without a cycle.
std::vector<StallInspector::CycleRank> StallInspector::find_cycle(const std::vector<Whereabouts>& list,
                                                                  const std::vector<NodeId>& absent) const {
  std::map<NodeId, const LongWait*> waits;
  for (const Whereabouts& w : list) {
    if (w.waiting.number != 0 && w.id != node_.index()) waits.emplace(w.id, &w.waiting);
  }
  std::map<NodeId, NodeId> from;  // by node: the predecessor on the shortest path
  std::vector<NodeId> reached;
  const auto reach = [&](NodeId id, NodeId by) {
    if (waits.contains(id) && from.emplace(id, by).second) reached.push_back(id);
  };
  for (const NodeId id : absent) reach(id, node_.index());
  for (size_t i = 0; i < reached.size(); ++i) {
    NodeId id = reached[i];
    const std::vector<NodeId>& next = waits.at(id)->absent;
    if (std::find(next.begin(), next.end(), node_.index()) == next.end()) {
      for (const NodeId other : next) reach(other, id);
      continue;
    }
    std::vector<CycleRank> cycle;
    for (; id != node_.index(); id = from.at(id)) cycle.push_back({id, waits.at(id)->number, waits.at(id)->reports});
    std::reverse(cycle.begin(), cycle.end());
    return cycle;
  }
  return {};
}

Status StallInspector::check_cycle(const std::vector<Whereabouts>& list, const std::vector<NodeId>& absent) {
  std::vector<CycleRank> cycle = find_cycle(list, absent);
  const bool same = cycle.size() == cycle_.size() &&
                    std::equal(cycle.begin(), cycle.end(), cycle_.begin(),
                               [](const CycleRank& a, const CycleRank& b) { return a.same_wait(b); });
  if (!same) {
    cycle_ = std::move(cycle);
    return {};
  }
  for (size_t i = 0; i < cycle.size(); ++i) {
    if (cycle[i].reports < cycle_[i].reports + kConfirms) return {};
  }
  if (cycle.empty()) return {};
  std::string text = "ranks wait for each other: " + node_.name() + " is in " + call_text();
  bool in_one_sequence = true;
  for (const CycleRank& other : cycle) {
    const auto at = std::find_if(list.begin(), list.end(), [&](const Whereabouts& w) { return w.id == other.id; });
    text += ", " + rank_text(other.id) + " is in " + at->waiting.what;
    in_one_sequence &= at->waiting.sequence == call_.sequence;
  }
  if (in_one_sequence) return {};  // a link is broken, and the coordinator will drop one of its two ends
  return Error{Code::mismatch, text + "; every rank must make the same calls in the same order"};
}

std::string StallInspector::call_text() const {
  return std::string(call_.signature).append(" at ").append(call_.where);
}

std::string StallInspector::rank_text(NodeId id) const {
  const auto rank = node_.membership().rank_of(id);
  return rank ? "rank " + std::to_string(*rank) : "worker " + std::to_string(id);
}

}  // namespace actorhost
