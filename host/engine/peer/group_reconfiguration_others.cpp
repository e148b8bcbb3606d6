// The replies of a node to other nodes that propose to lead, and its data of other groups.

#include <algorithm>

#include "host/engine/peer/group_reconfiguration.hpp"

namespace actorhost {

namespace {

constexpr double kDrain = 1;           // seconds for pending writes before another node takes over
constexpr double kGrantedLease = 1.8;  // granted by a member, from the arrival of the renewal
constexpr double kTidy = 5;            // between checks for unneeded replicas

}  // namespace

Status GroupReconfiguration::on_query(const Frame& frame) {
  const auto query = read_message<ArcQuery>(frame);
  if (!query.ok()) return malformed(frame, query.error().message);
  parts_.calls.reply(frame, query->envelope.from, peer_kind::ranges,
                     KnownRanges{{}, false, parts_.ranges.around(query->arc)});
  return {};
}

bool GroupReconfiguration::leader_is_live(const KeyRange& range) const {
  const Peer& leader = range.group.members.front();
  if (lost(leader.process)) return false;
  const auto granted = granted_.find(range.group.term);
  return granted != granted_.end() && now() < granted->second + kGrantedLease;
}

Status GroupReconfiguration::on_claim(const Frame& frame) {
  const auto claim = read_message<Claim>(frame);
  if (!claim.ok()) return malformed(frame, claim.error().message);
  const Peer& from = claim->envelope.from;
  bool refused = false;
  for (const KeyRange& range : parts_.ranges.around(claim->arc)) {
    const NodeId leader = range.group.members.front().node;
    if (claim->consent && leader != self().node) continue;
    if (claim->term < range.promised) refused = true;
    if (leader == self().node && range.holds && range.serves() && range.promised == range.group.term) {
      // This node leads there. Only the ring's owner may take over, and only after the pending writes.
      if (!leaving_ && parts_.overlay.near().owns(from.id)) refused = true;
      if (!refused && !parts_.log.drained()) {
        if (!draining_) draining_ = now();
        if (now() - *draining_ < kDrain) refused = true;
        if (!refused) deposed_ = true;  // the rest of its group may lack a write
      }
    } else if (range.holds && leader != from.node && leader_is_live(range) &&
               std::find(claim->consented.begin(), claim->consented.end(), leader) == claim->consented.end()) {
      refused = true;
    }
  }
  if (!refused) {
    if (deposed_) parts_.log.abandon();
    for (KeyRange* range : parts_.ranges.inside(claim->arc)) {
      if (!claim->consent || range->group.members.front().node == self().node) range->promised = claim->term;
    }
    if (draining_) draining_.reset();
  }
  parts_.calls.reply(frame, from, peer_kind::promise, KnownRanges{{}, refused, parts_.ranges.around(claim->arc)});
  return {};
}

Status GroupReconfiguration::on_adopt(const Frame& frame) {
  const auto adopt = read_message<Adopt>(frame);
  if (!adopt.ok()) return malformed(frame, adopt.error().message);
  const Peer& from = adopt->envelope.from;
  const auto reply = [&](Adopted::State state) {
    parts_.calls.reply(frame, from, peer_kind::adopted, Adopted{{}, state});
  };
  bool there = true;
  const std::vector<KeyRange*> pieces = parts_.ranges.inside(adopt->arc);
  for (KeyRange* piece : pieces) {
    if (adopt->group.term < piece->promised) {
      reply(Adopted::State::refused);
      return {};
    }
    there = there && piece->group.term == adopt->group.term && piece->holds;
  }
  for (KeyRange* piece : pieces) {
    piece->promised = adopt->group.term;
    if (piece->group.term < adopt->group.term) piece->next = adopt->group;
  }
  const bool member = adopt->group.has(self().node);
  if (!member || (there && parts_.ranges.gaps(adopt->arc).empty())) {
    reply(Adopted::State::done);
    return {};
  }
  if (!adopting_.insert({adopt->group.term, from.node}).second) {
    reply(Adopted::State::working);
    return {};
  }
  parts_.sync.begin(adopt->arc, from,
                    [this, frame, message = *adopt](bool synced) { finish_adopting(frame, message, synced); });
  return {};
}

void GroupReconfiguration::finish_adopting(const Frame& frame, const Adopt& message, bool synced) {
  adopting_.erase({message.group.term, message.envelope.from.node});
  Adopted::State state = Adopted::State::done;
  for (const KeyRange* piece : parts_.ranges.inside(message.arc)) {
    if (message.group.term < piece->promised) state = Adopted::State::refused;
  }
  if (!synced) state = Adopted::State::refused;
  strays_ = strays_ || state == Adopted::State::refused;
  if (state == Adopted::State::done) {
    KeyRange range{message.arc, message.group, true, message.before};
    range.promised = message.group.term;
    parts_.ranges.put(range);
    parts_.log.follow(message.group.term);
    granted_[message.group.term] = now();
  }
  parts_.calls.reply(frame, message.envelope.from, peer_kind::adopted, Adopted{{}, state});
}

Status GroupReconfiguration::on_settle(const Frame& frame) {
  const auto settle = read_message<Adopt>(frame);
  if (!settle.ok()) return malformed(frame, settle.error().message);
  drop_if_later(settle->arc, settle->group);
  if (watched_by_next(settle->group)) {
    for (const Arc& gap : parts_.ranges.gaps(settle->arc)) {
      parts_.ranges.put({gap, settle->group, false, {}, settle->group.term});
    }
  }
  parts_.calls.reply(frame, settle->envelope.from, peer_kind::settled, Settled{});
  return {};
}

// A later group serves, so this node drops its data of earlier groups.
void GroupReconfiguration::drop_if_later(const Arc& arc, const KeyGroup& group) {
  for (KeyRange* piece : parts_.ranges.inside(arc)) {
    if (piece->group.term == group.term) piece->before.clear();
    if (!(piece->group.term < group.term)) continue;
    // Retains data in transfer for a later group.
    strays_ = strays_ || parts_.sync.copies(piece->arc) || (attempt_ && overlap(attempt_->arc, piece->arc));
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
  std::erase_if(granted_, [&](const auto& grant) { return now() - grant.second > kTidy; });
  for (const auto& [end, range] : parts_.ranges.all()) {
    const bool leads = range.group.term == parts_.log.term();
    if (!range.holds || leads || granted_.count(range.group.term) > 0) continue;
    return parts_.overlay.find(end, now(), [this](const Result<Located>& located) {
      if (!located.ok() || located->owner.node == self().node) return;
      const auto& before = located->lists.before.peers;
      const Arc arc{before.empty() ? located->owner.id : before.front().id, located->owner.id};
      parts_.calls.call(located->owner, peer_kind::query, ArcQuery{{}, arc}, 1, [this](const Frame* frame) {
        if (frame == nullptr) return;
        const auto reply = read_message<KnownRanges>(*frame);
        if (!reply.ok()) return;
        for (const KeyRange& theirs : reply->ranges) {
          const bool led = theirs.group.members.front().node == reply->envelope.from.node;
          if (theirs.holds && theirs.serves() && led) drop_if_later(theirs.arc, theirs.group);
        }
      });
    });
  }
}

// ---- leases ----

/// The next node on the ring always knows a group of one member. So it neither declares the group's keys lost while a
/// later group has them, nor waits for lost keys.
void GroupReconfiguration::notify_watcher(const KeyRange& range) {
  const bool leads = range.group.members.front().node == self().node && range.holds && range.serves();
  const std::vector<Peer>& behind = parts_.overlay.near().lists().after.peers;
  if (!leads || !watched_by_next(range.group) || behind.empty()) return;
  const Peer& next = behind.front();
  const std::pair<GroupTerm, NodeId> watcher{range.group.term, next.node};
  if (watcher_ == watcher) return;
  watcher_ = watcher;
  parts_.calls.call(next, peer_kind::settle, Adopt{{}, range.arc, range.group, {}}, 4, [this](const Frame* frame) {
    if (frame == nullptr) watcher_ = {};
  });
}

void GroupReconfiguration::renew() {
  const KeyRange* range = parts_.ranges.find(self().id);
  if (range == nullptr || range->group.members.front().node != self().node || !range->serves()) return;
  notify_watcher(*range);
  for (const Peer& member : range->group.members) {
    if (member.node == self().node) continue;
    const double sent = now();
    parts_.calls.call(member, peer_kind::renew, Renew{{}, range->arc, range->group.term, false}, 1,
                      [this, member, sent, term = range->group.term](const Frame* frame) {
                        if (frame == nullptr) return;
                        const auto reply = read_message<Renew>(*frame);
                        if (!reply.ok()) return;
                        if (!reply->refused) {
                          const bool waited = !leased();
                          renewed_[member.node] = sent;
                          if (waited && leased() && progress_) progress_();
                          return;
                        }
                        const KeyRange* still = parts_.ranges.find(self().id);
                        if (still != nullptr && still->group.term == term) deposed_ = true;
                      });
  }
}

Status GroupReconfiguration::on_renew(const Frame& frame) {
  const auto renew = read_message<Renew>(frame);
  if (!renew.ok()) return malformed(frame, renew.error().message);
  const std::vector<KeyRange> known = parts_.ranges.around(renew->arc);
  const bool ours = !known.empty() && std::all_of(known.begin(), known.end(), [&](const KeyRange& range) {
    return range.holds && range.group.term == renew->term && range.promised == renew->term;
  });
  if (ours) granted_[renew->term] = now();
  parts_.calls.reply(frame, renew->envelope.from, peer_kind::renewed, Renew{{}, renew->arc, renew->term, !ours});
  return {};
}

void GroupReconfiguration::stop_draining() {
  if (!draining_ || now() - *draining_ <= 2 * kDrain) return;
  draining_.reset();  // the proposer has not sent another claim
  if (progress_) progress_();
}

}  // namespace actorhost
