#include "host/overlay/ring_watch.hpp"

#include <algorithm>

namespace actorhost {

namespace {

// Seconds, unless noted.
constexpr double kProbeInterval = 1;  // between probes of the neighbours
constexpr int kProbeTries = 3;        // a peer has failed after this many requests without reply
// Failed peers: until kQuarantine other nodes' reports do not revive a peer; after kForgotten it is forgotten.
constexpr double kQuarantine = 120;
constexpr double kForgotten = 600;
constexpr size_t kMostLost = 128;
constexpr double kFirstRetry = 1;
constexpr double kLongestRetry = 8;
constexpr double kTryGap = 0.1;  // between probes to some of them
constexpr size_t kTriesAtOnce = 8;
// A neighbour without a message for this long is probed.
constexpr double kRound = 2 * kNeighbourListLength * kProbeInterval;

}  // namespace

RingWatch::RingWatch(PeerCalls& calls, Neighbourhood& near, Fingers& fingers, Gossip& gossip, Rng& rng, double now)
    : calls_(calls),
      near_(near),
      fingers_(fingers),
      gossip_(gossip),
      rng_(rng),
      next_probe_(now + kProbeInterval * rng.uniform()) {  // spreads the nodes' probes over time
  calls_.on_silence(
      [this](const Peer& peer, Kind kind) { kind == overlay_kind::probe ? lose(peer, true) : check(peer); });
}

void RingWatch::add_contact(const Peer& peer) {
  const double now = calls_.now();
  lost_[peer.node] = {peer, now, now, kFirstRetry / 4, true};  // the contact may be about to start
  next_try_ = now;
}

bool RingWatch::awaits_contact() const {
  return std::any_of(lost_.begin(), lost_.end(), [](const auto& entry) { return entry.second.contact; });
}

bool RingWatch::believes(const Peer& peer) {
  const auto at = lost_.find(peer.node);
  if (at == lost_.end()) return true;
  Lost& lost = at->second;
  if (lost.next < kForever) {
    lost.next = std::min(lost.next, std::max(calls_.now(), lost.since + 2 * kProbeInterval));
  }
  next_try_ = std::min(next_try_, lost.next);
  return calls_.now() - lost.since > kQuarantine;
}

bool RingWatch::mark_live(NodeId node) {
  calls_.mark_live(node);
  suspected_.erase(node);
  return lost_.erase(node) > 0;
}

void RingWatch::probe(const Peer& peer, int tries) {
  if (calls_.is_pending(peer.node, overlay_kind::probe)) return;
  PeerProbe probe = gossip_.make_probe(peer.node, false);
  const bool whole = probe.lists.has_value();
  calls_.call_for<PeerProbe>(peer, overlay_kind::probe, std::move(probe), tries, [this, whole](const PeerProbe* reply) {
    if (reply != nullptr) gossip_.take_reply(*reply, whole);
  });
}

void RingWatch::check(const Peer& peer) {
  if (!is_lost(peer.node)) probe(peer, kProbeTries - 1);
}

void RingWatch::suspect(const Peer& neighbour) {
  if (suspected_.size() < kMostLost) suspected_.insert(neighbour.node);
  probe(neighbour, kProbeTries - 1);
}

// When two rings merge, each node knows peers unknown to others.
void RingWatch::doubt(const std::vector<Peer>& peers) {
  if (peers.empty() || calls_.now() < next_doubt_) return;
  next_doubt_ = calls_.now() + kProbeInterval / 4;
  probe(peers[rng_.below(peers.size())], kProbeTries - 1);
}

void RingWatch::forgo(const Peer& peer) {
  lose(peer, false);
  Lost& lost = lost_.at(peer.node);
  lost.next = kForever;
  lost.contact = false;
}

void RingWatch::lose_process(ProcessId process) {
  std::vector<Peer> known = near_.all();
  for (const Peer& peer : fingers_.all()) known.push_back(peer);
  for (const Peer& peer : known) {
    if (peer.process == process) lose(peer, true);
  }
  calls_.lose([&](const Peer& peer) { return peer.process == process; });
  std::erase_if(lost_, [&](const auto& entry) { return entry.second.contact && entry.second.peer.process == process; });
}

void RingWatch::lose(const Peer& peer, bool notify_others) {
  if (is_lost(peer.node)) return;
  const auto next_is = [&](const Side& side) { return !side.peers.empty() && side.peers.front().node == peer.node; };
  // Its neighbours notify all others, and so does the first node that detects the failure.
  notify_others = notify_others &&
                  (suspected_.erase(peer.node) == 0 || next_is(near_.lists().before) || next_is(near_.lists().after));
  const bool near = near_.erase(peer.node);
  gossip_.forget(peer.node);
  fingers_.erase(peer.node);
  const double now = calls_.now();
  if (lost_.size() >= kMostLost) {
    lost_.erase(std::min_element(lost_.begin(), lost_.end(),
                                 [](const auto& a, const auto& b) { return a.second.since < b.second.since; }));
  }
  lost_[peer.node] = {peer, now, now + kFirstRetry, 2 * kFirstRetry, false};
  next_try_ = std::min(next_try_, now + kFirstRetry);
  calls_.lose([&](const Peer& other) { return other.node == peer.node; });
  if (!near || !notify_others) return;
  for (const Peer& other : near_.all()) calls_.send(overlay_kind::suspect, other, 0, Suspect{{}, peer});
  // After a second failure within 3 s there may be more: probes all neighbours.
  if (now - last_loss_ < 3 * kProbeInterval) {
    for (const Peer& other : near_.all()) probe(other, kProbeTries);
  }
  last_loss_ = now;
}

// Probes the first successor, the first predecessor unless it has just probed this node, and in rotation a neighbour
// without a recent message.
void RingWatch::probe_neighbours() {
  const std::vector<Peer> all = near_.all();
  if (all.empty()) return;
  const auto silent = [&](const Peer& peer, double seconds) {
    return calls_.now() - gossip_.received_at(peer.node) > seconds;
  };
  const NeighbourLists& lists = near_.lists();
  if (!lists.after.peers.empty()) probe(lists.after.peers.front(), kProbeTries);
  if (!lists.before.peers.empty() && silent(lists.before.peers.front(), kProbeInterval)) {
    probe(lists.before.peers.front(), kProbeTries);
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const Peer& peer = all[turn_++ % all.size()];
    if (silent(peer, kRound)) return probe(peer, kProbeTries);
  }
}

void RingWatch::probe_lost() {
  const double now = calls_.now();
  if (now < next_try_) return;
  next_try_ = kForever;
  size_t probed = 0;
  for (auto at = lost_.begin(); at != lost_.end();) {
    Lost& lost = at->second;
    if (!lost.contact && now - lost.since > kForgotten) {
      at = lost_.erase(at);
      continue;
    }
    if (probed < kTriesAtOnce && lost.next <= now && !calls_.is_pending(at->first, overlay_kind::probe)) {
      ++probed;
      lost.next = now + lost.wait;
      lost.wait = std::min(2 * lost.wait, kLongestRetry);
      calls_.call_for<PeerProbe>(lost.peer, overlay_kind::probe, gossip_.make_probe(at->first, true), 1,
                                 [this](const PeerProbe* reply) {
                                   if (reply != nullptr) return_(reply->envelope.from);
                                 });
    }
    next_try_ = std::min(next_try_, std::max(lost.next, now + kTryGap));
    ++at;
  }
}

double RingWatch::tick() {
  const double now = calls_.now();
  if (now >= next_probe_) {
    probe_neighbours();
    next_probe_ = now + kProbeInterval;
  }
  probe_lost();
  return std::min(next_probe_, next_try_);
}

}  // namespace actorhost
