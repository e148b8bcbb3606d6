#include "host/overlay/tree_parents.hpp"

namespace actorhost {

namespace {

constexpr double kSentGap = 0.02;  // minimum time between recorded reports

}  // namespace

TreeParents::Parent* TreeParents::find(NodeId node) noexcept {
  const auto at = std::find_if(parents_.begin(), parents_.end(), [&](const Parent& p) { return p.peer.node == node; });
  return at == parents_.end() ? nullptr : &*at;
}

void TreeParents::add(const Peer& peer, double now) {
  if (find(peer.node) != nullptr) return;
  Parent parent;
  parent.peer = peer;
  parent.needed = next_number();
  parent.received_at = now;
  parents_.push_back(std::move(parent));
}

void TreeParents::erase(NodeId node) {
  std::erase_if(parents_, [&](const Parent& parent) { return parent.peer.node == node; });
}

void TreeParents::lose_process(ProcessId process) {
  for (Parent& parent : parents_) {
    if (parent.peer.process != process) continue;
    parent.down = true;
    all_due();
  }
}

bool TreeParents::take(const TreeResult& result, double now) {
  Parent* const parent = find(result.envelope.from.node);
  if (parent == nullptr) return false;
  parent->received_at = now;
  parent->replied = true;
  parent->silence_reported = false;
  parent->due = parent->due || result.report_requested;
  if (result.leaving) {
    parent->down = true;
    all_due();
  }
  if (!result.leaving) {
    parent->last = result;
    const bool knows_me = result.lease > 0 && result.received >= parent->needed;
    // Counts from the time of sending: the parent retains the report for longer than that, from its arrival.
    parent->until = knows_me ? std::min(sent_at(result.received) + kTreeLease, now + result.lease) : 0;
  } else if (!result.others.empty()) {
    parent->last.others = result.others;
  }
  return true;
}

std::vector<Peer> TreeParents::expire(double now) {
  std::vector<Peer> removed;
  std::erase_if(parents_, [&](const Parent& parent) {
    const bool expired = now - parent.received_at >= kTreeRetention || (parent.down && parent.until <= now);
    if (expired) removed.push_back(parent.peer);
    return expired;
  });
  return removed;
}

uint64_t TreeParents::count_report(double now) {
  ++number_;
  while (!sent_.empty() && sent_.front().second < now - 2 * kTreeRetention) sent_.pop_front();
  if (sent_.empty() || now - sent_.back().second >= kSentGap) sent_.emplace_back(number_, now);
  return number_;
}

bool TreeParents::any_due() const {
  return std::any_of(parents_.begin(), parents_.end(), [](const Parent& p) { return p.due && !p.down; });
}

// The time at which this report was sent, or an earlier time.
double TreeParents::sent_at(uint64_t number) const {
  const auto behind =
      std::upper_bound(sent_.begin(), sent_.end(), number,
                       [](uint64_t n, const std::pair<uint64_t, double>& one) { return n < one.first; });
  return behind == sent_.begin() ? -kTreeLease : std::prev(behind)->second;
}

void TreeParents::all_due() {
  for (Parent& parent : parents_) parent.due = true;
}

std::vector<NodeId> TreeParents::lost() const {
  std::vector<NodeId> nodes;
  for (const Parent& parent : parents_) {
    if (parent.down) nodes.push_back(parent.peer.node);
  }
  return nodes;
}

uint64_t TreeParents::settled() const {
  uint64_t most = 0;
  for (const Parent& parent : parents_) {
    if (parent.last.settled >= parent.needed) most = std::max(most, parent.last.settled);
  }
  return most;
}

const TreeParents::Parent* TreeParents::inside(uint64_t number, NodeId preferred, double now) const {
  const Parent* best = nullptr;
  for (const Parent& parent : parents_) {
    if (parent.until <= now || parent.last.settled < std::max(number, parent.needed)) continue;
    if (parent.peer.node == preferred && !parent.silent(now)) return &parent;
    if (best == nullptr || parent.until > best->until) best = &parent;
  }
  return best;
}

}  // namespace actorhost
