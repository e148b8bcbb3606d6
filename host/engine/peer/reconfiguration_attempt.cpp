#include "host/engine/peer/reconfiguration_attempt.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr int kClaimTries = 3;
constexpr size_t kNearReach = 4;

// Stores for each point the group with the greatest term and the groups that it takes over from.
void learn(RangeMap& known, const std::vector<KeyRange>& ranges) {
  const auto take = [&](const KeyRange& range) {
    if (range.group.members.empty()) return;
    const auto part = [&](const Arc& arc, const GroupTerm& promised) {
      return KeyRange{arc, range.group, false, range.before, promised, range.next};
    };
    for (const Arc& gap : known.gaps(range.arc)) known.put(part(gap, range.promised));
    for (KeyRange* piece : known.inside(range.arc)) {
      piece->promised = std::max(piece->promised, range.promised);
      if (piece->group.term == range.group.term && range.serves()) piece->before.clear();
      if (piece->group.term < range.group.term) *piece = part(piece->arc, piece->promised);
    }
  };
  for (const KeyRange& range : ranges) {
    take(range);
    if (!range.next) continue;
    KeyRange next = range;
    next.group = *range.next;
    next.before = range.before;
    next.before.push_back(range.group);
    take(next);
  }
}

// The group of the piece, and the groups that it takes over from.
std::vector<KeyGroup> groups_of(const KeyRange& piece) {
  std::vector<KeyGroup> groups = {piece.group};
  groups.insert(groups.end(), piece.before.begin(), piece.before.end());
  return groups;
}

// Whether a node with these ranges has all keys of the arc, in any number of ranges, with the contents of that group.
bool holds_all(const std::vector<KeyRange>& ranges, const Arc& arc, const GroupTerm& term) {
  RangeMap held;
  for (const KeyRange& range : ranges) {
    if (range.holds && range.group.term == term) held.put(range);
  }
  return held.gaps(arc).empty();
}

}  // namespace

void ReconfigurationAttempt::begin(bool others_know_more) {
  parts_.liveness.forget_departed();
  learn(known_, parts_.ranges.around(arc()));
  const std::vector<KeyRange*> pieces = known_.inside(arc());
  const bool all_own = known_.gaps(arc()).empty() && std::all_of(pieces.begin(), pieces.end(), [&](KeyRange* piece) {
                         return piece->group.leader().node == self().node;
                       });
  if (all_own && !others_know_more) return claim();
  query(kNearReach);
}

bool ReconfigurationAttempt::reachable(const Peer& peer) const {
  return peer.node != self().node && !parts_.liveness.lost(peer.process);
}

void ReconfigurationAttempt::query(size_t reach) {
  std::map<NodeId, Peer> targets;
  const auto add = [&](const Peer& peer) {
    if (reachable(peer)) targets.emplace(peer.node, peer);
  };
  const NeighbourLists& lists = parts_.overlay.near().lists();
  for (const Side* side : {&lists.before, &lists.after}) {
    for (size_t i = 0; i < std::min(reach, side->peers.size()); ++i) add(side->peers[i]);
  }
  for (const KeyRange* piece : known_.inside(arc())) {
    for (const Peer& peer : piece->group.members) add(peer);
  }
  all_queried_ = reach >= kNeighbourListLength;
  const auto workers = all_queried_ ? parts_.liveness.all_workers() : std::nullopt;
  all_replied_ = workers.has_value();
  if (workers) std::for_each(workers->begin(), workers->end(), add);
  open_ = targets.size();
  for (const auto& [node, peer] : targets) {
    const auto on_reply = [this, peer = peer](const Frame* frame) {
      if (frame == nullptr && !parts_.liveness.failed_or_departed(peer)) all_replied_ = false;
      if (frame != nullptr) {
        if (const auto reply = read_message<KnownRanges>(*frame); reply.ok()) learn(known_, reply->ranges);
      }
      if (--open_ == 0) queried();
    };
    parts_.calls.call(peer, peer_kind::query, ArcQuery{{}, arc()}, 2, until_end(on_reply));
  }
  if (targets.empty()) queried();
}

void ReconfigurationAttempt::queried() {
  const std::vector<Arc> gaps = known_.gaps(arc());
  if (gaps.empty()) return claim();
  if (!all_queried_) return query(kNeighbourListLength);
  const bool alone = parts_.overlay.near().alone();
  const bool known_by_none = alone || all_replied_ || now() - arc_since_ >= kUnresponsiveMajority;
  if (!known_by_none || !parts_.liveness.run_leased(now())) return on_end_(0.5);
  // There are no such keys, or all their replicas are lost.
  for (const Arc& gap : gaps) known_.put({gap, {{0, self().node}, {self()}}, false});
  claim();
}

