#include "host/engine/collective/inquiry.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "host/engine/collective/collective_messages.hpp"

namespace actorhost {

namespace {

constexpr uint32_t kConfirms = 2;  // each rank of a cycle must report so often that it still waits

}  // namespace

void Inquiry::log_long_wait(const std::vector<uint32_t>& absent) {
  if (logged_ || absent.empty() || !clock_.waits_long(node_.clock().now())) return;
  logged_ = true;
  std::vector<uint32_t> ranks;
  for (const uint32_t member : absent) ranks.push_back(call_.ranks[member]);
  node_.log().info(node_.name(), std::string(call_.name) + ": waiting for over 10 s for " + ranks_text(ranks));
}

Status Inquiry::look(const std::vector<uint32_t>& absent) {
  log_long_wait(absent);
  std::vector<NodeId> ids;
  for (const uint32_t member : absent) ids.push_back(call_.ids[member]);
  const LongWait waiting{number_, call_text(), ids};
  auto list = node_.whereabouts(clock_.limited() ? nullptr : &waiting);
  if (!list) return list.error();
  Status there = judge(*list, absent);
  if (!there.ok() && astray_) return there;
  astray_ = !there.ok();
  if (!clock_.limited()) AH_TRY(judge_circle(*list, ids));
  clock_.looked(node_.clock().now(), astray_ || !circle_.empty());
  return {};
}

Status Inquiry::judge(const std::vector<Whereabouts>& list, const std::vector<uint32_t>& absent) const {
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
std::vector<Inquiry::Link> Inquiry::find_circle(const std::vector<Whereabouts>& list,
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
    std::vector<Link> circle;
    for (; id != node_.index(); id = from.at(id)) circle.push_back({id, waits.at(id)->number, waits.at(id)->told});
    std::reverse(circle.begin(), circle.end());
    return circle;
  }
  return {};
}

Status Inquiry::judge_circle(const std::vector<Whereabouts>& list, const std::vector<NodeId>& absent) {
  std::vector<Link> circle = find_circle(list, absent);
  const bool same =
      circle.size() == circle_.size() && std::equal(circle.begin(), circle.end(), circle_.begin(),
                                                    [](const Link& a, const Link& b) { return a.same_wait(b); });
  if (!same) {
    circle_ = std::move(circle);
    return {};
  }
  for (size_t i = 0; i < circle.size(); ++i) {
    if (circle[i].told < circle_[i].told + kConfirms) return {};
  }
  if (circle.empty()) return {};
  std::string text = "ranks wait for each other: " + node_.name() + " is in " + call_text();
  for (const Link& link : circle) {
    const auto at = std::find_if(list.begin(), list.end(), [&](const Whereabouts& w) { return w.id == link.id; });
    text += ", " + rank_text(link.id) + " is in " + at->waiting.what;
  }
  return Error{Code::mismatch, text + "; every rank must make the same calls in the same order"};
}

std::string Inquiry::call_text() const { return std::string(call_.signature).append(" at ").append(call_.where); }

std::string Inquiry::rank_text(NodeId id) const {
  const auto rank = node_.membership().rank_of(id);
  return rank ? "rank " + std::to_string(*rank) : "worker " + std::to_string(id);
}

}  // namespace actorhost
