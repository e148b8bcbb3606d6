#include "host/engine/peer/group_reconfiguration.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr double kDebounce = 0.1;             // seconds: debounce interval of changes of the wanted group
constexpr double kUnresponsiveMajority = 45;  // dead-peer timeout: an unresponsive node then counts as failed
constexpr double kForgetSilence = 10;         // between two unanswered claims: the node may have been live meanwhile
constexpr double kFoundersPatience = 3;       // for founders that start late
constexpr double kExclusion = 5;              // before a failed member is chosen again
constexpr double kLease = 1.5;                // of a leader, from the sending of the renewal
constexpr double kRenewal = 0.4;
constexpr double kRenewalAgain = 0.05;  // without a lease, for example before the others have started
constexpr int kClaimTries = 3;
constexpr size_t kNearReach = 4;

}  // namespace

void GroupReconfiguration::bootstrap(std::vector<Peer> founders) {
  bootstrapped_at_ = now();
  lost_.insert(kNoProcess);  // processes that failed before this node learned of them
  std::sort(founders.begin(), founders.end(), [](const Peer& a, const Peer& b) { return a.id < b.id; });
  const size_t n = founders.size();
  for (size_t i = 0; i < n; ++i) {
    std::vector<Peer> behind;
    for (size_t k = 1; k < std::min(n, kNeighbourListLength + 1); ++k) behind.push_back(founders[(i + k) % n]);
    const auto usable = [](const Peer&) { return true; };  // includes failed nodes: all founders derive the same groups
    KeyGroup group{{1, founders[i].node}, choose_group(founders[i], behind, copies_, usable)};
    const bool member = group.has(self().node);
    if (!member && !(watched_by_next(group) && founders[(i + 1) % n].node == self().node)) continue;
    if (member) parts_.log.follow(group.term);
    KeyRange range{{founders[(i + n - 1) % n].id, founders[i].id}, group, member};
    range.promised = group.term;
    parts_.ranges.put(range);
    if (founders[i].node == self().node) parts_.log.lead(group);
  }
}

// ---- state of the node ----

void GroupReconfiguration::leave() {
  leaving_ = true;
  const KeyRange* range = parts_.ranges.find(self().id);
  if (range != nullptr) notify_watcher(*range);
}

bool GroupReconfiguration::holds_nothing() const {
  for (const auto& [end, range] : parts_.ranges.all()) {
    if (range.holds) return false;
  }
  return true;
}

const KeyRange* GroupReconfiguration::leads(RingId place) const {
  const KeyRange* range = parts_.ranges.find(place);
  if (range == nullptr || !range->holds || !range->serves() || range->next) return nullptr;
  if (range->group.members.front().node != self().node || range->promised != range->group.term) return nullptr;
  if (range->group.term != parts_.log.term() || draining_ || deposed_) return nullptr;
  return attempt_ && attempt_->claiming ? nullptr : range;
}

double GroupReconfiguration::leased_until() const {
  const KeyRange* range = parts_.ranges.find(self().id);
  if (range == nullptr || range->group.members.empty()) return 0;
  std::vector<double> until;
  for (const Peer& member : range->group.members) {
    const auto renewed = renewed_.find(member.node);
    const double theirs = renewed != renewed_.end() ? renewed->second + kLease : 0;
    until.push_back(member.node == self().node ? kForever : theirs);
  }
  // The time until which a majority of the members has confirmed the leader.
  std::sort(until.begin(), until.end(), std::greater<>());
  return std::min(until[until.size() / 2], run_lease_);
}

std::pair<Arc, std::vector<Peer>> GroupReconfiguration::wanted() const {
  const NeighbourLists& lists = parts_.overlay.near().lists();
  const auto usable = [&](const Peer& peer) {
    const auto excluded = excluded_until_.find(peer.node);
    return (excluded == excluded_until_.end() || excluded->second < now()) && !lost(peer.process);
  };
  const RingId from = lists.before.peers.empty() ? self().id : lists.before.peers.front().id;
  return {{from, self().id}, choose_group(self(), lists.after.peers, copies_, usable)};
}

