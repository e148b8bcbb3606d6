#include "host/engine/peer/group_reconfiguration.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr double kDebounce = 0.1;        // seconds: debounce interval of changes of the wanted group
constexpr double kFoundersPatience = 3;  // for founders that start late
constexpr double kRenewal = 0.4;
constexpr double kRenewalAgain = 0.05;  // without a lease, for example before the others have started
constexpr double kDrain = 1;            // for pending writes before another node takes over
constexpr double kTidy = 5;             // between checks for unneeded replicas

}  // namespace

void GroupReconfiguration::bootstrap(std::vector<Peer> founders) {
  bootstrapped_at_ = now();
  parts_.liveness.lose_process(kNoProcess);  // processes that failed before this node learned of them
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
    parts_.ranges.put({{founders[(i + n - 1) % n].id, founders[i].id}, group, member, {}, group.term});
    if (founders[i].node == self().node) parts_.log.lead(group);
  }
}

// ---- state of the node ----

void GroupReconfiguration::leave() {
  leaving_ = true;
  notify_watcher();
}

bool GroupReconfiguration::holds_nothing() const {
  const auto& ranges = parts_.ranges.all();
  return std::none_of(ranges.begin(), ranges.end(), [](const auto& entry) { return entry.second.holds; });
}

const KeyRange* GroupReconfiguration::leads(RingId place) const {
  const KeyRange* range = parts_.ranges.find(place);
  if (range == nullptr || !range->led_by(self().node) || range->next || range->promised != range->group.term) {
    return nullptr;
  }
  if (range->group.term != parts_.log.term() || draining_ || parts_.log.deposed()) return nullptr;
  return attempt_ && attempt_->claiming() ? nullptr : range;
}

double GroupReconfiguration::leased_until() const {
  const KeyRange* range = parts_.ranges.find(self().id);
  if (range == nullptr || range->group.members.empty()) return 0;
  return parts_.liveness.leased_until(range->group, self().node);
}

// Updates the wanted group after changes of the ring.
void GroupReconfiguration::update_wanted() {
  const NeighbourLists& lists = parts_.overlay.near().lists();
  const auto usable = [&](const Peer& peer) { return parts_.liveness.usable(peer, now()); };
  const RingId from = lists.before.peers.empty() ? self().id : lists.before.peers.front().id;
  WantedGroup wanted{{from, self().id}, choose_group(self(), lists.after.peers, copies_, usable), false, now(), now()};
  wanted.full = wanted.members.size() >= copies_;
  const bool same_arc = wanted_ && wanted_->arc == wanted.arc;
  if (same_arc) wanted.arc_since = wanted_->arc_since;
  if (same_arc && wanted_->members == wanted.members) wanted.since = wanted_->since;
  wanted_ = std::move(wanted);
}

bool GroupReconfiguration::satisfied() const {
  const KeyRange* range = parts_.ranges.find(self().id);
  // The new owners of a part of a larger range take it over themselves. The last node wants the whole circle, (id, id].
  const auto covers = [&arc = wanted_->arc](const Arc& held) {
    return held.from == arc.from || (held.has(arc.from) && arc.from != held.to);
  };
  return range != nullptr && covers(range->arc) && range->holds && range->serves() && !range->next &&
         range->promised == range->group.term && range->group.members == wanted_->members && !parts_.log.deposed() &&
         !parts_.log.stuck();
}

// Waits for founders that start late before other nodes take over their keys.
bool GroupReconfiguration::too_early() const {
  if (now() - bootstrapped_at_ > kFoundersPatience || bootstrapped_at_ < 0) return false;
  const std::vector<KeyRange> known = parts_.ranges.around(wanted_->arc);
  return std::any_of(known.begin(), known.end(), [&](const KeyRange& range) {
    return range.group.term.number == 1 && range.group.leader().node != self().node &&
           !parts_.liveness.lost(range.group.leader().process);
  });
}

double GroupReconfiguration::tick() {
  if (now() >= next_renewal_) {
    next_renewal_ = now() + (leased() ? kRenewal : kRenewalAgain);
    renew();
  }
  if (now() >= next_tidy_) tidy();
  double next = std::min(next_renewal_, next_tidy_);
  if (draining_ && now() - *draining_ > 2 * kDrain) {
    draining_.reset();  // the proposer has not sent another claim
    if (progress_) progress_();
  }
  if (leaving_ || attempt_ || !parts_.overlay.joined()) return next;
  if (const auto stuck = parts_.log.stuck()) parts_.liveness.exclude(*stuck, now());
  update_wanted();
  if (satisfied()) return next;
  if (!run_leased()) return next;  // the other side of a partition may continue with these keys
  const double due = std::max(next_try_, wanted_->since + kDebounce);
  if (now() < due) return std::min(next, due);
  if (too_early()) return std::min(next, now() + kDebounce);
  const auto attempt = std::make_shared<ReconfigurationAttempt>(
      parts_, rng_, *wanted_, [this](std::optional<double> retry) { end_attempt(retry); });
  attempt_ = attempt;  // may already have ended when `begin` returns
  attempt->begin(next_try_ > 0);
  return next;
}

