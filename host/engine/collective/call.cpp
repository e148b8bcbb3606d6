#include "host/engine/collective/call.hpp"

#include <utility>

#include "host/engine/collective/leader_call.hpp"
#include "host/engine/collective/member_call.hpp"

namespace actorhost {

namespace {

constexpr size_t kCopiedBytes = 4096;  // smaller bodies are cheaper to copy than to lend

}  // namespace

std::unique_ptr<CollectiveCall> CollectiveCall::make(CallSpec spec, CallGroup group, CallWiring wiring,
                                                     const CallClock& clock) {
  if (group.me == 0) {
    return std::make_unique<LeaderCall>(std::move(spec), std::move(group), std::move(wiring), clock);
  }
  return std::make_unique<MemberCall>(std::move(spec), std::move(group), std::move(wiring), clock);
}

CollectiveCall::CollectiveCall(CallSpec spec, CallGroup group, CallWiring wiring, const CallClock& clock)
    : spec_(std::move(spec)),
      group_(std::move(group)),
      wiring_(std::move(wiring)),
      clock_(clock),
      loans_(wiring_.returned),
      transfer_(spec_, group_, wiring_, loans_, result_) {}

size_t CollectiveCall::own_cost() const {
  if (spec_.reduces()) return spec_.input.size();
  size_t cost = spec_.parcel ? spec_.parcel->bytes() : 0;
  for (const auto& parcel : spec_.outgoing) cost += parcel ? parcel->bytes() : 0;
  return cost;
}

/// Whether this rank sends its input with its announcement.
bool CollectiveCall::inlined() const {
  if (spec_.choice.forced == Algorithm::star) return true;
  if (spec_.choice.forced != Algorithm::automatic) return false;
  return own_cost() <= star_bytes(spec_.kind, group_.members, group_.process_count());
}

Blob CollectiveCall::inline_input() const {
  switch (spec_.kind) {
    case CollectiveKind::barrier: return {};
    case CollectiveKind::broadcast: return pack_parcels({spec_.parcel});
    case CollectiveKind::exchange: return pack_parcels(spec_.outgoing);
    default: break;
  }
  const Blob& input = spec_.input;
  return input.size() <= kCopiedBytes ? Blob::copy_of(input.data(), input.size()) : loans_.lend(input, 0, input.size());
}

Status CollectiveCall::begin() {
  const bool small = inlined() || !spec_.stale.empty();
  if (!small && spec_.joined) transfer_.expect_parts();  // before any rank learns that it may send them
  Go root_sends;
  if (!small && spec_.parcel) root_sends = {spec_.parcel->body.size(), spec_.parcel->head};
  AH_TRY(announce(small, root_sends));
  // All ranks know the size of this data, so it need not wait for `go`.
  return small || !spec_.reduces() ? Status() : continue_started(transfer_.start_reduction());
}

Status CollectiveCall::take(uint32_t from, Frame&& frame) {
  if (outcome_ || from >= group_.members || from == group_.me) return {};
  const bool data = frame.kind == collective_kind::piece || frame.kind == collective_kind::parcel;
  return data ? continue_moved(transfer_.take(from, std::move(frame))) : on_message(from, frame);
}

/// Handles the frames that arrived before the transfer's start.
Status CollectiveCall::continue_started(const Status& started) {
  if (started.ok()) {
    for (auto& [from, frame] : transfer_.take_early()) AH_TRY(take(from, std::move(frame)));
  }
  return continue_moved(started);
}

/// Continues after the transfer has moved data, or gives up if the data is invalid.
Status CollectiveCall::continue_moved(const Status& moved) {
  if (!moved.ok() && moved.error().code == Code::bad_data) return give_up(moved.error());
  AH_TRY(moved);
  return report_if_done();
}

/// Handles a malformed frame: the link to its sender is closed, so the sender's loss ends the call. If the sender is in
/// this process, the call fails on all ranks.
Status CollectiveCall::malformed(uint32_t from, Kind kind, const Error& why) {
  return wiring_.distrusts(from, kind, why) ? Status() : give_up(why);
}

/// Decides the call by the leader's message. False: an arbiter has queried this rank, and its verdict will follow.
bool CollectiveCall::decide(const Status& outcome, const Blob& result) {
  const uint64_t epoch = outcome.ok() ? 0 : std::max(loss_epoch_, wiring_.epoch());
  return wiring_.ledger->decide(wiring_.key, wiring_.self, leader_ballot(wiring_.leader), {outcome, epoch, result});
}

Status CollectiveCall::read_star_result(const Blob& body) {
  const Error malformed{Code::bad_data,
                        spec_.name + ": a malformed result of " + std::to_string(body.size()) + " bytes"};
  if (spec_.reduces()) {
    if (body.size() != spec_.result_span(group_.me, group_.members).size() * dtype_size(spec_.dtype)) return malformed;
    result_.buffer = own_body(body);
    return {};
  }
  const bool one = spec_.kind == CollectiveKind::broadcast;
  auto parcels = unpack_parcels(body.view(), one ? 1 : group_.members);
  if (!parcels) return malformed;
  if (!one) {
    result_.received = std::move(*parcels);
    return {};
  }
  if (!parcels->front()) return malformed;
  result_.parcel = std::move(*parcels->front());
  return {};
}

Status CollectiveCall::report_if_done() {
  if (outcome_ || done_ || !(has_result_ || transfer_.done())) return {};
  done_ = true;
  return on_all_data();
}

Status CollectiveCall::lost(uint32_t member, const std::string& message) {
  return outcome_ ? Status() : on_lost(member, {Code::peer_lost, spec_.name + ": " + message});
}

Status CollectiveCall::on_membership(const Membership& membership) {
  for (uint32_t member = 0; member < group_.members && !outcome_; ++member) {
    if (membership.alive(group_.ids[member])) continue;
    AH_TRY(lost(member, "rank " + std::to_string(group_.ranks[member]) + " lost"));
  }
  return {};
}

Status CollectiveCall::give_up(const Error& error) {
  if (outcome_ || given_up_) return {};
  given_up_ = error;
  return abandon(error);
}

Status CollectiveCall::tick(double now) {
  if (!outcome_) {
    if (const auto verdict = wiring_.ledger->take_settled(wiring_.key, wiring_.self)) adopt(*verdict);
  }
  if (!outcome_ && !given_up_ && clock_.out_of_time(now)) {
    AH_TRY(give_up(timed_out()));
    return tick(now);  // the send may have consumed a verdict's wake-up
  }
  if (outcome_) {
    clock_.end(now, failed_for_all_);
  } else if (given_up_) {
    clock_.give_up(now);
  }
  if (clock_.leader_is_late(now)) {
    clock_.appeal();
    appeal(*given_up_);
  }
  loans_are_late_ = clock_.loans_are_late(now);
  return {};
}

/// Requests a verdict from an arbiter in place of the leader's decision.
void CollectiveCall::appeal(const Error& error) {
  if (!outcome_ && !std::exchange(appealed_, true)) wiring_.appeal(error);
}

void CollectiveCall::adopt(const Verdict& verdict) {
  loss_epoch_ = verdict.epoch;
  if (!verdict.outcome.ok() || done_ || has_result_) return end(verdict.outcome);
  has_result_ = true;
  end(spec_.kind == CollectiveKind::barrier ? Status() : read_star_result(verdict.result));
  failed_for_all_ = false;
}

void CollectiveCall::end(Status outcome) {
  failed_for_all_ = !outcome.ok();
  transfer_.end(outcome.ok());
  result_.bytes_sent = inlined_bytes_sent_ + transfer_.bytes_sent();
  release();
  outcome_ = std::move(outcome);
}

Error CollectiveCall::timed_out() const {
  const Missing awaited = missing();
  std::vector<uint32_t> ranks;
  std::string lines;
  for (const uint32_t member : awaited.absent) {
    ranks.push_back(group_.ranks[member]);
    if (member >= group_.lines.size() || group_.lines[member].empty()) continue;
    lines += (lines.empty() ? "rank " : ", rank ") + std::to_string(ranks.back()) + " at " + group_.lines[member];
  }
  if (!ranks.empty()) return late_error(spec_.name, ranks, lines);
  for (const uint32_t member : awaited.unfinished) ranks.push_back(group_.ranks[member]);
  return {Code::timeout, spec_.name + ": all ranks have arrived, but the data has not arrived in time" +
                             (ranks.empty() ? "" : " at " + ranks_text(ranks))};
}

}  // namespace actorhost
