#include "host/overlay/overlay.hpp"

#include <algorithm>

namespace actorhost {

namespace {

// Seconds, unless noted.
constexpr double kPeriod = 1;     // between lookups of fingers
constexpr double kDeadline = 10;  // of a lookup
// Peers through which another ring may be reached.
constexpr double kLongestCheck = 32;
constexpr size_t kMostChecks = 16;
constexpr size_t kRemembered = 32;
constexpr size_t kFirst = 4;  // the first few are retained for good
// Interval of finger lookups while fingers are missing; otherwise kPeriod.
constexpr double kQuick = 0.05;
// The nearest peers on each side, probed as soon as they are known.
constexpr std::ptrdiff_t kClose = 2;
// A tick is late by more than this: the node was suspended.
constexpr double kStopped = 0.25;

Peer peer_of(const Overlay::Contact& self, uint64_t seed, uint32_t attempt) {
  return {ring_id(seed, self.node, attempt), self.node, self.process};
}

}  // namespace

Overlay::Overlay(const Contact& self, uint64_t seed, double now)
    : seed_(seed),
      near_(peer_of(self, seed, 0)),
      calls_(near_.self()),
      fingers_(near_.self().id),
      gossip_(near_),
      finder_(calls_, near_, fingers_),
      rng_(seed, self.node),
      watch_(calls_, near_, fingers_, gossip_, rng_, now),
      sampler_(calls_, near_, finder_, Rng(seed ^ 1, self.node)),
      tree_(calls_, near_, finder_, now),
      next_finger_(now),
      woken_(kForever) {
  watch_.on_return([this](const Peer& peer) { join_through(peer); });
  sampler_.on_located([this](const Located& located) {
    if (located.hops > 0) census_.add(located.owner, located.lists, calls_.now());
  });
  tree_.on_silence([this](const Peer& peer) { watch_.check(peer); });
  calls_.set_now(now);
}

void Overlay::join(const std::vector<Contact>& contacts, double now) {
  calls_.set_now(now);
  for (const Contact& contact : contacts) {
    if (contact.node == self().node || near_.knows(contact.node)) continue;
    watch_.add_contact({ring_id(seed_, contact.node, 0), contact.node, contact.process});
    joined_ = joined_ && !near_.alone();
  }
  if (!watch_.none_lost()) tree_.expect_others();
}

void Overlay::leave(double now) {
  calls_.set_now(now);
  tree_.leave();
  left_ = true;
  finder_.fail_all();
  sampler_.fail_all();
  calls_.clear();
  for (const Peer& peer : near_.all()) calls_.send(overlay_kind::leaving, peer, 0, Envelope{});
}

void Overlay::lose_process(ProcessId process, double now) {
  calls_.set_now(now);
  watch_.lose_process(process);
  tree_.lose_process(process);
  // The process will send nothing more: it is no way to other rings.
  std::erase_if(remembered_, [&](const Peer& peer) { return peer.process == process; });
  std::erase_if(checks_, [&](const Check& check) { return check.peer.process == process; });
  end_waiting_alone();
}

/// A node without further contacts is the first of its overlay.
void Overlay::end_waiting_alone() { joined_ = joined_ || (near_.alone() && !watch_.awaits_contact()); }

void Overlay::find(RingId key, double now, Finder::OnLocated done) {
  calls_.set_now(now);
  finder_.find(key, now + kDeadline, std::move(done));
}

void Overlay::sample(uint32_t count, double seconds, double now, UniformSampler::OnSampled done) {
  calls_.set_now(now);
  sampler_.sample(count, size_estimate(now).nodes, now + seconds, std::move(done));
}

// Records that the sender of a message is live.
void Overlay::mark_live(const Peer& from) {
  if (from.node == self().node) return;
  if (from.id == self().id) {
    if (self().node > from.node) return take_other_id();
    return watch_.probe(from, 1);  // so that it learns of this node
  }
  if (watch_.mark_live(from.node) && checks_.size() < kMostChecks) {
    checks_.push_back({from, calls_.now() + kPeriod, kPeriod});
  }
  fingers_.offer(from);
  remember(from);
  if (!joined_) next_finger_ = std::min(next_finger_, calls_.now());  // a way into the ring
}

// Remembers a random subset of all peers ever seen, and the first few of them. If the ring closes without this node's
// early peers, they lead to the other part of the ring.
void Overlay::remember(const Peer& peer) {
  const auto same = [&](const Peer& p) { return p.node == peer.node; };
  if (std::any_of(remembered_.begin(), remembered_.end(), same)) return;
  if (remembered_.size() < kRemembered) return remembered_.push_back(peer);
  if (rng_.below(kRemembered) > 0) return;
  remembered_[kFirst + rng_.below(kRemembered - kFirst)] = peer;
}

// Merges a peer's neighbour lists.
void Overlay::merge_lists(const Peer& of, const NeighbourLists& lists) {
  const auto merged = near_.merge(of, lists, [this](const Peer& p) { return watch_.believes(p); });
  if (merged.apart) join_through(of);
  watch_.doubt(merged.doubted);
  if (!joined_) return;  // the new peers may be anywhere on the ring
  std::vector<Peer> fresh = merged.fresh;
  std::erase_if(fresh, [&](const Peer& peer) { return peer.node == of.node; });
  contact_new(fresh);
}

// Probes the new peers that are among the nearest. The other new peers only need to learn of this node: the node that
// named them has sent them the rest, and further probes complete it.
void Overlay::contact_new(const std::vector<Peer>& fresh) {
  const auto among = [](const std::vector<Peer>& side, const Peer& peer) {
    return std::find(side.begin(), side.end(), peer) - side.begin() <
           std::min<std::ptrdiff_t>(kClose, std::ssize(side));
  };
  for (const Peer& peer : fresh) {
    if (among(near_.lists().before.peers, peer) || among(near_.lists().after.peers, peer)) {
      watch_.probe(peer, 2);
    } else {
      calls_.send(overlay_kind::probe_reply, peer, 0, gossip_.announcement());
    }
  }
}

// Called on the node that gives way when two nodes have the same id.
void Overlay::take_other_id() {
  tree_.leave();
  std::vector<Contact> contacts;
  for (const Peer& peer : near_.all()) {
    calls_.send(overlay_kind::leaving, peer, 0, Envelope{});
    contacts.push_back({peer.node, peer.process});
  }
  const Peer other = peer_of({self().node, self().process}, seed_, ++attempt_);
  near_ = Neighbourhood(other);
  calls_.lose([](const Peer&) { return true; });  // they name the old id
  fingers_ = Fingers(other.id);
  tree_.restart();
  gossip_.forget_all();
  join(contacts, calls_.now());
}

// Looks up this node's own id through a peer that may belong to another overlay, and merges with the owner's lists.
void Overlay::join_through(const Peer& peer) {
  if (joining_through_) return;
  joining_through_ = true;
  finder_.find(
      self().id, calls_.now() + kDeadline,
      [this](const Result<Located>& located) {
        joining_through_ = false;
        if (!located.ok()) return;
        const bool first = !joined_;
        if (first) next_finger_ = calls_.now();
        if (located->owner.node != self().node) {
          mark_live(located->owner);
          merge_lists(located->owner, located->lists);
          watch_.probe(located->owner, 2);
        }
        joined_ = true;
        if (first) contact_new(near_.all());
      },
      &peer);
}

// ---- Periodic lookups ----

// Rings that form and merge at the same time may separate again. Checks at growing intervals whether the ring of a
// contact still leads back to this node.
void Overlay::check_contact() {
  const double now = calls_.now();
  const auto due = std::find_if(checks_.begin(), checks_.end(), [&](const Check& check) { return check.next <= now; });
  if (due == checks_.end() || joining_through_) return;
  const Peer peer = due->peer;
  due->wait *= 2;
  due->next = now + due->wait;
  if (due->wait > kLongestCheck) checks_.erase(due);
  join_through(peer);
}

void Overlay::find_finger() {
  const double now = calls_.now();
  next_finger_ = now + kPeriod;
  check_contact();
  if (!joined_ && !remembered_.empty()) return join_through(remembered_[rng_.below(remembered_.size())]);
  if (near_.whole()) return;
  auto key = fingers_.next_key(near_.lists().after.span, true);
  next_finger_ = now + (key ? kQuick : kPeriod);
  if (!key) {
    // In rotation: refresh a finger, look up a random key for the size estimate, and check whether some remembered
    // peer's ring contains this node. The check detects two overlays that have merged only in part.
    ++rounds_;
    if (rounds_ % 4 == 0 && !remembered_.empty()) return join_through(remembered_[rng_.below(remembered_.size())]);
    // In a ring of about a hundred nodes few lists cover most of the circle.
    if (near_.lists().after.span > kCircle / 8 && rounds_ % 4 != 1) return;
    if (rounds_ % 8 != 5 && rounds_ % 2 == 1) key = fingers_.next_key(near_.lists().after.span, false);
  }
  const RingId wanted = key.value_or(rng_.next());
  finder_.find(wanted, now + kDeadline, [this, key](const Result<Located>& located) {
    if (!located.ok() || located->hops == 0) return;
    census_.add(located->owner, located->lists, calls_.now());
    if (key) fingers_.set(*key, located->owner);
  });
}

// ---- Messages ----

template <typename M>
Status Overlay::read(const Frame& frame) {
  const Result<M> message = read_message<M>(frame);
  if (!message.ok()) return malformed(frame, message.error().message);
  const Envelope* envelope = nullptr;
  if constexpr (requires { message->envelope; }) {
    envelope = &message->envelope;
  } else {
    envelope = &*message;
  }
  if (envelope->to != self().node) return malformed(frame, "it is addressed to another node");
  if (courier_address(envelope->from.process) != frame.src) return malformed(frame, "its sender names another process");
  return take(frame, *message);
}

Status Overlay::on_frame(const Frame& frame, double now) {
  calls_.set_now(now);
  if (left_) return {};
  if (frame.kind == overlay_kind::find) return read<Find>(frame);
  if (frame.kind == overlay_kind::found) return read<Found>(frame);
  if (frame.kind == overlay_kind::probe || frame.kind == overlay_kind::probe_reply) return read<PeerProbe>(frame);
  if (frame.kind == overlay_kind::leaving || frame.kind == overlay_kind::detach) return read<Envelope>(frame);
  if (frame.kind == overlay_kind::suspect) return read<Suspect>(frame);
  if (frame.kind == overlay_kind::report) return read<TreeReport>(frame);
  if (frame.kind == overlay_kind::result) return read<TreeResult>(frame);
  return malformed(frame, "the overlay has no such message");
}

Status Overlay::take(const Frame& frame, const Find& find) {
  // The sender may be unknown: it has no place here before its first probe.
  Found found = finder_.make_reply(find.key);
  // A joining node looks up its own place: its fingers are nearly the owner's.
  if (found.lists && find.key == find.envelope.from.id) found.closer = fingers_.all();
  found.least = tree_.aggregate(calls_.now()).least;
  calls_.send(overlay_kind::found, find.envelope.from, frame.tag, std::move(found));
  return {};
}

Status Overlay::take(const Frame& frame, const Found& found) {
  const Peer& from = found.envelope.from;
  if (found.lists && !Neighbourhood::is_valid(from, *found.lists))
    return malformed(frame, "its neighbour lists are inconsistent");
  calls_.mark_live(from.node);
  if (!watch_.is_lost(from.node)) fingers_.offer(from);
  if (found.lists) {
    for (const Peer& peer : found.closer) {
      if (!watch_.is_lost(peer.node)) fingers_.offer(peer);
    }
  }
  tree_.expect_least(found.least);
  calls_.take_reply(frame, from.node);
  return {};
}

Status Overlay::take(const Frame& frame, const PeerProbe& probe) {
  const Peer& from = probe.envelope.from;
  if (probe.lists && !Neighbourhood::is_valid(from, *probe.lists)) {
    return malformed(frame, "its neighbour lists are inconsistent");
  }
  gossip_.take(probe, calls_.now());
  calls_.take_reply(frame, from.node);
  mark_live(from);
  merge_lists(from, probe.lists.value_or(NeighbourLists{{{}, 0}, {{}, 0}}));  // without lists it claims nothing
  if (frame.kind == overlay_kind::probe) {
    calls_.send(overlay_kind::probe_reply, from, frame.tag, gossip_.make_reply(probe));
  }
  return {};
}

Status Overlay::take(const Frame& frame, const Envelope& envelope) {
  if (frame.kind == overlay_kind::detach) {
    tree_.on_detach(envelope.from);
  } else {
    watch_.forgo(envelope.from);
    end_waiting_alone();
  }
  return {};
}

Status Overlay::take(const Frame& /*frame*/, const Suspect& suspect) {
  if (near_.knows(suspect.peer.node)) watch_.suspect(suspect.peer);
  return {};
}

Status Overlay::take(const Frame& /*frame*/, const TreeReport& report) {
  mark_live(report.envelope.from);
  tree_.on_report(report);
  return {};
}

Status Overlay::take(const Frame& frame, const TreeResult& result) {
  if (!tree_.on_result(result)) return malformed(frame, "it acknowledges a report that this node has not sent");
  mark_live(result.envelope.from);
  return {};
}

double Overlay::tick(double now) {
  calls_.set_now(now);
  if (left_) return kForever;
  // While suspended, this node could receive nothing.
  if (now - woken_ > kStopped) calls_.postpone(now - woken_);
  double next = watch_.tick();
  if (now >= next_finger_) find_finger();
  next = std::min({next, next_finger_, tree_.tick(joined_)});
  next = std::min({next, sampler_.tick(), finder_.tick(), calls_.tick()});
  woken_ = next;
  return next;
}

}  // namespace actorhost
