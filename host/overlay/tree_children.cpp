#include "host/overlay/tree_children.hpp"

#include <algorithm>

#include "host/base/clock.hpp"

namespace actorhost {

namespace {

constexpr size_t kMostWaiting = 32;
constexpr size_t kMostLostParents = 16;

}  // namespace

bool TreeChildren::take(const TreeReport& report, double now) {
  const NodeId node = report.envelope.from.node;
  const auto at = children_.find(node);
  if (at != children_.end() && report.number <= at->second.last.number)
    return false;  // a later report has arrived before
  Child& child = children_[node];
  child.peer = report.envelope.from;
  child.last = report;
  child.received_at = now;
  child.requests = 0;
  child.down = report.leaving;
  child.silence_reported = false;
  for (const NodeId lost : report.lost) {
    if (std::find(child.lost.begin(), child.lost.end(), lost) == child.lost.end()) child.lost.push_back(lost);
  }
  if (child.lost.size() > kMostLostParents) child.lost.erase(child.lost.begin(), child.lost.end() - kMostLostParents);
  return report.urgent;
}

void TreeChildren::lose_process(ProcessId process) {
  for (auto& [node, child] : children_) child.down = child.down || child.peer.process == process;
}

// Whether all children of `child` now report here and list `child` as lost. A node that does not may be about to
// detach.
bool TreeChildren::covered(const Child& child, NodeId self) const {
  return std::all_of(child.last.below.begin(), child.last.below.end(), [&](NodeId node) {
    const auto at = children_.find(node);
    if (node == self) return true;
    if (at == children_.end() || at->second.down) return false;
    const auto& lost = at->second.lost;
    return std::find(lost.begin(), lost.end(), child.peer.node) != lost.end();
  });
}

double TreeChildren::drop(NodeId self, double now) {
  double next = kForever;
  for (auto at = children_.begin(); at != children_.end();) {
    const Child& child = at->second;
    if (now - child.received_at >= kTreeRetention || (child.down && covered(child, self))) {
      at = children_.erase(at);
      continue;
    }
    next = std::min(next, child.received_at + kTreeRetention);
    ++at;
  }
  return next;
}

TreeTotal TreeChildren::total() const {
  TreeTotal total;
  for (const auto& [node, child] : children_) {
    total.learn(child.last.total.least, child.last.total.slowest);
    total.count += child.last.total.count;
    total.sum += child.last.total.sum;
    total.voters += child.last.total.voters;
  }
  return total;
}

std::vector<NodeId> TreeChildren::nodes() const {
  std::vector<NodeId> all;
  for (const auto& [node, child] : children_) all.push_back(node);
  return all;
}

double TreeChildren::leased_until() const {
  double until = 0;
  for (const auto& [node, child] : children_) {
    if (!child.down) until = std::max(until, child.received_at + child.last.lease);
  }
  return until;
}

uint64_t TreeChildren::known() const {
  uint64_t most = 0;
  for (const auto& [node, child] : children_) most = std::max(most, child.last.known);
  return most;
}

bool TreeChildren::urgent() const {
  return std::any_of(children_.begin(), children_.end(), [](const auto& item) {
    return item.second.last.urgent && item.second.settled < item.second.last.number;
  });
}

void TreeChildren::note(uint64_t number) {
  for (auto& [node, child] : children_) {
    if (child.last.number <= child.noted) continue;
    child.noted = child.last.number;
    // A later report includes all earlier reports.
    if (child.waiting.size() == kMostWaiting) child.waiting.pop_back();
    child.waiting.emplace_back(child.noted, number);
  }
}

void TreeChildren::settle(uint64_t number) {
  for (auto& [node, child] : children_) {
    while (!child.waiting.empty() && child.waiting.front().second <= number) {
      child.settled = child.waiting.front().first;
      child.waiting.pop_front();
      child.due = child.due || child.last.urgent;
    }
  }
}

void TreeChildren::settle_all() {
  for (auto& [node, child] : children_) {
    child.due = child.due || (child.last.urgent && child.settled < child.last.number);
    child.settled = child.noted = child.last.number;
    child.waiting.clear();
  }
}

}  // namespace actorhost