void ReconfigurationAttempt::claim() {
  uint64_t number = 0;
  for (const KeyRange* piece : known_.inside(arc())) {
    number = std::max({number, piece->group.term.number, piece->promised.number});
  }
  proposal_.group.term = {number + 1, self().node};
  for (KeyRange* own : parts_.ranges.inside(arc())) own->promised = term();
  // The log may have writes outside of the arc, where this node must not continue to lead: a member may lack such a
  // write.
  if (!parts_.log.drained()) parts_.log.depose();
  parts_.log.abandon();
  request_promises();
}

// First requests the leaders' consent, then the promises of all members.
void ReconfigurationAttempt::request_promises() {
  std::map<NodeId, Peer> leaders;
  std::map<NodeId, Peer> rest;
  for (const KeyRange* piece : known_.inside(arc())) {
    for (const KeyGroup& group : groups_of(*piece)) {
      for (const Peer& peer : group.members) {
        if (reachable(peer) && vote_of(peer.node) == Contact::Vote::none) rest[peer.node] = peer;
      }
      const Peer& leader = group.leader();
      if (reachable(leader) && !contacts_[leader.node].consent_requested) leaders[leader.node] = leader;
    }
  }
  if (!leaders.empty()) return send_claims(leaders, true);
  if (!rest.empty()) return send_claims(rest, false);
  promised();
}

void ReconfigurationAttempt::send_claims(const std::map<NodeId, Peer>& peers, bool consent) {
  std::vector<NodeId> consented;
  for (const auto& [node, contact] : contacts_) {
    if (contact.consents) consented.push_back(node);
  }
  open_ = peers.size();
  for (const auto& [node, peer] : peers) {
    Contact& contact = contacts_[node];
    contact.peer = peer;
    contact.consent_requested = contact.consent_requested || consent;
    parts_.calls.call(
        peer, peer_kind::claim, Claim{{}, arc(), term(), consent, consented}, kClaimTries,
        until_end([this, node = node, consent](const Frame* frame) { on_promise(node, consent, frame); }));
  }
}

void ReconfigurationAttempt::on_promise(NodeId node, bool consent, const Frame* frame) {
  Contact& contact = contacts_.at(node);
  Contact::Vote vote = Contact::Vote::silent;
  if (frame != nullptr) {
    readmitted_ = parts_.liveness.reply_to_claim(node, now()) || readmitted_;
    if (const auto reply = read_message<KnownRanges>(*frame); reply.ok()) {
      vote = reply->refused ? Contact::Vote::refused : Contact::Vote::yes;
      if (!consent) contact.ranges = reply->ranges;
      learn(known_, reply->ranges);
    }
  } else {
    parts_.liveness.miss_claim(node, now());
  }
  contact.consents = contact.consents || (consent && vote == Contact::Vote::yes);
  if (!consent || vote != Contact::Vote::yes) contact.vote = vote;
  if (--open_ > 0) return;
  for (const auto& [id, one] : contacts_) {
    if (one.vote == Contact::Vote::refused) return retry_after(0.1, 0.3);
  }
  request_promises();
}

ReconfigurationAttempt::Contact::Vote ReconfigurationAttempt::vote_of(NodeId node) const {
  const auto contact = contacts_.find(node);
  return contact != contacts_.end() ? contact->second.vote : Contact::Vote::none;
}

bool ReconfigurationAttempt::has_majority(const KeyGroup& group) const {
  size_t counted = 0;
  size_t agree = 0;
  for (const Peer& peer : group.members) {
    const bool yes = peer.node == self().node || vote_of(peer.node) == Contact::Vote::yes;
    agree += yes ? 1 : 0;
    counted += yes || !parts_.liveness.failed_or_departed(peer) ? 1 : 0;
  }
  return 2 * agree > counted || counted == 0;
}

/// A promised node with all keys of the piece.
std::optional<Peer> ReconfigurationAttempt::source(const KeyRange& piece) const {
  // Prefers later groups, whose replicas contain more: such a group may have served without a message to this node.
  std::vector<KeyGroup> groups = groups_of(piece);
  std::sort(groups.begin(), groups.end(), [](const KeyGroup& a, const KeyGroup& b) { return b.term < a.term; });
  for (const KeyGroup& group : groups) {
    if (holds_all(parts_.ranges.around(piece.arc), piece.arc, group.term)) return self();
    std::optional<Peer> found;
    for (const auto& [node, contact] : contacts_) {
      if (contact.vote != Contact::Vote::yes || !holds_all(contact.ranges, piece.arc, group.term)) continue;
      if (!found || node == group.leader().node) found = contact.peer;
    }
    if (found) return found;
  }
  return std::nullopt;
}

