#include "host/engine/collective/call.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr size_t kCopiedBytes = 4096;                 // smaller bodies are cheaper to copy than to lend
constexpr size_t kRetainedBytes = size_t{256} << 10;  // the largest result that a rank retains for others

}  // namespace

std::string choice_text(const CallSpec& spec, const CallResult& result, uint32_t ranks, const char* choice) {
  size_t bytes = spec.input.size() + result.parcel.body.size();
  for (const auto& parcel : spec.outgoing) bytes += parcel ? parcel->bytes() : 0;
  return spec.name + " of " + std::to_string(bytes) + " bytes among " + std::to_string(ranks) + " ranks: " + choice;
}

void ChoiceLog::log(Log& log, const std::string& source, const std::string& choice) {
  if (logged_.size() < kMost && logged_.insert(choice).second) log.debug(source, choice);
}

CollectiveCall::CollectiveCall(CallSpec spec, const Group& group, Wiring wiring, const CallClock& clock)
    : spec_(std::move(spec)), group_(group), wiring_(std::move(wiring)), clock_(clock), loans_(wiring_.returned) {
  if (!leads()) return;
  announced_.resize(group_.members);
  inputs_.resize(group_.members);
  finished_.resize(group_.members);
  lines_.resize(group_.members);
}

bool CollectiveCall::reduces() const noexcept {
  return spec_.kind == CollectiveKind::allreduce || spec_.kind == CollectiveKind::reduce ||
         spec_.kind == CollectiveKind::reduce_scatter;
}

size_t CollectiveCall::own_cost() const {
  if (reduces()) return spec_.input.size();
  size_t cost = spec_.parcel ? spec_.parcel->bytes() : 0;
  for (const auto& parcel : spec_.outgoing) cost += parcel ? parcel->bytes() : 0;
  return cost;
}

/// Whether this rank sends its input with its announcement.
bool CollectiveCall::inlined() const {
  if (spec_.choice.forced == Algorithm::star) return true;
  if (spec_.choice.forced != Algorithm::automatic) return false;
  return own_cost() <= star_bytes(spec_.kind, group_.members, processes());
}

/// A frame may share its body with other ranks of this process, or refer to the buffer of one of them.
Blob CollectiveCall::own_copy(Blob bytes) {
  return bytes.unique() ? std::move(bytes) : Blob::copy_of(bytes.data(), bytes.size());
}

Status CollectiveCall::send_message(uint32_t to, Kind kind, Blob body) {
  return wiring_.send(to, kind, pack(route_to(to)), std::move(body));
}

Blob CollectiveCall::inline_input() {
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
  if (!spec_.stale.empty() && leads()) return fail({Code::peer_lost, spec_.name + ": " + spec_.stale});
  const bool small = inlined() || !spec_.stale.empty();
  if (!small && spec_.joined) expect_parts();  // before any rank learns that it may send them
  Go root_sends;
  if (!small && spec_.parcel) root_sends = {spec_.parcel->body.size(), spec_.parcel->head};
  if (leads()) {
    announced_[0] = true;
    ++announcements_;
    all_inlined_ = small;
    announced_data_ = root_sends;
    if (small) inputs_[0] = inline_input();
  } else {
    const Announce announce{group_.world,     group_.epoch,    group_.actions, small,       root_sends.bytes,
                            root_sends.about, spec_.signature, spec_.where,    spec_.stale, group_.joined};
    Blob input = small && spec_.stale.empty() ? inline_input() : Blob();
    bytes_sent_ += input.size();
    AH_TRY(wiring_.send(0, collective_kind::announce, pack(route_to(0), announce), std::move(input)));
  }
  // All ranks know the size of this data, so it need not wait for `go`.
  if (reduces() && !small) return start_reduction();
  return group_.members == 1 ? all_announced() : Status();
}

Status CollectiveCall::take(uint32_t from, Frame&& frame) {
  if (outcome_ || from >= group_.members || from == group_.me) return {};
  if (frame.kind == collective_kind::piece) return on_piece(from, std::move(frame));
  if (frame.kind == collective_kind::parcel) return on_parcel(from, std::move(frame));
  if (leads()) return on_member_message(from, frame);
  return from == 0 ? on_leader_message(frame) : Status();
}

