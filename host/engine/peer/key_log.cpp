#include "host/engine/peer/key_log.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr int kWriteTries = 4;
constexpr size_t kChainBytes = size_t{64} << 10;  // a write of at least this payload passes along the chain

}  // namespace

void KeyLog::lead(const KeyGroup& group) {
  group_ = group;
  chain_.clear();
  for (const Peer& member : group.members) {
    if (member.node != calls_.self().node) chain_.push_back(member);
  }
  // First the members of the leader's own process.
  const auto place = [&](const Peer& peer) { return std::pair(peer.process != calls_.self().process, peer.process); };
  std::stable_sort(chain_.begin(), chain_.end(), [&](const Peer& a, const Peer& b) { return place(a) < place(b); });
  deposed_ = false;
  last_index_ = 0;
  stuck_.reset();
}

void KeyLog::abandon() {
  for (Pending& pending : std::exchange(writes_, {})) {
    if (pending.done) pending.done(false);
  }
}

// Earlier writes use the same connections, and the members' copies leave the leader, or pass along the chain, one after
// another.
double KeyLog::patience(const Pending& pending) const {
  size_t bytes = pending.bytes;
  for (const Pending& other : writes_) {
    if (other.index < pending.index) bytes += other.bytes;
  }
  const auto copies = static_cast<double>(chain_.size());
  return (0.5 + copies * static_cast<double>(bytes) / kSlowestPeer) * (1 << (pending.sent - 1));
}

void KeyLog::append(KeyOperation&& operation, OnDone done) {
  Pending pending;
  pending.index = ++last_index_;
  for (const Peer& member : chain_) pending.missing.insert(member.node);
  for (const ParamEntry& entry : operation.entries) pending.keys.insert(entry.key);
  pending.write = operation.write;
  if (!pending.missing.empty()) pending.entries = operation.entries;
  for (const ParamEntry& entry : pending.entries) pending.bytes += payload_bytes(entry.value);
  (void)table_.apply(std::move(operation));
  pending.dropped = table_.take_dropped();
  pending.done = std::move(done);
  pending.chained = writes_.empty() ? pending.bytes >= kChainBytes : writes_.back().chained;
  if (pending.missing.empty()) return finish(std::move(pending));
  send(pending);
  writes_.push_back(std::move(pending));
}

void KeyLog::send(Pending& pending) {
  ++pending.sent;
  pending.due = calls_.now() + patience(pending);
  pending.chained = pending.chained && pending.sent == 1;
  Write head{{}, calls_.self(), {}, group_.term, pending.index, pending.write};
  if (pending.chained) {
    head.chain.assign(chain_.begin() + 1, chain_.end());
    return send(std::move(head), chain_.front(), pending.entries);
  }
  for (const Peer& member : chain_) {
    if (pending.missing.count(member.node) > 0) send(Write(head), member, pending.entries);
  }
}

void KeyLog::send(Write&& head, const Peer& to, const std::vector<ParamEntry>& entries) {
  head.envelope = {calls_.self(), to.node};
  EntryPacker packer(peer_kind::write, courier_address(to.process), ++tag_, pack(head), true);
  for (const ParamEntry& entry : entries) packer.add(entry);
  std::vector<Frame> frames;
  packer.finish(frames);
  for (Frame& frame : frames) calls_.send(std::move(frame));
}

bool KeyLog::touches(const ParamKey& key) const {
  return std::any_of(writes_.begin(), writes_.end(), [&](const Pending& pending) {
    if (pending.write.type == KeyWrite::Type::commit && pending.write.arc.has(place_of(key))) return true;
    return pending.keys.count(key) > 0;
  });
}

std::vector<NodeId> KeyLog::missing() const {
  if (writes_.empty()) return {};
  return {writes_.front().missing.begin(), writes_.front().missing.end()};
}

void KeyLog::on_written(const Written& written) {
  if (written.term != group_.term) return;
  if (written.refused) {
    stuck_ = written.envelope.from.node;
    return;
  }
  for (Pending& pending : writes_) {
    if (pending.index == written.index) pending.missing.erase(written.envelope.from.node);
  }
  finish_acknowledged();
}

void KeyLog::finish(Pending&& pending) {
  std::move(pending.dropped.begin(), pending.dropped.end(), std::back_inserter(dropped_));
  if (pending.done) pending.done(true);
}

// In order: a member with the last write has all earlier writes.
void KeyLog::finish_acknowledged() {
  while (!writes_.empty() && writes_.front().missing.empty()) {
    Pending pending = std::move(writes_.front());
    writes_.pop_front();
    finish(std::move(pending));
  }
}

// Resends a pending write together with all later writes: a member applies writes in order, so without the first it has
// applied none of them.
double KeyLog::tick() {
  double next = kForever;
  bool again = false;
  for (Pending& pending : writes_) {
    if (pending.missing.empty()) continue;  // completes after the earlier writes
    again = again || pending.due <= calls_.now();
    if (again) {
      if (pending.sent >= kWriteTries - 1) stuck_ = *pending.missing.begin();
      send(pending);
    }
    next = std::min(next, pending.due);
  }
  return next;
}

/// Returns false and changes nothing if a later group has some of the keys, or is about to take them over.
bool KeyLog::apply(KeyWrite&& write, std::vector<ParamEntry>&& entries, const GroupTerm& term) {
  const auto ours = [&](RingId place) {
    const KeyRange* range = ranges_.find(place);
    return range != nullptr && range->group.term == term && range->promised == term;
  };
  if (write.type == KeyWrite::Type::commit) {
    for (const KeyRange& range : ranges_.around(write.arc)) {
      if (range.group.term != term || range.promised != term) continue;
      KeyWrite part = write;
      part.arc = range.arc;
      (void)table_.apply({std::move(part), {}});
    }
    (void)table_.take_dropped();  // the leader handles these
    return true;
  }
  for (const ParamEntry& entry : entries) {
    if (!ours(place_of(entry.key))) return false;
  }
  for (const TakenUpdate& update : write.covered) {
    const auto key = ParamKey::from_canonical(update.key);
    if (key.ok() && !ours(place_of(*key))) return false;
  }
  (void)table_.apply({std::move(write), std::move(entries)});
  (void)table_.take_dropped();
  return true;
}

Status KeyLog::on_write(Frame&& frame) {
  Unpacker in(frame.meta.view());
  auto head = unpack_head<Write>(in);
  if (!head.ok()) return malformed(frame, head.error().message);
  auto entries = messages_.add(head->envelope.from, frame, in, true);
  if (!entries.ok()) return std::move(entries).error();
  if (!*entries) return {};

  const auto next = next_.find(head->term);
  const bool follows = next != next_.end();
  if (follows && !head->chain.empty()) {
    Write rest = *head;
    rest.chain.erase(rest.chain.begin());
    send(std::move(rest), head->chain.front(), **entries);
  }
  if (follows && head->index > next->second) return {};  // an earlier write is missing and will be resent
  Written reply{{}, head->term, head->index, !follows};
  if (follows && head->index == next->second) {
    ++next->second;
    reply.refused = !apply(std::move(head->write), **std::move(entries), head->term);
    if (reply.refused) next_.erase(next);  // later writes of this term would lack this write
  }
  calls_.reply(frame, head->leader, peer_kind::written, reply);
  return {};
}

}  // namespace actorhost
