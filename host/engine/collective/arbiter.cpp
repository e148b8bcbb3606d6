#include "host/engine/collective/arbiter.hpp"

#include <algorithm>
#include <utility>

namespace actorhost {

namespace {

Arbiter::Wiring wiring_of(ServiceThread& courier) {
  return {courier.process(),
          [&courier](ProcessId to, Kind kind, const std::string& meta, Blob body) {
            courier.send(make_frame(kind, courier.address(), courier_address(to), 0, meta, std::move(body)));
          },
          [&courier] { return courier.newest_membership(); },
          [&courier](std::function<void()> call) { courier.post(std::move(call)); },
          [&courier](Address sender, Kind kind, const Error& why) { courier.distrust(sender, kind, why); }};
}

}  // namespace

Arbiter::Arbiter(ServiceThread& courier) : wiring_(wiring_of(courier)) {
  courier.add(KindRange{arbiter_kind::appeal, arbiter_kind::verdict, "calls' ends"}, *this);
}

void Arbiter::appeal(Appeal appeal) {
  wiring_.post([this, appeal = std::move(appeal)] { add(appeal, wiring_.membership()->epoch()); });
}

void Arbiter::appeal_if_decided(Appeal appeal, std::vector<NodeId> ranks) {
  wiring_.post([this, appeal = std::move(appeal), ranks = std::move(ranks)] {
    std::erase_if(conditional_, [this](const auto& it) { return !ledger_.open(it.first, it.second.rank); });
    conditional_[appeal.call] = appeal;
    Case unpromised;
    for (const NodeId rank : ranks) query(appeal.call, unpromised, rank);
    for (const auto& [rank, reply] : unpromised.replies) on_unpromised(appeal.call, reply.has_value());
  });
}

/// A rank has replied to a query without a promise.
void Arbiter::on_unpromised(const CallKey& call, bool decided) {
  if (!decided) return;
  if (auto found = conditional_.extract(call)) add(std::move(found.mapped()), wiring_.membership()->epoch());
}

void Arbiter::add(Appeal appeal, uint64_t epoch) {
  appeals_.push_back({std::move(appeal), epoch});
  process_appeals();
}

std::optional<NodeId> Arbiter::lowest_of(const std::vector<NodeId>& members) const {
  const MembershipPtr now = wiring_.membership();
  const auto found = std::find_if(members.begin(), members.end(), [&](NodeId id) { return now->alive(id); });
  return found == members.end() ? std::nullopt : std::optional(*found);
}

ProcessId Arbiter::home_of(NodeId rank) const { return wiring_.membership()->home_of(worker_address(rank)); }

void Arbiter::process_appeals() {
  std::vector<Waiting> appeals = std::exchange(appeals_, {});
  for (Waiting& waiting : appeals) {
    if (!forward(waiting)) appeals_.push_back(std::move(waiting));
  }
}

/// Forwards an appeal to the current arbiter. True: this process has no more work for the appeal.
bool Arbiter::forward(Waiting& waiting) {
  const Appeal& appeal = waiting.appeal;
  const ProcessId home = home_of(appeal.rank);
  const bool mine = home == wiring_.process;
  if (mine ? !ledger_.open(appeal.call, appeal.rank) : home == kNoProcess) return true;
  if (wiring_.membership()->epoch() < waiting.epoch) return false;  // the sender knows a newer membership
  const auto lowest = lowest_of(appeal.members);
  if (!lowest) return true;
  const ProcessId arbiter = home_of(*lowest);
  if (arbiter == wiring_.process) {
    open(appeal);
    return !mine;  // a rank of this process waits for the verdict, so the appeal stays
  }
  if (waiting.sent_to == arbiter) return !mine;
  waiting.sent_to = arbiter;
  const AppealFrame frame{appeal.call, appeal.rank, wiring_.membership()->epoch(), appeal.members, appeal.error};
  wiring_.send(arbiter, arbiter_kind::appeal, pack(frame), {});
  return !mine;
}

void Arbiter::open(const Appeal& appeal) {
  Case& entry = cases_[appeal.call];
  if (entry.members.empty()) {
    entry.ballot = arbiter_ballot(*lowest_of(appeal.members));
    entry.error = appeal.error;
  }
  for (const NodeId rank : appeal.members) {
    if (entry.members.insert(rank).second) query(appeal.call, entry, rank);
  }
  check_cases();
}

void Arbiter::query(const CallKey& call, Case& entry, NodeId rank) {
  const ProcessId home = home_of(rank);
  if (home == wiring_.process) {
    entry.replies[rank] = ledger_.query(call, rank, entry.ballot);
  } else if (home != kNoProcess) {
    wiring_.send(home, arbiter_kind::query, pack(CaseFrame{call, entry.ballot, rank}), {});
  }
}

void Arbiter::on_frame(Frame&& frame, double /*now*/) {
  if (!is_courier(frame.src)) return;
  const Status read = take(frame);
  if (!read.ok() && wiring_.distrust) wiring_.distrust(frame.src, frame.kind, read.error());
}

Status Arbiter::take(Frame& frame) {
  const ProcessId from = address_index(frame.src);
  if (frame.kind == arbiter_kind::appeal) {
    AH_LET(auto appeal, unpack<AppealFrame>(frame.meta.view()));
    add({appeal.call, appeal.rank, std::move(appeal.members), std::move(appeal.error)}, appeal.epoch);
    return {};
  }
  AH_LET(auto message, unpack<CaseFrame>(frame.meta.view()));
  if (frame.kind == arbiter_kind::query) {
    message.decided = ledger_.query(message.call, message.rank, message.ballot);
    const Blob result = message.decided ? message.decided->result : Blob();
    wiring_.send(from, arbiter_kind::reply, pack(message), result);
    return {};
  }
  if (message.decided) message.decided->result = std::move(frame.body);
  if (frame.kind == arbiter_kind::verdict) {
    if (message.decided) ledger_.settle(message.call, message.rank, message.ballot, *message.decided);
    process_appeals();
    return {};
  }
  if (home_of(message.rank) != from) return {};
  if (message.ballot == kNoBallot) return on_unpromised(message.call, message.decided.has_value()), Status();
  const auto it = cases_.find(message.call);
  if (it == cases_.end() || it->second.ballot != message.ballot) return {};
  it->second.replies[message.rank] = std::move(message.decided);
  check_cases();
  return {};
}

void Arbiter::on_membership(const MembershipPtr& /*membership*/, double /*now*/) {
  process_appeals();
  check_cases();
}

bool Arbiter::all_have_replied(const Case& entry) const {
  const MembershipPtr now = wiring_.membership();
  return std::all_of(entry.members.begin(), entry.members.end(),
                     [&](NodeId rank) { return entry.replies.contains(rank) || !now->alive(rank); });
}

void Arbiter::check_cases() {
  for (auto it = cases_.begin(); it != cases_.end();) {
    if (!all_have_replied(it->second)) {
      ++it;
      continue;
    }
    auto done = cases_.extract(it++);
    close(done.key(), done.mapped());
  }
}

/// Ends a call by the decision of any rank, since that rank may have continued; without a decision the call fails.
void Arbiter::close(const CallKey& call, const Case& entry) {
  const uint64_t epoch = wiring_.membership()->epoch();
  Verdict verdict{entry.error, epoch, {}};
  for (const auto& [rank, reply] : entry.replies) {
    if (!reply) continue;
    verdict = *reply;
    verdict.epoch = std::max(verdict.epoch, epoch);
    if (verdict.outcome.ok()) break;
  }
  for (const NodeId rank : entry.members) {
    const ProcessId home = home_of(rank);
    if (home == wiring_.process) {
      ledger_.settle(call, rank, entry.ballot, verdict);
    } else if (home != kNoProcess) {
      wiring_.send(home, arbiter_kind::verdict, pack(CaseFrame{call, entry.ballot, rank, verdict}), verdict.result);
    }
  }
}

}  // namespace actorhost
