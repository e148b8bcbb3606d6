#include "host/overlay/uniform_sampler.hpp"

#include <algorithm>
#include <cmath>

namespace actorhost {

void UniformSampler::sample(uint32_t count, double nodes, double deadline, OnSampled done) {
  const uint32_t id = ++last_id_;
  Draw draw;
  draw.count = count;
  draw.tries = kTries * (count + 1);
  draw.accept = kAccepted / nodes;
  draw.deadline = deadline;
  draw.done = std::move(done);
  draw.listed = near_.whole();
  // If most nodes are requested, random draws would return the same nodes again and again.
  const auto& after = near_.lists().after.peers;
  const bool walked = !draw.listed && count > nodes / 4 && !after.empty();
  const RingId end = after.empty() ? 0 : after.back().id;
  if (draw.listed || walked) {
    draw.list = near_.all();
    draw.list.push_back(calls_.self());
  }
  draw.open = walked ? 1 : 0;
  draws_.emplace(id, std::move(draw));
  if (walked) return walk(id, end);
  begin_some(id);
}

// Lists all nodes clockwise from `at` to the node itself, one successor list at a time.
void UniformSampler::walk(uint32_t id, RingId at) {
  // If the walk takes longer than half of the time, the nodes found so far have to do.
  const double limit = (calls_.now() + draws_.at(id).deadline) / 2;
  finder_.find(at, limit, [this, id, at](const Result<Located>& located) {
    const auto found = draws_.find(id);
    if (found == draws_.end()) return;
    Draw& draw = found->second;
    bool round = !located.ok();
    RingId last = at;
    if (located.ok()) {
      for (const Peer& peer : located->lists.after.peers) {
        const auto known = [&](const Peer& p) { return p.node == peer.node; };
        round = round || peer.node == calls_.self().node || peer.id - at < last - at;
        if (round) break;
        if (std::none_of(draw.list.begin(), draw.list.end(), known)) draw.list.push_back(peer);
        last = peer.id;
      }
      round = round || last == at;
    }
    if (!round) return walk(id, last);
    draw.listed = true;
    close_one(id);
  });
}

// Starts as many draws at once as may still be needed.
void UniformSampler::begin_some(uint32_t id) {
  for (;;) {
    const auto at = draws_.find(id);
    if (at == draws_.end()) return;
    Draw& draw = at->second;
    const bool enough = draw.taken.size() >= draw.count;
    const bool more = draw.listed ? !draw.list.empty() : draw.tries > 0;
    if (enough || (!more && draw.open == 0)) {
      const OnSampled done = std::move(draw.done);
      std::vector<Sampled> taken = std::move(draw.taken);
      draws_.erase(at);
      return done(std::move(taken));
    }
    if (!more || draw.taken.size() + draw.open >= draw.count) return;
    ++draw.open;
    if (draw.listed) {
      std::swap(draw.list[rng_.below(draw.list.size())], draw.list.back());
      const Peer peer = draw.list.back();
      draw.list.pop_back();
      visit(id, peer);
    } else {
      --draw.tries;
      finder_.find(rng_.next(), draw.deadline, [this, id](const Result<Located>& located) {
        if (located.ok()) {
          if (on_located_) on_located_(*located);
          consider(id, *located);
        } else {
          close_one(id);
        }
      });
    }
  }
}

void UniformSampler::consider(uint32_t id, const Located& located) {
  const auto at = draws_.find(id);
  if (at == draws_.end()) return;
  Draw& draw = at->second;
  const auto& before = located.lists.before.peers;
  const auto& after = located.lists.after.peers;
  const auto reach = static_cast<size_t>(kSpread);
  const RingId owner = located.owner.id;
  if (located.lists.before.claimed(owner, false) < reach || located.lists.after.claimed(owner, true) + 1 < reach) {
    return close_one(id);
  }
  // Peer k positions behind the owner; negative k: before it.
  const auto peer_at = [&](int64_t k) -> const Peer& {
    if (k == 0) return located.owner;
    return k > 0 ? after[static_cast<size_t>(k - 1)] : before[static_cast<size_t>(-k - 1)];
  };
  const auto k = static_cast<int64_t>(rng_.below(reach));
  const Peer peer = peer_at(k);
  const double arcs = std::ldexp(static_cast<double>(peer.id - peer_at(k - kSpread).id), -64);
  if (rng_.uniform() * arcs >= draw.accept * static_cast<double>(kSpread)) return close_one(id);
  const auto& seen = draw.visited;
  if (std::find(seen.begin(), seen.end(), peer.node) != seen.end()) return close_one(id);
  if (k == 0) return take(id, peer, located.state);
  visit(id, peer);
}

void UniformSampler::visit(uint32_t id, const Peer& peer) {
  draws_.at(id).visited.push_back(peer.node);
  if (peer.node == calls_.self().node) return take(id, peer, finder_.state());
  calls_.call_for<Found>(peer, overlay_kind::find, Find{{}, peer.id}, 2, [this, id, peer](const Found* found) {
    if (found != nullptr && found->lists) return take(id, peer, found->state);
    close_one(id);
  });
}

void UniformSampler::take(uint32_t id, const Peer& peer, std::string state) {
  const auto at = draws_.find(id);
  if (at == draws_.end()) return;
  at->second.visited.push_back(peer.node);
  if (at->second.taken.size() < at->second.count) at->second.taken.push_back({peer, std::move(state)});
  close_one(id);
}

void UniformSampler::close_one(uint32_t id) {
  const auto at = draws_.find(id);
  if (at == draws_.end()) return;
  --at->second.open;
  begin_some(id);
}

double UniformSampler::tick() {
  double next = kForever;
  std::vector<uint32_t> late;
  for (const auto& [id, draw] : draws_) {
    if (draw.deadline <= calls_.now()) {
      late.push_back(id);
    } else {
      next = std::min(next, draw.deadline);
    }
  }
  for (const uint32_t id : late) {
    const auto at = draws_.find(id);
    if (at == draws_.end()) continue;
    at->second.count = static_cast<uint32_t>(at->second.taken.size());
    begin_some(id);
  }
  return next;
}

void UniformSampler::fail_all() {
  while (!draws_.empty()) {
    draws_.begin()->second.count = 0;
    begin_some(draws_.begin()->first);
  }
}

}  // namespace actorhost