/// Handles a malformed frame: the link to its sender is closed, so the sender's loss ends the call. If the sender is in
/// this process, the call fails on all ranks.
Status CollectiveCall::malformed(uint32_t from, Kind kind, const Error& why) {
  return distrusts(from, kind, why) ? Status() : give_up(why);
}

bool CollectiveCall::distrusts(uint32_t from, Kind kind, const Error& why) const {
  return wiring_.distrust && wiring_.distrust(from, kind, why.message);
}

/// Handles a member's report to the leader.
Status CollectiveCall::on_member_message(uint32_t from, const Frame& frame) {
  if (frame.kind == collective_kind::announce) return on_announce(from, frame);
  if (frame.kind == collective_kind::query) return send_missing(from);
  if (frame.kind == collective_kind::give_up) {
    auto failure = read_behind_route<Failure>(frame);
    if (!failure) return malformed(from, frame.kind, failure.error());
    Error error = std::move(failure->error);
    // A waiting member knows only the leader; the leader knows which ranks are missing. If none is, the leader was
    // late.
    if (error.code == Code::timeout && !missing().absent.empty()) error = timed_out();
    return fail(error);
  }
  if (frame.kind != collective_kind::done || finished_[from]) return {};
  finished_[from] = true;
  ++finishes_;
  return commit_if_done();
}

/// Handles a leader's message to a member.
Status CollectiveCall::on_leader_message(const Frame& frame) {
  if (frame.kind == collective_kind::result) return on_result(frame);
  if (frame.kind == collective_kind::go) return on_go(frame);
  if (frame.kind == collective_kind::failed) {
    auto failure = read_behind_route<Failure>(frame);
    if (!failure) return malformed(0, frame.kind, failure.error());
    if (!decide(failure->error)) return {};
    loss_epoch_ = failure->epoch;
    joined_ = failure->joined;
    failed_for_all_ = true;
    end(std::move(failure->error));
  }
  if (frame.kind == collective_kind::missing) {
    auto missing = read_behind_route<Missing>(frame);
    if (!missing) return malformed(0, frame.kind, missing.error());
    missing_reply_ = std::move(*missing);
  }
  if (frame.kind == collective_kind::commit && done_ && decide({})) end({});
  return {};
}

Status CollectiveCall::send_missing(uint32_t from) {
  return wiring_.send(from, collective_kind::missing, pack(route_to(from), missing()), {});
}

Status CollectiveCall::on_announce(uint32_t from, const Frame& frame) {
  if (announced_[from]) return {};
  auto announce = read_behind_route<Announce>(frame);
  if (!announce) return malformed(from, frame.kind, announce.error());
  if (const Status fits = check(from, *announce); !fits) return fail(fits.error());
  announced_[from] = true;
  lines_[from] = std::move(announce->where);
  ++announcements_;
  all_inlined_ = all_inlined_ && announce->inlined;
  inputs_[from] = frame.body;
  if (from == spec_.root) announced_data_ = {announce->bytes, std::move(announce->about)};
  return announcements_ == group_.members ? all_announced() : Status();
}

