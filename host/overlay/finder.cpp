#include "host/overlay/finder.hpp"

#include <algorithm>

namespace actorhost {

Found Finder::make_reply(RingId key) const {
  Found found;
  if (near_.owns(key)) {
    found.owner = calls_.self();
    found.lists = near_.lists();
    found.state = state_;
  } else if (near_.covers(key)) {
    found.owner = near_.owner_of(key);
  }
  if (!found.lists) found.closer = fingers_.closest_before(key, near_, kNamed);
  return found;
}

void Finder::find(RingId key, double deadline, OnLocated done, const Peer* through) {
  const uint32_t id = ++last_id_;
  Lookup lookup;
  lookup.key = key;
  lookup.deadline = deadline;
  lookup.done = std::move(done);
  lookup.through = through != nullptr;
  if (through != nullptr) {
    lookup.candidates.push_back({*through});
    lookup.restarts = kMostRestarts;
  } else if (near_.owns(key)) {
    return lookup.done(Located{calls_.self(), near_.lists(), state_, 0});
  } else {
    fill(lookup);
  }
  lookups_.emplace(id, std::move(lookup));
  advance(id);
}

// Adds the best candidates that this node knows.
bool Finder::fill(Lookup& lookup) const {
  const Found own = make_reply(lookup.key);
  for (const Peer& peer : own.closer) add_candidate(lookup, peer, false);
  if (own.owner) add_candidate(lookup, *own.owner, true);
  return !lookup.candidates.empty();
}

void Finder::add_candidate(Lookup& lookup, const Peer& peer, bool owner) {
  auto& all = lookup.candidates;
  const auto known = std::find_if(all.begin(), all.end(), [&](const Candidate& c) { return c.peer == peer; });
  if (known != all.end()) {
    if (!owner || known->owner) return;
    if (known->queried) return;
    all.erase(known);
  }
  const auto at = std::find_if(all.begin(), all.end(), [&](const Candidate& c) {
    return owner || (!c.owner && lookup.key - peer.id < lookup.key - c.peer.id);
  });
  all.insert(at, {peer, owner});
}

void Finder::advance(uint32_t id) {
  const auto at = lookups_.find(id);
  if (at == lookups_.end()) return;
  Lookup& lookup = at->second;
  const auto next =
      std::find_if(lookup.candidates.begin(), lookup.candidates.end(), [](const Candidate& c) { return !c.queried; });
  if (next == lookup.candidates.end() || lookup.hops >= kMostHops) {
    lookup.candidates.clear();
    lookup.hops = 0;
    if (++lookup.restarts > kMostRestarts || !fill(lookup)) {
      return end(id, Error{Code::unreachable, "no responding peer leads to the owner of the key"});
    }
    return advance(id);
  }
  next->queried = true;
  const Peer peer = next->peer;
  calls_.call_for<Found>(peer, overlay_kind::find, Find{{}, lookup.key}, 2,
                         [this, id, peer](const Found* found) { take(id, peer, found); });
}

void Finder::take(uint32_t id, const Peer& from, const Found* found) {
  const auto at = lookups_.find(id);
  if (at == lookups_.end()) return;
  if (found == nullptr) return advance(id);
  Lookup& lookup = at->second;
  ++lookup.hops;
  if (found->lists) return end(id, Located{found->envelope.from, *found->lists, found->state, lookup.hops});
  for (const Peer& peer : found->closer) {
    if (lookup.key - peer.id < lookup.key - from.id) add_candidate(lookup, peer, false);
  }
  if (found->owner) {
    const bool me = found->owner->node == calls_.self().node;
    if (me && lookup.through) return end(id, Located{calls_.self(), near_.lists(), state_, lookup.hops});
    // The other node does not yet know the peers between this node and the key.
    add_candidate(lookup, me ? near_.owner_of(lookup.key) : *found->owner, true);
  }
  advance(id);
}

void Finder::end(uint32_t id, Result<Located> result) {
  const OnLocated done = std::move(lookups_.at(id).done);
  lookups_.erase(id);
  done(std::move(result));
}

double Finder::tick() {
  std::vector<uint32_t> late;
  double next = kForever;
  for (const auto& [id, lookup] : lookups_) {
    if (lookup.deadline <= calls_.now()) {
      late.push_back(id);
    } else {
      next = std::min(next, lookup.deadline);
    }
  }
  for (const uint32_t id : late) end(id, Error{Code::timeout, "the owner of the key has not replied in time"});
  return next;
}

void Finder::fail_all() {
  while (!lookups_.empty()) end(lookups_.begin()->first, Error{Code::interrupted, "this node has left the overlay"});
}

}  // namespace actorhost
