#include "host/overlay/tree_parent_search.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr double kSeekPeriod = 10;  // between lookups of the parent's key while the parent is live
constexpr double kSeekAgain = 0.5;  // otherwise
constexpr double kSeekDeadline = 2;

uint64_t low_bits(int bits) noexcept { return bits >= 64 ? kCircle : (uint64_t{1} << bits) - 1; }

}  // namespace

const TreeParents::Parent* TreeParentSearch::inside(uint64_t settled) const {
  return parents_.inside(settled, target_.value_or(calls_.self().node), calls_.now());
}

// The first key of the next larger arc around the largest arc that the node represents.
RingId TreeParentSearch::parent_key() const noexcept {
  const Side& before = near_.lists().before;
  const Peer& last = before.peers.empty() ? near_.lists().after.peers.back() : before.peers.front();
  const RingId self = calls_.self().id;
  int bits = 0;
  while (bits < 63 && (self & low_bits(bits + 1)) < self - last.id) ++bits;
  return self & ~low_bits(bits + 1);
}

void TreeParentSearch::seek() {
  if (near_.owns(0)) {
    target_.reset();
    return;
  }
  if (near_.lists().before.peers.empty() && near_.lists().after.peers.empty()) return;  // all known peers have failed
  const double now = calls_.now();
  const RingId key = parent_key();
  if (key != key_) next_seek_ = now;
  key_ = key;
  if (near_.covers(key)) return adopt(near_.owner_of(key));
  const auto* const parent = target_ ? parents_.find(*target_) : nullptr;
  if (parent == nullptr || parent->silent(now)) seek_soon();
  if (now < next_seek_ || lookup_ != 0) return;
  next_seek_ = now + kSeekPeriod;
  const uint32_t number = lookup_ = ++lookups_;
  finder_.find(key, now + kSeekDeadline, [this, key, number](const Result<Located>& located) {
    if (lookup_ != number) return;
    lookup_ = 0;
    if (!located.ok() || key != key_) {
      next_seek_ = calls_.now() + kTreeRetry;
      return;
    }
    adopt(located->owner);
  });
}

void TreeParentSearch::seek_soon() { next_seek_ = std::min(next_seek_, calls_.now() + kSeekAgain); }

void TreeParentSearch::adopt(const Peer& owner) {
  if (owner.id >= calls_.self().id) return;  // the view of the ring is still incomplete
  target_ = owner.node;
  parents_.add(owner, calls_.now());
}

void TreeParentSearch::detach(NodeId node) {
  calls_.send(overlay_kind::detach, parents_.find(node)->peer, 0, Envelope{});
  parents_.erase(node);
}

void TreeParentSearch::detach_all() {
  target_.reset();
  while (!parents_.all().empty()) detach(parents_.all().front().peer.node);
}

void TreeParentSearch::check(uint64_t settled, bool is_root) {
  const double now = calls_.now();
  for (const Peer& peer : parents_.expire(now)) {
    if (target_ == peer.node) target_.reset();
    calls_.send(overlay_kind::detach, peer, 0, Envelope{});
  }
  for (auto& parent : parents_.all()) {
    if (!parent.replied && now - parent.sent >= kTreeRetry) parent.due = true;
  }
  if (is_root) return;
  const NodeId target = target_.value_or(calls_.self().node);
  const auto* const best = inside(std::max(settled, parents_.settled()));
  const auto* const right = parents_.find(target);
  const bool responsive = right != nullptr && right->replied && !right->silent(now);
  const bool has_all = best != nullptr && best->peer.node == target && !best->silent(now);
  // The correct parent has all that any other parent has. No child relies on a parent that was never inside.
  std::vector<NodeId> rest;
  for (const auto& parent : parents_.all()) {
    if (parent.peer.node == target) continue;
    if (has_all || (best == nullptr && responsive && parent.last.lease == 0)) rest.push_back(parent.peer.node);
  }
  if (best == nullptr || best->silent(now)) fall_back();
  for (const NodeId node : rest) detach(node);
}

// Falls back to an alternative that a failed parent has named. Until the ring has closed, there is no other way.
void TreeParentSearch::fall_back() {
  const double now = calls_.now();
  if (now < next_fall_back_) return;
  for (const auto& parent : parents_.all()) {
    if (!parent.silent(now)) continue;
    for (const Peer& other : parent.last.others) {
      if (other.id >= calls_.self().id || parents_.find(other.node) != nullptr) continue;
      next_fall_back_ = now + kTreeRetry;
      return parents_.add(Peer(other), now);
    }
  }
}

void TreeParentSearch::restart() {
  parents_.clear();
  target_.reset();
  lookup_ = 0;
  next_seek_ = 0;
}

}  // namespace actorhost
