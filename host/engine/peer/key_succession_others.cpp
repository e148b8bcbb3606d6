// The replies of a node to other nodes that propose to lead, and its data of other groups.

#include <algorithm>

#include "host/engine/peer/key_succession.hpp"

namespace actorhost {

namespace {

constexpr double kDrain = 1;            // seconds for pending writes before another node takes over
constexpr double kLeaseOfOthers = 1.8;  // granted by a member, from the arrival of the renewal
constexpr double kTidy = 5;             // between checks for unneeded replicas

}  // namespace

Status KeySuccession::on_who(const Frame& frame) {
  const auto question = read_message<ArcQuestion>(frame);
  if (!question.ok()) return malformed(frame, question.error().message);
  parts_.calls.answer(frame, question->envelope.from, peer_kind::known,
                      KnownRanges{{}, false, parts_.ranges.around(question->arc)});
  return {};
}

bool KeySuccession::leader_lives(const KeyRange& range) const {
  const Peer& leader = range.group.members.front();
  if (lost(leader.process)) return false;
  const auto granted = granted_.find(range.group.term);
  return granted != granted_.end() && now() < granted->second + kLeaseOfOthers;
}

Status KeySuccession::on_claim(const Frame& frame) {
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
    } else if (range.holds && leader != from.node && leader_lives(range) &&
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
  parts_.calls.answer(frame, from, peer_kind::promise, KnownRanges{{}, refused, parts_.ranges.around(claim->arc)});
  return {};
}

Status KeySuccession::on_adopt(const Frame& frame) {
  const auto adopt = read_message<Adopt>(frame);
  if (!adopt.ok()) return malformed(frame, adopt.error().message);
  const Peer& from = adopt->envelope.from;
  const auto answer = [&](Adopted::How how) { parts_.calls.answer(frame, from, peer_kind::adopted, Adopted{{}, how}); };
  bool there = true;
  const std::vector<KeyRange*> pieces = parts_.ranges.inside(adopt->arc);
  for (KeyRange* piece : pieces) {
    if (adopt->group.term < piece->promised) {
      answer(Adopted::How::refused);
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
    answer(Adopted::How::done);
    return {};
  }
  if (!adopting_.insert({adopt->group.term, from.node}).second) {
    answer(Adopted::How::working);
    return {};
  }
  parts_.sync.begin(adopt->arc, from,
                    [this, frame, message = *adopt](bool synced) { finish_adopting(frame, message, synced); });
  return {};
}

void KeySuccession::finish_adopting(const Frame& frame, const Adopt& message, bool synced) {
  adopting_.erase({message.group.term, message.envelope.from.node});
  Adopted::How how = Adopted::How::done;
  for (const KeyRange* piece : parts_.ranges.inside(message.arc)) {
    if (message.group.term < piece->promised) how = Adopted::How::refused;
  }
  if (!synced) how = Adopted::How::refused;
  strays_ = strays_ || how == Adopted::How::refused;
  if (how == Adopted::How::done) {
    KeyRange range{message.arc, message.group, true, message.before};
    range.promised = message.group.term;
    parts_.ranges.put(range);
    parts_.log.follow(message.group.term);
    granted_[message.group.term] = now();
  }
  parts_.calls.answer(frame, message.envelope.from, peer_kind::adopted, Adopted{{}, how});
}

Status KeySuccession::on_settle(const Frame& frame) {
  const auto settle = read_message<Adopt>(frame);
  if (!settle.ok()) return malformed(frame, settle.error().message);
  drop_if_later(settle->arc, settle->group);
  if (watched_by_next(settle->group)) {
    for (const Arc& gap : parts_.ranges.gaps(settle->arc)) {
      parts_.ranges.put({gap, settle->group, false, {}, settle->group.term});
    }
  }
  parts_.calls.answer(frame, settle->envelope.from, peer_kind::settled, Noticed{});
  return {};
}

// A later group serves, so this node drops its data of earlier groups.
void KeySuccession::drop_if_later(const Arc& arc, const KeyGroup& group) {
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
void KeySuccession::drop_strays() {
  strays_ = false;
  for (const ParamKey& key : parts_.table.keys({0, 0})) {
    const KeyRange* range = parts_.ranges.find(place_of(key));
    if (range == nullptr || !range->holds) parts_.table.erase(key);
  }
}

// Checks a replica without recent messages of its leader: a later group may serve without a notice to this node.
void KeySuccession::tidy() {
  next_tidy_ = now() + kTidy;
  if (strays_ && !attempt_ && adopting_.empty()) drop_strays();
  std::erase_if(granted_, [&](const auto& grant) { return now() - grant.second > kTidy; });
  for (const auto& [end, range] : parts_.ranges.all()) {
    const bool leads = range.group.term == parts_.log.term();
    if (!range.holds || leads || granted_.count(range.group.term) > 0) continue;
    return parts_.overlay.find(end, now(), [this](const Result<Located>& located) {
      if (!located.ok() || located->owner.node == self().node) return;
      const auto& before = located->window.before.peers;
      const Arc arc{before.empty() ? located->owner.id : before.front().id, located->owner.id};
      parts_.calls.call(located->owner, peer_kind::who, ArcQuestion{{}, arc}, 1, [this](const Frame* frame) {
        if (frame == nullptr) return;
        const auto answer = read_message<KnownRanges>(*frame);
        if (!answer.ok()) return;
        for (const KeyRange& theirs : answer->ranges) {
          const bool led = theirs.group.members.front().node == answer->envelope.from.node;
          if (theirs.holds && theirs.serves() && led) drop_if_later(theirs.arc, theirs.group);
        }
      });
    });
  }
}

// ---- leases ----

/// The next node on the ring always knows a group of one member. So it neither declares the group's keys lost while a
/// later group has them, nor waits for lost keys.
void KeySuccession::notify_watcher(const KeyRange& range) {
  const bool leads = range.group.members.front().node == self().node && range.holds && range.serves();
  const std::vector<Peer>& behind = parts_.overlay.near().window().after.peers;
  if (!leads || !watched_by_next(range.group) || behind.empty()) return;
  const Peer& next = behind.front();
  const std::pair<GroupTerm, NodeId> watcher{range.group.term, next.node};
  if (watcher_ == watcher) return;
  watcher_ = watcher;
  parts_.calls.call(next, peer_kind::settle, Adopt{{}, range.arc, range.group, {}}, 4, [this](const Frame* frame) {
    if (frame == nullptr) watcher_ = {};
  });
}

void KeySuccession::renew() {
  const KeyRange* range = parts_.ranges.find(self().id);
  if (range == nullptr || range->group.members.front().node != self().node || !range->serves()) return;
  notify_watcher(*range);
  for (const Peer& member : range->group.members) {
    if (member.node == self().node) continue;
    const double sent = now();
    parts_.calls.call(member, peer_kind::renew, Renew{{}, range->arc, range->group.term, false}, 1,
                      [this, member, sent, term = range->group.term](const Frame* frame) {
                        if (frame == nullptr) return;
                        const auto answer = read_message<Renew>(*frame);
                        if (!answer.ok()) return;
                        if (!answer->refused) {
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

Status KeySuccession::on_renew(const Frame& frame) {
  const auto renew = read_message<Renew>(frame);
  if (!renew.ok()) return malformed(frame, renew.error().message);
  const std::vector<KeyRange> known = parts_.ranges.around(renew->arc);
  const bool ours = !known.empty() && std::all_of(known.begin(), known.end(), [&](const KeyRange& range) {
    return range.holds && range.group.term == renew->term && range.promised == renew->term;
  });
  if (ours) granted_[renew->term] = now();
  parts_.calls.answer(frame, renew->envelope.from, peer_kind::renewed, Renew{{}, renew->arc, renew->term, !ours});
  return {};
}

void KeySuccession::stop_draining() {
  if (!draining_ || now() - *draining_ <= 2 * kDrain) return;
  draining_.reset();  // the proposer has not sent another claim
  if (progress_) progress_();
}

}  // namespace actorhost
