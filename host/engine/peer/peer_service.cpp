#include "host/engine/peer/peer_service.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace actorhost {

namespace {

// One live contact is enough.
constexpr size_t kMostContacts = 16;
// Rounds of exchange among the nodes of the process in one turn of the courier.
constexpr int kMostTurns = 16;
// Timers are rounded up to multiples of this, in seconds: an idle courier wakes at most a hundred times a second.
constexpr double kTimerResolution = 0.01;
constexpr double kHandOver = 5;  // seconds for other nodes to take over the keys of a leaving node, if there are any
// Seconds to retain early frames for a worker before it enters: other workers may have begun just before it.
constexpr double kEarly = 0.5;
constexpr size_t kMostEarly = 10'000;

}  // namespace

void PeerTraffic::count(Kind kind) noexcept {
  if (kind == overlay_kind::find || kind == overlay_kind::found) {
    ++lookups;
  } else if (kind == overlay_kind::report || kind == overlay_kind::result || kind == overlay_kind::detach) {
    ++clocks;
  } else if (within(kind, kinds_of(Kind::overlay_first))) {
    ++upkeep;
  } else if (kind == peer_kind::watch || kind == peer_kind::watched) {
    ++watches;
  } else {
    ++keys;
  }
}

PeerService::PeerService(ServiceThread& courier) : courier_(courier) {
  courier.add(kinds_of(Kind::overlay_first), *this);
  courier.add(kinds_of(Kind::peer_first), *this);
}

void PeerService::post(std::function<void()> call, bool soon) {
  const auto locked = [this, call = std::move(call)] {
    std::lock_guard lock(mutex_);
    call();
  };
  courier_.post(locked, soon);
}

void PeerService::enter(NodeId node, uint64_t seed, uint32_t replicas, std::shared_ptr<NodeStats> stats) {
  courier_.outlive_coordinator();
  post([this, node, seed, replicas, stats = std::move(stats)] {
    if (peers_.contains(node)) return;
    courier_.report_participation(node, true);  // not before: other leaving nodes would wait for this node
    auto& peer = peers_[node];
    const double now = courier_.clock().now();
    peer = std::make_unique<PeerNode>(Overlay::Contact{node, courier_.process()}, seed, replicas, now, stats);
    peer->keys.set_now(now);
    peer->keys.liveness().set_live(live_processes());
    peer->keys.liveness().set_all_workers([this, seed] { return all_workers(seed); });
    set_voters(*peer);
    peer->overlay.join(contacts_of(node, seed), now);
    std::deque<Early> early = std::exchange(early_, {});
    for (Early& each : early) {
      if (each.to == node && each.until > now)
        local_.push_back(std::move(each.frame));
      else if (each.to != node)
        early_.push_back(std::move(each));
    }
    if (!entered_.insert(node).second) return;  // its earlier keys are on other nodes
    const std::vector<Peer> all = founders(seed);
    peer->keys.reconfiguration().bootstrap(all);
    const auto lowest = [](const Peer& a, const Peer& b) { return a.id < b.id; };
    const auto first = std::min_element(all.begin(), all.end(), lowest);
    if (first != all.end() && first->node == node) peer->overlay.bootstrap_tree();
  });
}

// The workers that the run began with, including failed ones: equal on all nodes.
std::vector<Peer> PeerService::founders(uint64_t seed) const {
  const MembershipPtr table = courier_.first_membership();
  std::vector<Peer> all;
  for (NodeId node = 0; node < table->founders(); ++node) {
    all.push_back({ring_id(seed, node, 0), node, table->home_of(worker_address(node))});
  }
  return all;
}

// A departed worker may have replicas that no other worker has taken over yet.
std::vector<Peer> PeerService::all_workers(uint64_t seed) const {
  std::vector<Peer> all;
  for (const Member& member : courier_.newest_membership()->workers()) {
    all.push_back({ring_id(seed, member.id, 0), member.id, member.process});
  }
  return all;
}

std::vector<ProcessId> PeerService::live_processes() const {
  std::vector<ProcessId> live;
  for (const ProcessInfo& info : courier_.newest_membership()->processes()) live.push_back(info.process);
  std::sort(live.begin(), live.end());
  return live;
}

// The first workers, which all nodes try, and some random workers. An early peer finds no other peer yet, but late
// peers find it.
std::vector<Overlay::Contact> PeerService::contacts_of(NodeId node, uint64_t seed) const {
  std::vector<Overlay::Contact> contacts;
  for (const Member& member : courier_.newest_membership()->workers()) {
    if (member.id != node) contacts.push_back({member.id, member.process});
  }
  Rng rng(seed, node);
  for (size_t i = kMostContacts / 2; i < std::min(kMostContacts, contacts.size()); ++i) {
    std::swap(contacts[i], contacts[i + rng.below(contacts.size() - i)]);
  }
  contacts.resize(std::min(kMostContacts, contacts.size()));
  return contacts;
}

