#include "host/engine/average/average_agent.hpp"

#include <algorithm>
#include <utility>

#include "host/base/clock.hpp"

namespace actorhost {

namespace {

constexpr ProcessId kLead = 0;

bool is_wait(Report::Kind kind) {
  return kind == Report::Kind::join || kind == Report::Kind::sync || kind == Report::Kind::abort;
}

}  // namespace

void AverageAgent::report(const Report& report, std::shared_ptr<AverageReplica> replica) {
  if (report.kind == Report::Kind::join) replicas_[report.node] = std::move(replica);
  waiting_.erase(report.node);
  if (report.kind == Report::Kind::leave) {
    replicas_.erase(report.node);
  } else if (is_wait(report.kind)) {
    waiting_.insert_or_assign(report.node, report.kind);
  }
  send_(kLead, average_kind::report, pack(report), {});
}

Status AverageAgent::on_frame(ProcessId from, Frame&& frame) {
  const std::string_view meta = frame.meta.view();
  if (frame.kind == average_kind::piece) {
    AH_LET(const auto piece, unpack<AveragePiece>(meta));
    on_piece(from, piece, std::move(frame.body));
    return {};
  }
  return from == kLead ? on_lead_message(frame.kind, meta) : Status();
}

/// Handles a message of the lead.
Status AverageAgent::on_lead_message(Kind kind, std::string_view meta) {
  if (kind == average_kind::started) on_started();
  if (kind == average_kind::open) {
    AH_LET(const auto open, unpack<RoundOpen>(meta));
    on_open(open);
  } else if (kind == average_kind::go) {
    AH_LET(auto go, unpack<RoundGo>(meta));
    on_go(std::move(go));
  } else if (kind == average_kind::verdict) {
    AH_LET(const auto verdict, unpack<RoundVerdict>(meta));
    on_verdict(verdict);
  }
  return {};
}

void AverageAgent::on_started() {
  for (const auto& [node, replica] : replicas_) {
    const auto waiting = waiting_.find(node);
    if (waiting == waiting_.end() || waiting->second != Report::Kind::join) continue;
    waiting_.erase(waiting);
    replica->settle({});
  }
}

void AverageAgent::on_open(const RoundOpen& open) {
  round_ = Round();
  round_->number = open.round;
  round_->full = open.full;
  for (const NodeId node : open.nodes) {
    const auto found = replicas_.find(node);
    if (found == replicas_.end()) continue;  // of another process, or departed: the lead is notified
    round_->nodes.insert(node);
    round_->pending.insert(node);
    found->second->request_copy();
  }
  report_copies();
}

/// Reports the newly copied models to the lead.
void AverageAgent::report_copies() {
  RoundReady ready{round_->number, {}};
  for (auto it = round_->pending.begin(); it != round_->pending.end();) {
    const NodeId node = *it;
    const auto found = replicas_.find(node);
    const auto copied = found == replicas_.end() ? AverageReplica::Copied::refused : found->second->copied();
    if (copied == AverageReplica::Copied::no) {
      ++it;
      continue;
    }
    const bool yes = copied == AverageReplica::Copied::yes;
    if (yes) round_->copied[node] = found->second;
    ready.replies.push_back({node, yes, yes || found == replicas_.end() ? "" : found->second->fault()});
    it = round_->pending.erase(it);
  }
  if (!ready.replies.empty()) send_(kLead, average_kind::ready, pack(ready), {});
}

void AverageAgent::on_go(RoundGo&& go) {
  if (!round_ || round_->number != go.round || round_->mover) return;
  AverageCopies copies;
  for (const RoundGo::Participant& p : go.participants) {
    const auto mine = round_->copied.find(p.node);
    if (p.process == self_ && mine != round_->copied.end()) copies[p.node] = mine->second->copy();
  }
  for (const NodeId node : round_->nodes) {  // the round may continue without some models
    const auto found = replicas_.find(node);
    if (found != replicas_.end() && copies.count(node) == 0) found->second->forget_copy(true);
  }
  round_->pending.clear();
  std::erase_if(round_->copied, [&](const auto& entry) { return copies.count(entry.first) == 0; });
  if (copies.empty()) return;
  const AverageLayout& layout = round_->copied.begin()->second->layout();
  const auto send = [this, number = go.round](ProcessId to, uint32_t source, uint8_t segment, uint64_t begin,
                                              Blob body) {
    send_(to, average_kind::piece, pack(AveragePiece{number, source, segment, begin}), std::move(body));
  };
  round_->mover = make_average_mover(self_, go, layout, std::move(copies), send);
  for (Early& early : std::exchange(early_, {})) {
    if (early.head.round == go.round) take(early.from, early.head, std::move(early.body));
  }
}

void AverageAgent::on_piece(ProcessId from, const AveragePiece& head, Blob body) {
  if (round_ && round_->number == head.round && round_->mover) return take(from, head, std::move(body));
  if (head.round > ended_) early_.push_back({from, head, std::move(body)});
}

void AverageAgent::take(ProcessId from, const AveragePiece& head, Blob body) {
  if (round_->done) return;
  if (!round_->mover->take(from, head, std::move(body)).ok()) finish({round_->number, false});
}

void AverageAgent::finish(const RoundDone& done) {
  round_->done = true;
  send_(kLead, average_kind::done, pack(done), {});
}

double AverageAgent::tick(double now) {
  if (!round_ || round_->done) return kForever;
  if (!round_->pending.empty()) report_copies();
  if (!round_->mover) return kForever;
  if (round_->mover->work()) return now;
  if (round_->mover->failed()) {
    finish({round_->number, false});
  } else if (round_->mover->done()) {
    finish({round_->number, true});
  }
  return kForever;
}

void AverageAgent::on_verdict(const RoundVerdict& verdict) {
  ended_ = std::max(ended_, verdict.round);
  std::erase_if(early_, [&](const Early& early) { return early.head.round <= ended_; });
  if (round_ && round_->number == verdict.round) {
    for (const NodeId node : round_->pending) {
      if (const auto found = replicas_.find(node); found != replicas_.end()) found->second->forget_copy(false);
    }
    for (const auto& [node, replica] : round_->copied) {
      if (verdict.outcome == RoundVerdict::Outcome::applied && round_->mover) {
        replica->apply(round_->mover->result(node), round_->full, round_->mover->bytes_sent());
      } else if (verdict.outcome == RoundVerdict::Outcome::broken) {
        replica->broken();
      } else {
        replica->forget_copy(false);
      }
    }
  }
  settle(verdict);
  if (round_ && round_->number == verdict.round) round_.reset();
}

/// Ends the waits of the nodes in a full round.
void AverageAgent::settle(const RoundVerdict& verdict) {
  const bool applied = verdict.outcome == RoundVerdict::Outcome::applied;
  const bool over = applied || verdict.outcome == RoundVerdict::Outcome::failed;
  if (!over || verdict.reason == RoundReason::interval) return;
  const bool abort = verdict.reason == RoundReason::abort;
  const Status outcome = applied ? Status() : Status(Error{Code::bad_argument, verdict.message});
  for (const auto& [node, replica] : replicas_) {
    const auto waiting = waiting_.find(node);
    if (waiting == waiting_.end() || waiting->second != (abort ? Report::Kind::abort : Report::Kind::sync)) continue;
    if (!abort && (!round_ || round_->nodes.count(node) == 0)) continue;  // it arrived too late for the round
    waiting_.erase(waiting);
    replica->settle(outcome);
  }
}

}  // namespace actorhost