void GroupReconfiguration::end_attempt(std::optional<double> retry) {
  attempt_.reset();
  next_try_ = retry ? now() + *retry : 0;
  strays_ = strays_ || retry;
  if (retry) return;
  draining_.reset();
  next_renewal_ = now();
  notify_watcher();
  if (progress_) progress_();
}

// ---- requests of other nodes that propose to lead ----

void GroupReconfiguration::on_query(const Frame& frame, const ArcQuery& query) {
  parts_.calls.reply(frame, query.envelope.from, peer_kind::ranges,
                     KnownRanges{{}, false, parts_.ranges.around(query.arc)});
}

void GroupReconfiguration::on_claim(const Frame& frame, const Claim& claim) {
  const Peer& from = claim.envelope.from;
  bool refused = false;
  for (const KeyRange& range : parts_.ranges.around(claim.arc)) {
    const NodeId leader = range.group.leader().node;
    if (claim.consent && leader != self().node) continue;
    if (claim.term < range.promised) refused = true;
    if (range.led_by(self().node) && range.promised == range.group.term) {
      // This node leads there. Only the ring's owner may take over, and only after the pending writes.
      if (!leaving_ && parts_.overlay.near().owns(from.id)) refused = true;
      if (!refused && !parts_.log.drained()) {
        if (!draining_) draining_ = now();
        if (now() - *draining_ < kDrain) refused = true;
        if (!refused) parts_.log.depose();  // the rest of its group may lack a write
      }
    } else if (range.holds && leader != from.node && parts_.liveness.leader_is_live(range.group, now()) &&
               std::find(claim.consented.begin(), claim.consented.end(), leader) == claim.consented.end()) {
      refused = true;
    }
  }
  if (!refused) {
    if (parts_.log.deposed()) parts_.log.abandon();
    for (KeyRange* range : parts_.ranges.inside(claim.arc)) {
      if (!claim.consent || range->group.leader().node == self().node) range->promised = claim.term;
    }
    draining_.reset();
  }
  parts_.calls.reply(frame, from, peer_kind::promise, KnownRanges{{}, refused, parts_.ranges.around(claim.arc)});
}

void GroupReconfiguration::on_adopt(const Frame& frame, const Adopt& adopt) {
  const Peer& from = adopt.envelope.from;
  const auto reply = [&](Adopted::State state) {
    parts_.calls.reply(frame, from, peer_kind::adopted, Adopted{{}, state});
  };
  const GroupTerm& term = adopt.group.term;
  if (parts_.ranges.promised_above(term, adopt.arc)) return reply(Adopted::State::refused);
  bool there = parts_.ranges.gaps(adopt.arc).empty();
  for (KeyRange* piece : parts_.ranges.inside(adopt.arc)) {
    there = there && piece->group.term == term && piece->holds;
    piece->promised = term;
    if (piece->group.term < term) piece->next = adopt.group;
  }
  if (there || !adopt.group.has(self().node)) return reply(Adopted::State::done);
  if (!adopting_.insert({term, from.node}).second) return reply(Adopted::State::working);
  parts_.sync.begin(adopt.arc, from,
                    [this, frame, message = adopt](bool synced) { finish_adopting(frame, message, synced); });
}

void GroupReconfiguration::finish_adopting(const Frame& frame, const Adopt& message, bool synced) {
  adopting_.erase({message.group.term, message.envelope.from.node});
  const bool joins = synced && !parts_.ranges.promised_above(message.group.term, message.arc);
  strays_ = strays_ || !joins;
  if (joins) {
    parts_.ranges.put({message.arc, message.group, true, message.before, message.group.term});
    parts_.log.follow(message.group.term);
    parts_.liveness.grant(message.group.term, now());
  }
  parts_.calls.reply(frame, message.envelope.from, peer_kind::adopted,
                     Adopted{{}, joins ? Adopted::State::done : Adopted::State::refused});
}

void GroupReconfiguration::on_settle(const Frame& frame, const Adopt& settle) {
  drop_if_later(settle.arc, settle.group);
  if (watched_by_next(settle.group)) {
    for (const Arc& gap : parts_.ranges.gaps(settle.arc)) {
      parts_.ranges.put({gap, settle.group, false, {}, settle.group.term});
    }
  }
  parts_.calls.reply(frame, settle.envelope.from, peer_kind::settled, Settled{});
}