void PeerService::leave(NodeId node) {
  {
    std::lock_guard lock(mutex_);  // later reads of the worker no longer use this peer
    const auto at = peers_.find(node);
    if (at == peers_.end() || at->second->leaves_at < kForever) return;
    const double now = courier_.clock().now();
    at->second->led->change();
    if (at->second->overlay.near().alone()) {
      peers_.erase(at);
    } else {
      at->second->leaves_at = now + kHandOver;
      at->second->due = 0;
      at->second->keys.reconfiguration().leave();
      at->second->overlay.leave(now);
    }
  }
  courier_.report_participation(node, false);
  post([] {});
}

void PeerService::with(NodeId node, std::function<void(PeerNode*, double)> call, bool soon) {
  const auto found = [this, node, call = std::move(call)] {
    const auto at = peers_.find(node);
    const double now = courier_.clock().now();
    const bool there = at != peers_.end() && at->second->leaves_at == kForever;
    if (there) at->second->keys.set_now(now);
    if (there) at->second->due = 0;
    call(there ? at->second.get() : nullptr, now);
  };
  post(found, soon);
}

std::optional<LedValues> PeerService::read(NodeId node, std::span<const ParamKey> keys, Mark mark, double now) {
  std::lock_guard lock(mutex_);
  const auto at = peers_.find(node);
  if (at == peers_.end() || at->second->leaves_at < kForever || !at->second->overlay.joined()) return std::nullopt;
  PeerNode& peer = *at->second;
  LedValues values{{}, peer.led, peer.led->changes()};
  for (const ParamKey& key : keys) {
    auto entry = peer.keys.holder().read(key, mark, now);
    if (!entry) return std::nullopt;
    values.entries.push_back(*std::move(entry));
  }
  return values;
}

void PeerService::on_frame(Frame&& frame, double now) {
  std::lock_guard lock(mutex_);
  take(std::move(frame), now);
}

void PeerService::take(Frame&& frame, double now) {
  Unpacker in(frame.meta.view());
  const auto envelope = unpack_head<Envelope>(in);
  if (!envelope.ok()) {
    courier_.distrust(frame.src, frame.kind, malformed(frame, envelope.error().message));
    return;
  }
  const auto at = peers_.find(envelope->to);
  if (at == peers_.end()) {  // it has not entered, or has left: the sender continues without a reply
    while (!early_.empty() && (early_.front().until <= now || early_.size() >= kMostEarly)) early_.pop_front();
    if (entered_.contains(envelope->to) || frame.kind == peer_kind::query) return reply_departed(frame, *envelope);
    early_.push_back({envelope->to, now + kEarly, std::move(frame)});
    return;
  }
  if (at->second->leaves_at < kForever && frame.kind == overlay_kind::probe) return reply_departed(frame, *envelope);
  at->second->due = 0;
  NodeStats::Traffic& traffic = at->second->stats->courier;
  traffic.frames_received.add(1);
  traffic.bytes_received.add(frame.cost());
  const Address from = frame.src;
  const Kind kind = frame.kind;
  const Status taken = dispatch(*at->second, std::move(frame), now);
  if (!taken.ok()) courier_.distrust(from, kind, taken.error());
}

/// Replies to a request for a departed worker of this process, so that the sender does not wait for the worker, and
/// does not treat it as unresponsive.
void PeerService::reply_departed(const Frame& request, const Envelope& envelope) {
  static constexpr std::array kRequests = {peer_kind::query, peer_kind::claim, peer_kind::adopt, peer_kind::settle,
                                           peer_kind::renew, peer_kind::sums,  peer_kind::copy,  peer_kind::write};
  const bool is_key_request = request.kind == peer_kind::request || request.kind == peer_kind::probe;
  const bool is_probe = request.kind == overlay_kind::probe;
  if (!is_key_request && !is_probe && std::find(kRequests.begin(), kRequests.end(), request.kind) == kRequests.end())
    return;
  const Envelope back{{0, envelope.to, courier_.process()}, envelope.from.node};
  const Address to = courier_address(envelope.from.process);
  Frame reply = is_probe ? message_frame(overlay_kind::leaving, to, 0, back)
                : is_key_request
                    ? message_frame(peer_kind::reply, to, request.tag, KeyReply{back, KeyReply::State::moved, {}})
                    : message_frame(peer_kind::departed, to, request.tag, back);
  reply.src = courier_.address();
  if (is_key_request) reply.flags = kLastFrame;
  if (to == reply.src) {
    local_.push_back(std::move(reply));
  } else {
    out_.push_back(std::move(reply));
  }
}