bool GroupReconfiguration::satisfied(const Arc& arc, const std::vector<Peer>& members) const {
  const KeyRange* range = parts_.ranges.find(self().id);
  // The new owners of a part of a larger range take it over themselves. The last node wants the whole circle, (id, id].
  const auto covers = [&arc](const Arc& held) {
    return held.from == arc.from || (held.has(arc.from) && arc.from != held.to);
  };
  return range != nullptr && covers(range->arc) && range->holds && range->serves() && !range->next &&
         range->promised == range->group.term && range->group.members == members && !deposed_ && !parts_.log.stuck();
}

// Waits for founders that start late before other nodes take over their keys.
bool GroupReconfiguration::too_early(const Arc& arc) const {
  if (now() - bootstrapped_at_ > kFoundersPatience || bootstrapped_at_ < 0) return false;
  const std::vector<KeyRange> known = parts_.ranges.around(arc);
  return std::any_of(known.begin(), known.end(), [&](const KeyRange& range) {
    return range.group.term.number == 1 && range.group.members.front().node != self().node &&
           !lost(range.group.members.front().process);
  });
}

bool GroupReconfiguration::failed_or_departed(const Peer& peer) const {
  if (lost(peer.process) || departed_.contains(peer.node)) return true;
  const auto silent = silent_.find(peer.node);
  return silent != silent_.end() && silent->second.last - silent->second.since > kUnresponsiveMajority;
}

// ---- own attempts to lead ----

void GroupReconfiguration::begin(const Arc& arc, const std::vector<Peer>& members) {
  const auto attempt = std::make_shared<Attempt>();
  attempt_ = attempt;  // may already be replaced when the last line returns
  departed_.clear();
  attempt->arc = arc;
  attempt->members = members;
  learn(*attempt, parts_.ranges.around(arc));
  const std::vector<KeyRange*> pieces = attempt->known.inside(arc);
  const bool all_own =
      attempt->known.gaps(arc).empty() && std::all_of(pieces.begin(), pieces.end(), [&](const KeyRange* piece) {
        return piece->group.members.front().node == self().node;
      });
  if (all_own && !failed_) return claim(attempt);
  query(attempt, kNearReach);
}