// A later group serves, so this node drops its data of earlier groups.
void GroupReconfiguration::drop_if_later(const Arc& arc, const KeyGroup& group) {
  for (KeyRange* piece : parts_.ranges.inside(arc)) {
    if (piece->group.term == group.term) piece->before.clear();
    if (!(piece->group.term < group.term)) continue;
    // Retains data in transfer for a later group.
    strays_ = strays_ || parts_.sync.copies(piece->arc) || (attempt_ && overlap(attempt_->arc(), piece->arc));
    if (!strays_) {
      for (const ParamKey& key : parts_.table.keys(piece->arc)) parts_.table.erase(key);
    }
    *piece = KeyRange{piece->arc, group, false, {}, std::max(piece->promised, group.term)};
  }
}

// Drops keys copied for a group that the node did not join in the end.
void GroupReconfiguration::drop_strays() {
  strays_ = false;
  for (const ParamKey& key : parts_.table.keys({0, 0})) {
    const KeyRange* range = parts_.ranges.find(place_of(key));
    if (range == nullptr || !range->holds) parts_.table.erase(key);
  }
}

// Checks a replica without recent messages of its leader: a later group may serve without a notice to this node.
void GroupReconfiguration::tidy() {
  next_tidy_ = now() + kTidy;
  if (strays_ && !attempt_ && adopting_.empty()) drop_strays();
  parts_.liveness.forget_grants(now() - kTidy);
  for (const auto& [end, range] : parts_.ranges.all()) {
    const bool leads = range.group.term == parts_.log.term();
    if (!range.holds || leads || parts_.liveness.granted(range.group.term)) continue;
    return parts_.overlay.find(end, now(), [this](const Result<Located>& located) {
      if (!located.ok() || located->owner.node == self().node) return;
      const auto& before = located->lists.before.peers;
      const Arc arc{before.empty() ? located->owner.id : before.front().id, located->owner.id};
      parts_.calls.call(located->owner, peer_kind::query, ArcQuery{{}, arc}, 1, [this](const Frame* frame) {
        if (frame == nullptr) return;
        const auto reply = read_message<KnownRanges>(*frame);
        if (!reply.ok()) return;
        for (const KeyRange& theirs : reply->ranges) {
          if (theirs.led_by(reply->envelope.from.node)) drop_if_later(theirs.arc, theirs.group);
        }
      });
    });
  }
}

// ---- leases ----

/// The next node on the ring always knows a group of one member. So it neither declares the group's keys lost while a
/// later group has them, nor waits for lost keys.
void GroupReconfiguration::notify_watcher() {
  const KeyRange* range = parts_.ranges.find(self().id);
  const std::vector<Peer>& behind = parts_.overlay.near().lists().after.peers;
  if (range == nullptr || !range->led_by(self().node) || !watched_by_next(range->group) || behind.empty()) return;
  const Peer& next = behind.front();
  const std::pair<GroupTerm, NodeId> watcher{range->group.term, next.node};
  if (watcher_ == watcher) return;
  watcher_ = watcher;
  parts_.calls.call(next, peer_kind::settle, Adopt{{}, range->arc, range->group, {}}, 4, [this](const Frame* frame) {
    if (frame == nullptr) watcher_ = {};
  });
}

void GroupReconfiguration::renew() {
  const KeyRange* range = parts_.ranges.find(self().id);
  if (range == nullptr || !range->led_by(self().node)) return;
  notify_watcher();
  for (const Peer& member : range->group.members) {
    if (member.node == self().node) continue;
    const auto on_reply = [this, node = member.node, sent = now(), term = range->group.term](const Frame* frame) {
      if (frame == nullptr) return;
      const auto reply = read_message<Renew>(*frame);
      if (!reply.ok()) return;
      if (!reply->refused) {
        const bool waited = !leased();
        parts_.liveness.confirm(node, sent);
        if (waited && leased() && progress_) progress_();
        return;
      }
      const KeyRange* still = parts_.ranges.find(self().id);
      if (still != nullptr && still->group.term == term) parts_.log.depose();
    };
    parts_.calls.call(member, peer_kind::renew, Renew{{}, range->arc, range->group.term, false}, 1, on_reply);
  }
}

void GroupReconfiguration::on_renew(const Frame& frame, const Renew& renew) {
  const std::vector<KeyRange> known = parts_.ranges.around(renew.arc);
  const bool ours = !known.empty() && std::all_of(known.begin(), known.end(), [&](const KeyRange& range) {
    return range.holds && range.group.term == renew.term && range.promised == renew.term;
  });
  if (ours) parts_.liveness.grant(renew.term, now());
  parts_.calls.reply(frame, renew.envelope.from, peer_kind::renewed, Renew{{}, renew.arc, renew.term, !ours});
}

}  // namespace actorhost