/// For a piece without a source: whether no node can have its keys. A live member of a group that served must have
/// passed the keys on to a later group. A member of a group that never served does not have them if it has replied.
bool ReconfigurationAttempt::all_replicas_lost(const KeyRange& piece) const {
  const auto without = [&](const Peer& peer) {
    if (parts_.liveness.failed_or_departed(peer)) return true;
    return !piece.serves() && (peer.node == self().node || vote_of(peer.node) == Contact::Vote::yes);
  };
  const std::vector<KeyGroup> groups = groups_of(piece);
  return std::all_of(groups.begin(), groups.end(), [&](const KeyGroup& group) {
    return std::all_of(group.members.begin(), group.members.end(), without);
  });
}

void ReconfigurationAttempt::promised() {
  // The next attempt includes the readmitted node: fewer failures could lose the keys of a smaller group.
  if (readmitted_ && !full_) return retry_after(0, 0.1);
  std::vector<std::pair<Arc, Peer>> sources;
  for (const KeyRange* piece : known_.inside(arc())) {
    const std::vector<KeyGroup> groups = groups_of(*piece);
    const bool all =
        std::all_of(groups.begin(), groups.end(), [&](const KeyGroup& group) { return has_majority(group); });
    if (!all) return retry_after(0.5, 0.5);
    const auto from = source(*piece);
    if (!from && !all_replicas_lost(*piece) && piece->group.term.number > 0) return retry_after(0.5, 0.5);
    if (from && from->node != self().node) sources.emplace_back(piece->arc, *from);
  }
  if (overtaken()) return retry_after(0.1, 0.3);
  parts_.sync.end(arc());
  if (sources.empty()) return adopt();
  open_ = sources.size();
  for (const auto& [piece, from] : sources) {
    parts_.sync.begin(piece, from, until_end([this](bool done) {
                        copied_ = copied_ && done;
                        if (--open_ == 0) copied_ ? adopt() : on_end_(0.2);
                      }));
  }
}

void ReconfigurationAttempt::adopt() {
  std::vector<KeyGroup>& before = proposal_.before;
  for (const KeyRange* piece : known_.inside(arc())) {
    for (const KeyGroup& group : groups_of(*piece)) {
      const bool there =
          std::any_of(before.begin(), before.end(), [&](const KeyGroup& one) { return one.term == group.term; });
      if (!there && group.term.number > 0) before.push_back(group);
    }
  }
  if (overtaken()) return retry_after(0.1, 0.3);
  parts_.ranges.put({arc(), proposal_.group, true, before, term()});
  for (const Peer& peer : proposal_.group.members) contacts_[peer.node].peer = peer;
  contacts_.erase(self().node);
  open_ = contacts_.size();
  for (auto& [node, contact] : contacts_) {
    contact.vote = Contact::Vote::none;
    send_adopt(contact.peer);
  }
  if (contacts_.empty()) settle();
}

void ReconfigurationAttempt::send_adopt(const Peer& peer) {
  parts_.calls.call(peer, peer_kind::adopt, proposal_, kClaimTries,
                    until_end([this, peer, sent = now()](const Frame* frame) { on_adopted(peer, sent, frame); }));
}

void ReconfigurationAttempt::on_adopted(const Peer& peer, double sent, const Frame* frame) {
  Contact& contact = contacts_.at(peer.node);
  contact.vote = Contact::Vote::silent;
  if (frame != nullptr) {
    const auto reply = read_message<Adopted>(*frame);
    if (reply.ok() && reply->state == Adopted::State::working) return send_adopt(peer);
    const bool done = reply.ok() && reply->state == Adopted::State::done;
    contact.vote = done ? Contact::Vote::yes : Contact::Vote::refused;
    if (done) parts_.liveness.confirm(peer.node, sent);
  }
  if (--open_ == 0) adopted();
}

void ReconfigurationAttempt::adopted() {
  bool all = true;
  for (const Peer& member : proposal_.group.members) {
    if (member.node == self().node) continue;
    const Contact::Vote vote = vote_of(member.node);
    if (vote == Contact::Vote::silent) parts_.liveness.exclude(member.node, now());
    all = all && vote == Contact::Vote::yes;
  }
  for (const KeyGroup& group : proposal_.before) all = all && has_majority(group);
  if (!all) return retry_after(0.1, 0.3);
  settle();
}

void ReconfigurationAttempt::settle() {
  const std::vector<KeyRange*> own = parts_.ranges.inside(arc());
  if (own.size() != 1 || own.front()->group.term != term() || own.front()->promised != term()) return on_end_(0.1);
  own.front()->before.clear();
  parts_.log.follow(term());
  parts_.log.lead(proposal_.group);
  for (const auto& [node, contact] : contacts_) {
    parts_.calls.call(contact.peer, peer_kind::settle, proposal_, 4, [](const Frame*) {});
  }
  on_end_(std::nullopt);
}

}  // namespace actorhost