Status PeerService::dispatch(PeerNode& peer, Frame&& frame, double now) {
  const Kind kind = frame.kind;
  if (within(kind, kinds_of(Kind::overlay_first))) return peer.overlay.on_frame(frame, now);
  if (kind == peer_kind::watch || kind == peer_kind::watched) return peer.watch.on_frame(frame, now);
  return peer.keys.on_frame(std::move(frame), now);
}

void PeerService::on_membership(const MembershipPtr& membership, double now) {
  std::lock_guard lock(mutex_);
  if (membership_) {
    for (const ProcessInfo& info : membership_->processes()) {
      if (membership->process(info.process) != nullptr) continue;
      for (const auto& [node, peer] : peers_) {
        peer->overlay.lose_process(info.process, now);
        peer->keys.lose_process(info.process, now);
        peer->watch.lose_process(info.process);
        peer->due = 0;
      }
    }
  }
  membership_ = membership;
  for (const auto& [node, peer] : peers_) {
    set_voters(*peer);
    peer->due = 0;
  }
}

void PeerService::set_voters(PeerNode& peer) const {
  bool votes = false;
  uint64_t all = 0;
  for (const Member& member : courier_.newest_membership()->workers()) {
    if (!member.votes) continue;
    votes = votes || member.id == peer.overlay.self().node;
    all += node_hash(member.id);
  }
  peer.overlay.set_voters(votes, all);
}

// Frames within the process need neither the transport nor another turn of the courier.
void PeerService::take_frames(PeerNode& peer) {
  const auto take = [&](std::vector<Frame> frames) {
    for (Frame& frame : frames) {
      peer.sent.count(frame.kind);
      peer.stats->courier.frames_sent.add(1);
      peer.stats->courier.bytes_sent.add(frame.cost());
      if (frame.dst == courier_.address()) {
        local_.push_back(std::move(frame));
      } else {
        out_.push_back(std::move(frame));
      }
    }
  };
  take(peer.overlay.take_frames());
  take(peer.keys.take_frames());
  take(peer.watch.take_frames());
}

void PeerService::take_local(double now) {
  while (!local_.empty()) {
    Frame frame = std::move(local_.front());
    local_.pop_front();
    take(std::move(frame), now);
  }
}

/// Whether another worker may still take over keys of this node. The table has departures on other hosts.
bool PeerService::others_remain(NodeId node) const {
  const auto departs = [this](const Member& member) {
    if (member.process != courier_.process() || !entered_.contains(member.id)) return false;
    const auto at = peers_.find(member.id);
    return at == peers_.end() || at->second->leaves_at < kForever;
  };
  const MembershipPtr table = courier_.newest_membership();
  return std::any_of(table->workers().begin(), table->workers().end(),
                     [&](const Member& member) { return member.votes && member.id != node && !departs(member); });
}

/// Ticks the peer; returns false when it has departed.
bool PeerService::tick_peer(PeerNode& peer, double now) {
  if (peer.due > now) return true;
  // Without a majority the other workers take over nothing for a while; this node may have the last replica of a key.
  const NodeId node = peer.overlay.self().node;
  if (peer.leaves_at <= now && others_remain(node)) peer.leaves_at = now + kHandOver;
  peer.due = std::min({peer.overlay.tick(now), peer.keys.tick(now), peer.watch.tick(now), peer.leaves_at});
  peer.keys.publish(*peer.led);
  take_frames(peer);
  return peer.leaves_at > now && !(peer.leaves_at < kForever && peer.keys.reconfiguration().holds_nothing());
}

double PeerService::tick(double now) {
  std::lock_guard lock(mutex_);
  for (const auto& [node, peer] : peers_) peer->keys.liveness().set_run_lease(courier_.leased_until());
  const double next = exchange(now);
  courier_.send_all(std::exchange(out_, {}));
  return next;
}

double PeerService::exchange(double now) {
  for (int turn = 0; turn < kMostTurns; ++turn) {
    double next = kForever;
    for (auto at = peers_.begin(); at != peers_.end();) {
      const bool there = tick_peer(*at->second, now);
      if (there) next = std::min(next, at->second->due);
      at = there ? std::next(at) : peers_.erase(at);
    }
    if (local_.empty())
      return next <= now || next == kForever ? next : std::ceil(next / kTimerResolution) * kTimerResolution;
    take_local(now);
  }
  return now;  // the courier's other tasks have waited long enough
}

}  // namespace actorhost