Status CollectiveCall::check(uint32_t from, const Announce& announce) {
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

Status CollectiveCall::hold(bool held) {
  held_ = held;
  if (held || !leads() || outcome_) return {};
  if (std::exchange(all_announced_, false)) AH_TRY(all_announced());
  return outcome_ ? Status() : commit_if_done();
}

Status CollectiveCall::all_announced() {
  all_announced_ = held_;
  if (held_) return {};
  if (all_inlined_) return send_star_results();
  return reduces() ? commit_if_done() : send_go();
}

Status CollectiveCall::send_star_results() {
  algorithm_ = algorithm_name(Algorithm::star);
  std::vector<Blob> results(group_.members);
  Status made;
  uint32_t at = 0;  // the rank whose input was read last
  if (reduces()) made = make_reduction_results(results, at);
  if (spec_.kind == CollectiveKind::broadcast) results.assign(group_.members, inputs_[spec_.root]);
  if (spec_.kind == CollectiveKind::exchange) made = make_exchange_results(results, at);
  if (made.ok() && spec_.kind != CollectiveKind::barrier) made = read_result(results[0]);
  if (!made.ok() && at != 0) return malformed(at, collective_kind::announce, made.error());
  if (!made.ok()) return fail(made.error());
  inputs_.clear();  // releases the buffers that other ranks of this process have lent
  const bool final = retains(results[0]);
  if (final && !decide({}, results[0])) return {};
  for (uint32_t member = 1; member < group_.members; ++member) {
    bytes_sent_ += results[member].size();
    AH_TRY(wiring_.send(member, collective_kind::result, pack(route_to(member), ResultHead{final}),
                        std::move(results[member])));
  }
  has_result_ = true;
  if (!final) return report_if_done();
  end({});
  return {};
}

/// Whether this rank retains the result for others: a star's result is small and identical on all ranks.
bool CollectiveCall::retains(const Blob& result) const noexcept {
  const bool alike = spec_.kind == CollectiveKind::barrier || spec_.kind == CollectiveKind::broadcast ||
                     spec_.kind == CollectiveKind::allreduce;
  return alike && !wiring_.key.async && result.size() <= kRetainedBytes;
}

/// Decides the call by the leader's message. False: an arbiter has queried this rank, and its verdict will follow.
bool CollectiveCall::decide(const Status& outcome, const Blob& result) {
  const uint64_t epoch = outcome.ok() ? 0 : std::max(loss_epoch_, wiring_.epoch());
  return wiring_.ledger->decide(wiring_.key, wiring_.self, leader_ballot(wiring_.leader), {outcome, epoch, result});
}

/// Combines the inputs of all ranks in rank order, and makes each rank's part of the result.
Status CollectiveCall::make_reduction_results(std::vector<Blob>& results, uint32_t& at) {
  const size_t count = elements();
  Blob total = Blob::copy_of(spec_.input.data(), spec_.input.size());
  for (uint32_t member = 1; member < group_.members; ++member) {
    if (inputs_[member].size() != total.size()) {
      at = member;
      return Error{Code::bad_data, spec_.name + ": rank " + std::to_string(group_.ranks[member]) + " sent " +
                                       std::to_string(inputs_[member].size()) + " bytes where " +
                                       std::to_string(total.size()) + " were due"};
    }
    combine(spec_.op, spec_.dtype, count, total.data(), total.data(), inputs_[member].data());
  }
  actorhost::finish(spec_.op, spec_.dtype, count, total.data(), group_.members);
  const size_t size = dtype_size(spec_.dtype);
  for (uint32_t member = 0; member < group_.members; ++member) {
    const Span span = result_span(member);
    results[member] = total.slice(span.begin * size, span.size() * size);
  }
  return {};
}

/// The elements of a combined buffer that belong to a member's result.
Span CollectiveCall::result_span(uint32_t member) const noexcept {
  if (spec_.kind == CollectiveKind::reduce && member != spec_.root) return {};
  if (spec_.kind != CollectiveKind::reduce_scatter) return {0, elements()};
  return Place{member, group_.members, elements(), spec_.unit}.block(member);
}

/// Collects each rank's parcels from all inputs.
Status CollectiveCall::make_exchange_results(std::vector<Blob>& results, uint32_t& at) {
  std::vector<std::vector<std::optional<PackedValue>>> gets(group_.members);
  for (uint32_t from = 0; from < group_.members; ++from) {
    auto parcels = unpack_parcels(inputs_[from].view(), group_.members);
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

Status CollectiveCall::on_result(const Frame& frame) {
  if (has_result_) return {};
  const auto head = read_behind_route<ResultHead>(frame);
  if (!head) return malformed(0, frame.kind, head.error());
  algorithm_ = algorithm_name(Algorithm::star);
  if (spec_.kind != CollectiveKind::barrier) {
    if (const Status read = read_result(frame.body); !read.ok()) {
      if (!distrusts(0, frame.kind, read.error())) appeal(read.error());
      return {};
    }
  }
  has_result_ = true;
  if (!head->final) return report_if_done();
  if (decide({}, frame.body)) end({});
  return {};
}

Status CollectiveCall::read_result(const Blob& body) {
  const Error malformed{Code::bad_data,
                        spec_.name + ": a malformed result of " + std::to_string(body.size()) + " bytes"};
  if (reduces()) {
    if (body.size() != result_span(group_.me).size() * dtype_size(spec_.dtype)) return malformed;
    result_.buffer = own_copy(body);
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

/// All ranks have announced, and the data is too large for the leader: it goes directly between the ranks.
Status CollectiveCall::send_go() {
  inputs_.clear();
  for (uint32_t member = 1; member < group_.members; ++member) {
    AH_TRY(wiring_.send(member, collective_kind::go, pack(route_to(member), announced_data_), {}));
  }
  return spec_.kind == CollectiveKind::broadcast ? start_broadcast(announced_data_) : start_exchange();
}

Status CollectiveCall::on_go(const Frame& frame) {
  auto go = read_behind_route<Go>(frame);
  if (!go) return malformed(0, frame.kind, go.error());
  if (run_ || exchanging_ || reduces()) return {};
  return spec_.kind == CollectiveKind::broadcast ? start_broadcast(*go) : start_exchange();
}

/// Sends `done` to the leader once this rank has received all its data.
Status CollectiveCall::report_if_done() {
  const bool has_all = has_result_ || (run_ ? run_->done() : exchanging_ && parcels_due_ == 0);
  if (outcome_ || done_ || !has_all) return {};
  done_ = true;
  if (!leads()) return send_message(0, collective_kind::done);
  finished_[0] = true;
  ++finishes_;
  return commit_if_done();
}

/// On the leader: the call succeeds once all ranks have made matching announcements and are done.
Status CollectiveCall::commit_if_done() {
  if (held_ || announcements_ < group_.members || finishes_ < group_.members || !decide({})) return {};
  for (uint32_t member = 1; member < group_.members; ++member) AH_TRY(send_message(member, collective_kind::commit));
  end({});
  return {};
}

Status CollectiveCall::lost(uint32_t member, const std::string& message) {
  if (outcome_) return {};
  const Error error{Code::peer_lost, spec_.name + ": " + message};
  if (leads()) return fail(error);
  if (member == 0) appeal(error);
  return {};
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
  if (leads()) return fail(error);
  return wiring_.send(0, collective_kind::give_up, pack(route_to(0), Failure{group_.epoch, error}), {});
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
  failed_for_all_ = !verdict.outcome.ok();
  if (failed_for_all_ || done_ || has_result_) return end(verdict.outcome);
  algorithm_ = algorithm_name(Algorithm::star);
  end(spec_.kind == CollectiveKind::barrier ? Status() : read_result(verdict.result));
}

Status CollectiveCall::fail(const Error& error) {
  loss_epoch_ = std::max(loss_epoch_, wiring_.epoch());
  if (!decide(error)) return {};
  joined_ = std::max(joined_, group_.joined);
  for (uint32_t member = 1; member < group_.members; ++member) {
    AH_TRY(wiring_.send(member, collective_kind::failed, pack(route_to(member), Failure{loss_epoch_, error, joined_}),
                        {}));
  }
  failed_for_all_ = true;
  end(error);
  return {};
}

void CollectiveCall::end(Status outcome) {
  if (outcome.ok() && run_) collect_result();
  if (run_) bytes_sent_ += run_->bytes_sent();
  result_.bytes_sent = bytes_sent_;
  run_.reset();
  expect_nothing();
  early_.clear();
  inputs_.clear();
  partial_parcels_.clear();
  whole_ = Blob();
  outcome_ = std::move(outcome);
}

Status CollectiveCall::query_missing() {
  return leads() || outcome_ ? Status() : send_message(0, collective_kind::query);
}

Missing CollectiveCall::missing() const {
  Missing missing;
  if (!leads()) {
    if (!missing_reply_) return {{0}, {}};
    for (const uint32_t member : missing_reply_->absent) {
      if (member != group_.me && member < group_.members) missing.absent.push_back(member);
    }
    for (const uint32_t member : missing_reply_->unfinished) {
      if (member < group_.members) missing.unfinished.push_back(member);
    }
    return missing;
  }
  const bool all_here = announcements_ == group_.members;
  for (uint32_t member = 1; member < group_.members; ++member) {
    if (!announced_[member]) missing.absent.push_back(member);
    if (all_here && !finished_[member]) missing.unfinished.push_back(member);
  }
  return missing;
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
