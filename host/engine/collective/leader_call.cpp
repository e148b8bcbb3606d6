#include "host/engine/collective/leader_call.hpp"

#include <algorithm>
#include <utility>

namespace actorhost {

namespace {

constexpr size_t kRetainedBytes = size_t{256} << 10;  // the largest result that a rank retains for others

}  // namespace

Status LeaderCall::announce(bool small, const Go& root_sends) {
  if (!spec_.stale.empty()) return fail({Code::peer_lost, spec_.name + ": " + spec_.stale});
  members_[0].announced = true;
  ++announcements_;
  all_inlined_ = small;
  root_sends_ = root_sends;
  if (small) members_[0].input = inline_input();
  return announcements_ == group_.members ? all_announced() : Status();
}

Status LeaderCall::on_message(uint32_t from, const Frame& frame) {
  if (frame.kind == collective_kind::announce) return on_announce(from, frame);
  if (frame.kind == collective_kind::query) return send(from, collective_kind::missing, {}, missing());
  if (frame.kind == collective_kind::give_up) return on_give_up(from, frame);
  if (frame.kind != collective_kind::done || members_[from].finished) return {};
  return on_finished(from);
}

Status LeaderCall::on_give_up(uint32_t from, const Frame& frame) {
  auto failure = read_behind_route<Failure>(frame);
  if (!failure) return malformed(from, frame.kind, failure.error());
  Error error = std::move(failure->error);
  // A waiting member knows only the leader; the leader knows which ranks are missing. If none is, the leader was late.
  if (error.code == Code::timeout && !missing().absent.empty()) error = timed_out();
  return fail(error);
}

Status LeaderCall::on_announce(uint32_t from, const Frame& frame) {
  Member& member = members_[from];
  if (member.announced) return {};
  auto announce = read_behind_route<Announce>(frame);
  if (!announce) return malformed(from, frame.kind, announce.error());
  if (const Status fits = check(from, *announce); !fits) return fail(fits.error());
  member.announced = true;
  member.line = std::move(announce->where);
  ++announcements_;
  all_inlined_ = all_inlined_ && announce->inlined;
  member.input = frame.body;
  if (from == spec_.root) root_sends_ = {announce->bytes, std::move(announce->about)};
  return announcements_ == group_.members ? all_announced() : Status();
}

Status LeaderCall::check(uint32_t from, const Announce& announce) {
  joined_ = std::max(joined_, announce.joined);
  if (!announce.stale.empty()) {
    loss_epoch_ = announce.epoch;
    return Error{Code::peer_lost, spec_.name + ": " + announce.stale};
  }
  if (announce.world != group_.world) {
    loss_epoch_ = announce.epoch;
    return Error{Code::peer_lost, spec_.name + ": " + wiring_.describe_loss()};
  }
  if (announce.signature == spec_.signature && announce.actions == group_.actions) return {};
  return Error{Code::mismatch,
               "ranks disagree on a collective: rank " + std::to_string(group_.ranks[0]) + " is in " + spec_.signature +
                   " at " + spec_.where + ", rank " + std::to_string(group_.ranks[from]) + " is in " +
                   announce.signature + " at " + announce.where +
                   (announce.actions == group_.actions ? "" : " (with another number of actions before it)") +
                   "; loop by actor.pairs, not pairs: every rank must make the same calls in the same order"};
}

Status LeaderCall::hold(bool held) {
  held_ = held;
  if (held || decided()) return {};
  if (std::exchange(all_announced_, false)) AH_TRY(all_announced());
  return decided() ? Status() : commit_if_done();
}

Status LeaderCall::all_announced() {
  all_announced_ = held_;
  if (held_) return {};
  if (all_inlined_) return send_star_results();
  return spec_.reduces() ? commit_if_done() : send_go();
}

Status LeaderCall::send_star_results() {
  std::vector<Blob> results(group_.members);
  uint32_t at = 0;  // the rank of the last input that was read
  Status made = make_star_results(results, at);
  if (made.ok() && spec_.kind != CollectiveKind::barrier) made = read_star_result(results[0]);
  if (!made.ok() && at != 0) return malformed(at, collective_kind::announce, made.error());
  if (!made.ok()) return fail(made.error());
  release();  // releases the buffers that other ranks of this process have lent
  const bool final = retains(results[0]);
  if (final && !decide({}, results[0])) return {};
  for (uint32_t member = 1; member < group_.members; ++member) {
    inlined_bytes_sent_ += results[member].size();
    AH_TRY(send(member, collective_kind::result, results[member], ResultHead{final}));
  }
  has_result_ = true;
  if (!final) return report_if_done();
  end({});
  return {};
}

Status LeaderCall::make_star_results(std::vector<Blob>& results, uint32_t& at) const {
  if (spec_.reduces()) return make_reduction_results(results, at);
  if (spec_.kind == CollectiveKind::exchange) return make_exchange_results(results, at);
  if (spec_.kind == CollectiveKind::broadcast) results.assign(group_.members, members_[spec_.root].input);
  return {};
}

/// Whether this rank retains the result for others: a star's result is small and identical on all ranks.
bool LeaderCall::retains(const Blob& result) const noexcept {
  const bool alike = spec_.kind == CollectiveKind::barrier || spec_.kind == CollectiveKind::broadcast ||
                     spec_.kind == CollectiveKind::allreduce;
  return alike && !wiring_.key.async && result.size() <= kRetainedBytes;
}

/// Combines the inputs of all ranks in rank order, and makes each rank's part of the result.
Status LeaderCall::make_reduction_results(std::vector<Blob>& results, uint32_t& at) const {
  const size_t count = spec_.elements();
  Blob total = Blob::copy_of(spec_.input.data(), spec_.input.size());
  for (uint32_t member = 1; member < group_.members; ++member) {
    if (members_[member].input.size() != total.size()) {
      at = member;
      return Error{Code::bad_data, spec_.name + ": rank " + std::to_string(group_.ranks[member]) + " sent " +
                                       std::to_string(members_[member].input.size()) + " bytes where " +
                                       std::to_string(total.size()) + " were due"};
    }
    combine(spec_.op, spec_.dtype, count, total.data(), total.data(), members_[member].input.data());
  }
  actorhost::finish(spec_.op, spec_.dtype, count, total.data(), group_.members);
  const size_t size = dtype_size(spec_.dtype);
  for (uint32_t member = 0; member < group_.members; ++member) {
    const Span span = spec_.result_span(member, group_.members);
    results[member] = total.slice(span.begin * size, span.size() * size);
  }
  return {};
}

/// Collects each rank's parcels from all inputs.
Status LeaderCall::make_exchange_results(std::vector<Blob>& results, uint32_t& at) const {
  std::vector<std::vector<std::optional<PackedValue>>> gets(group_.members);
  for (uint32_t from = 0; from < group_.members; ++from) {
    auto parcels = unpack_parcels(members_[from].input.view(), group_.members);
    if (!parcels) {
      at = from;
      return parcels.error();
    }
    for (uint32_t member = 0; member < group_.members; ++member) {
      gets[member].push_back(std::move((*parcels)[member]));
    }
  }
  for (uint32_t member = 0; member < group_.members; ++member) results[member] = pack_parcels(gets[member]);
  return {};
}

/// All ranks have announced, and the data is too large for the leader: the ranks send it directly to each other.
Status LeaderCall::send_go() {
  release();
  for (uint32_t member = 1; member < group_.members; ++member) {
    AH_TRY(send(member, collective_kind::go, {}, root_sends_));
  }
  return start_transfer(root_sends_);
}

Status LeaderCall::on_finished(uint32_t member) {
  members_[member].finished = true;
  ++finishes_;
  return commit_if_done();
}

/// The call succeeds once all ranks have made matching announcements and are done.
Status LeaderCall::commit_if_done() {
  if (held_ || announcements_ < group_.members || finishes_ < group_.members || !decide({})) return {};
  for (uint32_t member = 1; member < group_.members; ++member) AH_TRY(send(member, collective_kind::commit, {}));
  end({});
  return {};
}

Status LeaderCall::fail(const Error& error) {
  loss_epoch_ = std::max(loss_epoch_, wiring_.epoch());
  if (!decide(error)) return {};
  joined_ = std::max(joined_, group_.joined);
  for (uint32_t member = 1; member < group_.members; ++member) {
    AH_TRY(send(member, collective_kind::failed, {}, Failure{loss_epoch_, error, joined_}));
  }
  end(error);
  return {};
}

/// Releases the buffers that the ranks of this process have lent.
void LeaderCall::release() noexcept {
  for (Member& member : members_) member.input = Blob();
}

Status LeaderCall::query_missing() {
  std::vector<NodeId> absent;
  for (const uint32_t member : missing().absent) absent.push_back(group_.ids[member]);
  if (!decided() && !absent.empty()) {
    wiring_.appeal_if_decided({Code::peer_lost, spec_.name + ": the membership has changed"}, std::move(absent));
  }
  return {};
}

Missing LeaderCall::missing() const {
  Missing missing;
  const bool all_here = announcements_ == group_.members;
  for (uint32_t member = 1; member < group_.members; ++member) {
    if (!members_[member].announced) missing.absent.push_back(member);
    if (all_here && !members_[member].finished) missing.unfinished.push_back(member);
  }
  return missing;
}

}  // namespace actorhost