// Stores for each point the group with the greatest term and the groups that it takes over from.
void GroupReconfiguration::learn(Attempt& attempt, const std::vector<KeyRange>& ranges) {
  const auto take = [&](KeyRange range) {
    if (range.group.members.empty()) return;
    range.holds = false;
    for (const Arc& gap : attempt.known.gaps(range.arc)) {
      KeyRange part = range;
      part.arc = gap;
      attempt.known.put(part);
    }
    for (KeyRange* piece : attempt.known.inside(range.arc)) {
      piece->promised = std::max(piece->promised, range.promised);
      const bool same = piece->group.term == range.group.term;
      if (same && range.serves()) piece->before.clear();
      if (!(piece->group.term < range.group.term)) continue;
      KeyRange part = range;
      part.arc = piece->arc;
      part.promised = piece->promised;
      *piece = part;
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

void GroupReconfiguration::query(const AttemptPtr& attempt, size_t reach) {
  std::vector<Peer> targets;
  const NeighbourLists& lists = parts_.overlay.near().lists();
  for (const Side* side : {&lists.before, &lists.after}) {
    for (size_t i = 0; i < std::min(reach, side->peers.size()); ++i) targets.push_back(side->peers[i]);
  }
  for (const KeyRange* piece : attempt->known.inside(attempt->arc)) {
    for (const Peer& peer : piece->group.members) targets.push_back(peer);
  }
  attempt->all_queried = reach >= kNeighbourListLength;
  attempt->all_replied = attempt->all_queried && all_workers_ != nullptr;
  if (attempt->all_replied) {
    for (const Peer& peer : all_workers_()) targets.push_back(peer);
  }
  std::sort(targets.begin(), targets.end(), [](const Peer& a, const Peer& b) { return a.node < b.node; });
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  std::erase_if(targets, [&](const Peer& peer) { return peer.node == self().node || lost(peer.process); });
  attempt->open = targets.size();
  for (const Peer& peer : targets) {
    parts_.calls.call(peer, peer_kind::query, ArcQuery{{}, attempt->arc}, 2, [this, attempt, peer](const Frame* frame) {
      if (attempt_ != attempt) return;
      --attempt->open;
      if (frame == nullptr && !failed_or_departed(peer)) attempt->all_replied = false;
      if (frame != nullptr) {
        if (const auto reply = read_message<KnownRanges>(*frame); reply.ok()) learn(*attempt, reply->ranges);
      }
      if (attempt->open == 0) queried(attempt);
    });
  }
  if (targets.empty()) queried(attempt);
}

void GroupReconfiguration::queried(const AttemptPtr& attempt) {
  const std::vector<Arc> gaps = attempt->known.gaps(attempt->arc);
  if (gaps.empty()) return claim(attempt);
  if (!attempt->all_queried) return query(attempt, kNeighbourListLength);
  const bool alone = parts_.overlay.near().alone();
  const bool known_by_none = alone || attempt->all_replied || now() - target_arc_since_ >= kUnresponsiveMajority;
  if (!known_by_none || !run_leased()) return retry(attempt, 0.5);
  // There are no such keys, or all their replicas are lost.
  for (const Arc& gap : gaps) attempt->known.put({gap, {{0, self().node}, {self()}}, false});
  claim(attempt);
}

void GroupReconfiguration::claim(const AttemptPtr& attempt) {
  uint64_t number = 0;
  for (const KeyRange* piece : attempt->known.inside(attempt->arc)) {
    number = std::max({number, piece->group.term.number, piece->promised.number});
  }
  attempt->term = {number + 1, self().node};
  attempt->claiming = true;
  for (KeyRange* own : parts_.ranges.inside(attempt->arc)) own->promised = attempt->term;
  // The log may have writes outside of the arc, where this node must not continue to lead: a member may lack such a
  // write.
  if (!parts_.log.drained()) deposed_ = true;
  parts_.log.abandon();
  request_promises(attempt);
}

// First requests the leaders' consent, then the promises of all members.
void GroupReconfiguration::request_promises(const AttemptPtr& attempt) {
  std::map<NodeId, Peer> leaders;
  std::map<NodeId, Peer> rest;
  for (const KeyRange* piece : attempt->known.inside(attempt->arc)) {
    const auto add = [&](const Peer& peer) {
      if (peer.node == self().node || lost(peer.process)) return;
      const auto contact = attempt->contacts.find(peer.node);
      if (contact == attempt->contacts.end() || contact->second.vote == Contact::Vote::none) rest[peer.node] = peer;
    };
    const auto add_group = [&](const KeyGroup& group) {
      for (const Peer& peer : group.members) add(peer);
      const Peer& leader = group.members.front();
      if (leader.node == self().node || lost(leader.process)) return;
      if (!attempt->contacts[leader.node].consent_requested) leaders[leader.node] = leader;
    };
    add_group(piece->group);
    for (const KeyGroup& group : piece->before) add_group(group);
  }
  if (!leaders.empty()) return send_claims(attempt, leaders, true);
  if (!rest.empty()) return send_claims(attempt, rest, false);
  promised(attempt);
}

void GroupReconfiguration::send_claims(const AttemptPtr& attempt, const std::map<NodeId, Peer>& peers, bool consent) {
  std::vector<NodeId> consented;
  for (const auto& [node, contact] : attempt->contacts) {
    if (contact.consents) consented.push_back(node);
  }
  attempt->open = peers.size();
  for (const auto& [node, peer] : peers) {
    Contact& contact = attempt->contacts[node];
    contact.peer = peer;
    contact.consent_requested = contact.consent_requested || consent;
    parts_.calls.call(
        peer, peer_kind::claim, Claim{{}, attempt->arc, attempt->term, consent, consented}, kClaimTries,
        [this, attempt, node = node, consent](const Frame* frame) { on_promise(attempt, node, consent, frame); });
  }
}

void GroupReconfiguration::on_promise(const AttemptPtr& attempt, NodeId node, bool consent, const Frame* frame) {
  if (attempt_ != attempt) return;
  Contact& contact = attempt->contacts.at(node);
  Contact::Vote vote = Contact::Vote::silent;
  if (frame != nullptr) {
    silent_.erase(node);
    departed_.erase(node);
    if (const auto reply = read_message<KnownRanges>(*frame); reply.ok()) {
      vote = reply->refused ? Contact::Vote::refused : Contact::Vote::yes;
      if (!consent) contact.ranges = reply->ranges;
      learn(*attempt, reply->ranges);
    }
  } else {
    Silence& silence = silent_.try_emplace(node, Silence{now(), now()}).first->second;
    if (now() - silence.last > kForgetSilence) silence.since = now();
    silence.last = now();
  }
  contact.consents = contact.consents || (consent && vote == Contact::Vote::yes);
  if (!consent || vote != Contact::Vote::yes) contact.vote = vote;
  if (--attempt->open > 0) return;
  for (const auto& [id, one] : attempt->contacts) {
    if (one.vote == Contact::Vote::refused) return retry(attempt, 0.1 + 0.3 * rng_.uniform());
  }
  request_promises(attempt);
}

bool GroupReconfiguration::has_majority(const Attempt& attempt, const KeyGroup& group, Contact::Vote vote) const {
  size_t counted = 0;
  size_t agree = 0;
  for (const Peer& peer : group.members) {
    const auto contact = attempt.contacts.find(peer.node);
    const bool yes = peer.node == self().node || (contact != attempt.contacts.end() && contact->second.vote == vote);
    agree += yes ? 1 : 0;
    counted += yes || !failed_or_departed(peer) ? 1 : 0;
  }
  return 2 * agree > counted || counted == 0;
}

/// A promised node with all keys of the piece.
std::optional<Peer> GroupReconfiguration::source(const Attempt& attempt, const KeyRange& piece) const {
  const auto holds = [&](const std::vector<KeyRange>& ranges, const GroupTerm& term) {
    // The node must hold the whole piece, in any number of ranges.
    RangeMap held;
    for (const KeyRange& range : ranges) {
      if (range.holds && range.group.term == term) held.put(range);
    }
    return held.gaps(piece.arc).empty();
  };
  const auto find = [&](const KeyGroup& group) -> std::optional<Peer> {
    if (holds(parts_.ranges.around(piece.arc), group.term)) return self();
    const NodeId leader = group.members.front().node;
    std::optional<Peer> found;
    for (const auto& [node, contact] : attempt.contacts) {
      if (contact.vote != Contact::Vote::yes || !holds(contact.ranges, group.term)) continue;
      if (!found || node == leader) found = contact.peer;
    }
    return found;
  };
  // Prefers later groups, whose replicas contain more: such a group may have served without a message to this node.
  std::map<GroupTerm, KeyGroup, std::greater<>> groups;
  for (const KeyGroup& group : piece.before) groups.emplace(group.term, group);
  groups.emplace(piece.group.term, piece.group);
  for (const auto& [term, group] : groups) {
    if (auto found = find(group)) return found;
  }
  return std::nullopt;
}

/// For a piece without a source: whether no node can have its keys. A live member of a group that served must have
/// passed the keys on to a later group. A member of a group that never served does not have them if it has replied.
bool GroupReconfiguration::all_replicas_lost(const Attempt& attempt, const KeyRange& piece) const {
  const auto without = [&](const Peer& peer) {
    if (failed_or_departed(peer)) return true;
    const auto contact = attempt.contacts.find(peer.node);
    const bool replied = contact != attempt.contacts.end() && contact->second.vote == Contact::Vote::yes;
    return !piece.serves() && (peer.node == self().node || replied);
  };
  const auto all_without = [&](const KeyGroup& group) {
    return std::all_of(group.members.begin(), group.members.end(), without);
  };
  return all_without(piece.group) && std::all_of(piece.before.begin(), piece.before.end(), all_without);
}

/// This node has promised to join a later group meanwhile.
bool GroupReconfiguration::overtaken(const Attempt& attempt) {
  const std::vector<KeyRange*> own = parts_.ranges.inside(attempt.arc);
  return std::any_of(own.begin(), own.end(), [&](const KeyRange* range) { return attempt.term < range->promised; });
}

void GroupReconfiguration::promised(const AttemptPtr& attempt) {
  std::vector<std::pair<Arc, Peer>> sources;
  for (const KeyRange* piece : attempt->known.inside(attempt->arc)) {
    bool all = has_majority(*attempt, piece->group, Contact::Vote::yes);
    for (const KeyGroup& group : piece->before) all = all && has_majority(*attempt, group, Contact::Vote::yes);
    if (!all) return retry(attempt, 0.5 + 0.5 * rng_.uniform());
    const auto from = source(*attempt, *piece);
    if (!from && !all_replicas_lost(*attempt, *piece) && piece->group.term.number > 0) {
      return retry(attempt, 0.5 + 0.5 * rng_.uniform());
    }
    if (from && from->node != self().node) sources.emplace_back(piece->arc, *from);
  }
  if (overtaken(*attempt)) return retry(attempt, 0.1 + 0.3 * rng_.uniform());
  parts_.sync.end(attempt->arc);
  if (sources.empty()) return adopt(attempt);
  attempt->open = sources.size();
  const auto all = std::make_shared<bool>(true);
  for (const auto& [arc, from] : sources) {
    parts_.sync.begin(arc, from, [this, attempt, all](bool done) {
      if (attempt_ != attempt) return;
      *all = *all && done;
      if (--attempt->open > 0) return;
      if (*all) return adopt(attempt);
      retry(attempt, 0.2);
    });
  }
}

void GroupReconfiguration::adopt(const AttemptPtr& attempt) {
  Adopt message{{}, attempt->arc, {attempt->term, attempt->members}, {}};
  const auto add = [&](const KeyGroup& group) {
    const bool there = std::any_of(message.before.begin(), message.before.end(),
                                   [&](const KeyGroup& one) { return one.term == group.term; });
    if (!there && group.term.number > 0) message.before.push_back(group);
  };
  for (const KeyRange* piece : attempt->known.inside(attempt->arc)) {
    add(piece->group);
    for (const KeyGroup& group : piece->before) add(group);
  }
  if (overtaken(*attempt)) return retry(attempt, 0.1 + 0.3 * rng_.uniform());
  KeyRange range{attempt->arc, message.group, true, message.before};
  range.promised = attempt->term;
  parts_.ranges.put(range);
  for (const Peer& peer : attempt->members) attempt->contacts[peer.node].peer = peer;
  attempt->contacts.erase(self().node);
  attempt->open = attempt->contacts.size();
  for (auto& [node, contact] : attempt->contacts) contact.vote = Contact::Vote::none;
  if (attempt->open == 0) return settle(attempt, message);
  const auto contacts = attempt->contacts;
  for (const auto& [node, contact] : contacts) send_adopt(attempt, contact.peer, message);
}

void GroupReconfiguration::send_adopt(const AttemptPtr& attempt, const Peer& peer, const Adopt& message) {
  const double sent = now();
  parts_.calls.call(peer, peer_kind::adopt, message, kClaimTries,
                    [this, attempt, peer, message, sent](const Frame* frame) {
                      if (attempt_ != attempt) return;
                      Contact& contact = attempt->contacts.at(peer.node);
                      contact.vote = Contact::Vote::silent;
                      if (frame != nullptr) {
                        const auto reply = read_message<Adopted>(*frame);
                        if (reply.ok() && reply->state == Adopted::State::working) {
                          return send_adopt(attempt, peer, message);
                        }
                        const bool done = reply.ok() && reply->state == Adopted::State::done;
                        contact.vote = done ? Contact::Vote::yes : Contact::Vote::refused;
                        if (done) renewed_[peer.node] = sent;
                      }
                      if (--attempt->open == 0) adopted(attempt, message);
                    });
}

void GroupReconfiguration::adopted(const AttemptPtr& attempt, const Adopt& message) {
  bool all = true;
  for (const Peer& member : attempt->members) {
    if (member.node == self().node) continue;
    const Contact::Vote vote = attempt->contacts.at(member.node).vote;
    if (vote == Contact::Vote::silent) excluded_until_[member.node] = now() + kExclusion;
    all = all && vote == Contact::Vote::yes;
  }
  for (const KeyGroup& group : message.before) all = all && has_majority(*attempt, group, Contact::Vote::yes);
  if (!all) return retry(attempt, 0.1 + 0.3 * rng_.uniform());
  settle(attempt, message);
}

void GroupReconfiguration::settle(const AttemptPtr& attempt, const Adopt& message) {
  const std::vector<KeyRange*> own = parts_.ranges.inside(attempt->arc);
  if (own.size() != 1 || own.front()->group.term != attempt->term || own.front()->promised != attempt->term) {
    return retry(attempt, 0.1);
  }
  own.front()->before.clear();
  attempt_.reset();
  failed_ = false;
  deposed_ = false;
  draining_.reset();
  next_renewal_ = now();
  parts_.log.follow(message.group.term);
  parts_.log.lead(message.group);
  std::map<NodeId, Peer> receivers;
  for (const auto& [node, contact] : attempt->contacts) receivers.emplace(node, contact.peer);
  for (const auto& [node, peer] : receivers)
    parts_.calls.call(peer, peer_kind::settle, message, 4, [](const Frame*) {});
  notify_watcher(*own.front());
  if (progress_) progress_();
}

void GroupReconfiguration::retry(const AttemptPtr& attempt, double seconds) {
  if (attempt_ != attempt) return;
  attempt_.reset();
  strays_ = true;
  failed_ = true;
  next_try_ = now() + seconds;
}

void GroupReconfiguration::lose_process(ProcessId process) { lost_.insert(process); }

// Process numbers increase: a missing process with a lower number than a live one has failed.
bool GroupReconfiguration::lost(ProcessId process) const {
  if (lost_.count(process) > 0) return true;
  return !live_.empty() && process < live_.back() && !std::binary_search(live_.begin(), live_.end(), process);
}

double GroupReconfiguration::tick() {
  if (now() >= next_renewal_) {
    next_renewal_ = now() + (leased() ? kRenewal : kRenewalAgain);
    renew();
  }
  if (now() >= next_tidy_) tidy();
  double next = std::min(next_renewal_, next_tidy_);
  stop_draining();
  if (leaving_ || attempt_ || !parts_.overlay.joined()) return next;
  if (const auto stuck = parts_.log.stuck()) excluded_until_[*stuck] = now() + kExclusion;
  auto target = wanted();
  if (!target_ || !(target_->first == target.first) || target_->second != target.second) {
    if (!target_ || !(target_->first == target.first)) target_arc_since_ = now();
    target_ = target;
    target_since_ = now();
  }
  if (satisfied(target.first, target.second)) return next;
  if (!run_leased()) return next;  // the other side of a partition may continue with these keys
  const double due = std::max(next_try_, target_since_ + kDebounce);
  if (now() < due) return std::min(next, due);
  if (too_early(target.first)) return std::min(next, now() + kDebounce);
  begin(target.first, target.second);
  return next;
}

}  // namespace actorhost
