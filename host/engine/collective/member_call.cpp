#include "host/engine/collective/member_call.hpp"

#include <utility>

namespace actorhost {

Status MemberCall::announce(bool small, const Go& root_sends) {
  const Announce announce{group_.world,     group_.epoch,    group_.actions, small,       root_sends.bytes,
                          root_sends.about, spec_.signature, spec_.where,    spec_.stale, group_.joined};
  Blob input = small && spec_.stale.empty() ? inline_input() : Blob();
  inlined_bytes_sent_ += input.size();
  return send(0, collective_kind::announce, input, announce);
}

Status MemberCall::on_message(uint32_t from, const Frame& frame) {
  if (from != 0) return {};
  if (frame.kind == collective_kind::result) return on_result(frame);
  if (frame.kind == collective_kind::failed) return on_failed(frame);
  if (frame.kind == collective_kind::go) {
    auto go = read_behind_route<Go>(frame);
    return go ? start_transfer(*go) : malformed(0, frame.kind, go.error());
  }
  if (frame.kind == collective_kind::missing) {
    auto missing = read_behind_route<Missing>(frame);
    if (!missing) return malformed(0, frame.kind, missing.error());
    missing_reply_ = std::move(*missing);
  }
  if (frame.kind == collective_kind::commit && done_ && decide({})) end({});
  return {};
}

Status MemberCall::on_result(const Frame& frame) {
  if (has_result_) return {};
  const auto head = read_behind_route<ResultHead>(frame);
  if (!head) return malformed(0, frame.kind, head.error());
  if (spec_.kind != CollectiveKind::barrier) {
    if (const Status read = read_star_result(frame.body); !read.ok()) {
      if (!wiring_.distrusts(0, frame.kind, read.error())) appeal(read.error());
      return {};
    }
  }
  has_result_ = true;
  if (!head->final) return report_if_done();
  if (decide({}, frame.body)) end({});
  return {};
}

Status MemberCall::on_failed(const Frame& frame) {
  auto failure = read_behind_route<Failure>(frame);
  if (!failure) return malformed(0, frame.kind, failure.error());
  if (!decide(failure->error)) return {};
  loss_epoch_ = failure->epoch;
  joined_ = failure->joined;
  end(std::move(failure->error));
  return {};
}

Status MemberCall::on_lost(uint32_t member, const Error& error) {
  if (member == 0) appeal(error);
  return {};
}

Status MemberCall::abandon(const Error& error) {
  return send(0, collective_kind::give_up, {}, Failure{group_.epoch, error});
}

Status MemberCall::query_missing() { return decided() ? Status() : send(0, collective_kind::query, {}); }

Missing MemberCall::missing() const {
  if (!missing_reply_) return {{0}, {}};
  Missing missing;
  for (const uint32_t member : missing_reply_->absent) {
    if (member != group_.me && member < group_.members) missing.absent.push_back(member);
  }
  for (const uint32_t member : missing_reply_->unfinished) {
    if (member < group_.members) missing.unfinished.push_back(member);
  }
  return missing;
}

}  // namespace actorhost
