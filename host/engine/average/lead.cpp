#include "host/engine/average/lead.hpp"

#include <algorithm>

#include "host/base/clock.hpp"

namespace actorhost {

namespace {

constexpr double kLongWait = 10;  // seconds until the log names the workers that a wait is for

}  // namespace

AverageLead::AverageLead(uint32_t session, Send send, WriteLog write_log)
    : session_(session), send_(std::move(send)), write_log_(std::move(write_log)) {}

Status AverageLead::on_frame(ProcessId from, Kind kind, std::string_view meta, double now) {
  if (kind == average_kind::report) {
    AH_LET(auto report, unpack<Report>(meta));
    on_report(from, report, now);
  } else if (kind == average_kind::ready) {
    AH_LET(auto ready, unpack<RoundReady>(meta));
    on_ready(ready);
  } else if (kind == average_kind::done) {
    AH_LET(auto done, unpack<RoundDone>(meta));
    on_done(from, done, now);
  }
  return {};
}

void AverageLead::enter(Worker& member, State state, double now) {
  member.state = state;
  member.since = now;
}

void AverageLead::on_report(ProcessId from, const Report& report, double now) {
  if (report.kind == Report::Kind::join) {
    // The report of a new worker may precede its membership news; the report of a failed worker may follow its news.
    // Ids only grow.
    if (!alive(report.node) && report.node <= newest_) return;
    options_ = report.options;
    take_table(report);
    Worker& member = members_[report.node];
    member = {from, State::training, report.fresh, report.warm};
    member.since = now;
    if (started_) send_(from, average_kind::started, {});
    return;
  }
  const auto found = members_.find(report.node);
  if (found == members_.end()) return;
  Worker& member = found->second;
  switch (report.kind) {
    case Report::Kind::join: return;
    case Report::Kind::graph: return take_table(report);
    case Report::Kind::sync: member.last = !report.warm; return enter(member, State::syncing, now);
    case Report::Kind::abort:
      member.rested = member.state == State::resting;
      return enter(member, State::aborting, now);
    case Report::Kind::resume: return enter(member, State::training, now);
    case Report::Kind::rest: return enter(member, State::resting, now);
    case Report::Kind::leave: break;
  }
  enter(member, State::left, now);
  if (round_ && round_->phase == Phase::copying) {
    round_->pending.erase(report.node);
    round_->copied.erase(report.node);
  }
}

void AverageLead::take_table(const Report& report) {
  if (!report.table.rounds.empty()) tables_[report.table.workers] = report.table;
}

void AverageLead::on_ready(const RoundReady& ready) {
  if (!round_ || round_->number != ready.round || round_->phase != Phase::copying) return;
  for (const RoundReady::Reply& reply : ready.replies) {
    if (round_->pending.erase(reply.node) == 0) continue;
    if (reply.copied) {
      round_->copied.insert(reply.node);
    } else if (!reply.message.empty()) {
      const auto rank = membership_->rank_of(reply.node);
      refusal_ = "rank " + std::to_string(rank.value_or(0)) + ": " + reply.message;
    }
  }
}

void AverageLead::on_done(ProcessId from, const RoundDone& done, double now) {
  if (!round_ || round_->number != done.round || round_->phase != Phase::moving) return;
  if (done.ok) {
    round_->busy.erase(from);
  } else {
    end(RoundVerdict::Outcome::broken, {}, now);
  }
}

void AverageLead::on_membership(const MembershipPtr& membership, double now) {
  membership_ = membership;
  for (const auto& worker : membership->workers()) newest_ = std::max(newest_, worker.id);
  for (auto it = members_.begin(); it != members_.end();) {
    if (alive(it->first) || it->first > newest_) {
      ++it;
      continue;
    }
    if (round_) {
      round_->pending.erase(it->first);
      round_->copied.erase(it->first);
      // The failed worker may have all of its data while other workers still wait for data from it.
      const bool needed = round_->participants.count(it->first) > 0 && !round_->busy.empty();
      if (needed) end(RoundVerdict::Outcome::broken, {}, now);
    }
    it = members_.erase(it);
  }
}

double AverageLead::tick(double now) {
  if (!membership_) return kForever;
  if (round_ && round_->phase == Phase::copying) check_copies(now);
  if (round_ && round_->phase == Phase::moving && round_->busy.empty()) {
    end(RoundVerdict::Outcome::applied, {}, now);
  }
  while (!round_ && try_begin_round(now)) {
  }
  const double wait = log_long_wait(now);
  if (!round_) {
    return started_ && !training_workers().empty() ? std::min(next_, wait) : wait;
  }
  return round_->reason == RoundReason::interval && round_->phase == Phase::copying ? round_->opened + options_.deadline
                                                                                    : kForever;
}

/// Whether every live worker has reached `start` or has left again.
bool AverageLead::all_have_joined() const {
  const auto& workers = membership_->workers();
  return std::all_of(workers.begin(), workers.end(), [&](const auto& w) { return members_.count(w.id) > 0; });
}

/// Begins a round if possible; otherwise returns false.
bool AverageLead::try_begin_round(double now) {
  if (!started_) {
    if (members_.empty() || !all_have_joined()) return false;
    started_ = true;
    long_wait_logged_ = false;
    next_ = now + options_.interval;
    std::set<ProcessId> processes;
    for (const auto& [node, member] : members_) processes.insert(member.process);
    send_to_all(processes, average_kind::started, {});
  }
  if (const auto nodes = warm_up_workers(); !nodes.empty()) return open(RoundReason::warm_up, nodes, now);
  const auto aborting = aborting_workers();
  const bool all_abort = std::all_of(members_.begin(), members_.end(), [](const auto& entry) {
    return entry.second.state == State::aborting || entry.second.state == State::left;
  });
  if (!aborting.empty() && all_abort && all_have_joined()) return open(RoundReason::abort, aborting, now);
  const auto nodes = training_workers();
  return now >= next_ && !nodes.empty() && open(RoundReason::interval, nodes, now);
}

std::vector<NodeId> AverageLead::aborting_workers() const {
  std::vector<NodeId> nodes;
  for (const auto& [node, member] : members_) {
    if (member.state == State::aborting) nodes.push_back(node);
  }
  return nodes;
}

/// The workers in a warm-up step; empty while other workers may still enter such a step.
std::vector<NodeId> AverageLead::warm_up_workers() const {
  std::vector<NodeId> nodes;
  if (!all_have_joined()) return nodes;
  for (const auto& [node, member] : members_) {
    const bool may_come = member.state == State::training || member.state == State::resting;
    if (may_come && member.warm) return {};
    if (member.state == State::syncing) nodes.push_back(node);
  }
  return nodes;
}

/// The workers that take part in rounds by interval. Workers in `abort` are included while they wait for the others.
std::vector<NodeId> AverageLead::training_workers() const {
  std::vector<NodeId> nodes;
  for (const auto& [node, member] : members_) {
    const bool takes_part = member.state == State::training || (member.state == State::aborting && !member.rested);
    if (takes_part && !member.warm) nodes.push_back(node);
  }
  return nodes;
}

bool AverageLead::open(RoundReason reason, const std::vector<NodeId>& nodes, double now) {
  refusal_.reset();
  Round round;
  round.number = ++rounds_;
  round.reason = reason;
  round.opened = now;
  round.nodes.insert(nodes.begin(), nodes.end());
  round.pending = round.nodes;
  for (const NodeId node : nodes) round.processes.insert(members_.at(node).process);
  round_ = std::move(round);
  next_ = now + options_.interval;
  if (reason != RoundReason::interval) long_wait_logged_ = false;  // the workers that waited for this round have it
  const bool agreed = reason == RoundReason::abort &&
                      std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) { return members_.at(node).rested; });
  // No worker has resumed since the last abort, so its result still holds.
  if (agreed) {
    end(RoundVerdict::Outcome::applied, {}, now);
  } else {
    send_to_all(round_->processes, average_kind::open,
                pack(RoundOpen{round_->number, reason != RoundReason::interval, nodes}));
  }
  return true;
}

void AverageLead::check_copies(double now) {
  Round& round = *round_;
  if (round.reason != RoundReason::interval && refusal_) return end(RoundVerdict::Outcome::failed, *refusal_, now);
  const bool late = round.reason == RoundReason::interval && now >= round.opened + options_.deadline;
  if (!round.pending.empty() && !late) return;
  if (round.copied.empty()) return end(RoundVerdict::Outcome::empty, {}, now);
  go();
}

void AverageLead::go() {
  Round& round = *round_;
  std::vector<NodeId> nodes(round.copied.begin(), round.copied.end());
  const bool all_fresh = std::all_of(nodes.begin(), nodes.end(), [&](NodeId n) { return members_.at(n).fresh; });
  round.adopts = !all_fresh || std::all_of(members_.begin(), members_.end(), [](const auto& entry) {
    return entry.second.fresh || entry.second.state == State::left;
  });
  RoundGo go;
  go.round = round.number;
  go.pattern = pattern(nodes);
  if (go.pattern == AveragePattern::graph) go.terms = mix(nodes);
  for (const NodeId node : nodes) {
    const Worker& member = members_.at(node);
    go.participants.push_back({node, member.process, !member.fresh || all_fresh});
    round.participants.insert(node);
    round.busy.insert(member.process);
  }
  round.phase = Phase::moving;
  send_to_all(round.processes, average_kind::go, pack(go));
}

AveragePattern AverageLead::pattern(const std::vector<NodeId>& nodes) const {
  const bool fresh = std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) { return members_.at(node).fresh; });
  const bool full = round_->reason != RoundReason::interval || fresh || !tables_.contains(round_->nodes.size());
  return full ? AveragePattern::all : options_.peers;
}

/// The weights of the next round of the graph for these participants.
std::vector<RoundGo::Term> AverageLead::mix(const std::vector<NodeId>& nodes) {
  const std::vector<NodeId> workers(round_->nodes.begin(), round_->nodes.end());  // as the graph numbers them
  std::map<NodeId, uint32_t> places;                                              // of the participants
  for (const NodeId node : nodes) places.emplace(node, static_cast<uint32_t>(places.size()));
  std::vector<RoundGo::Term> terms;
  std::vector<double> kept(nodes.size(), 1);
  const auto& rounds = tables_.at(workers.size()).rounds;
  for (const MixingTable::Share& share : rounds[mixed_ % rounds.size()].shares) {
    const auto from = places.find(workers[share.from]);
    const auto to = places.find(workers[share.to]);
    if (from == places.end() || to == places.end()) continue;
    terms.push_back({to->second, from->second, share.share});
    kept[from->second] -= share.share;
  }
  for (uint32_t i = 0; i < nodes.size(); ++i) terms.push_back({i, i, std::max(kept[i], 0.0)});
  const auto weight_of = [&](uint32_t place) {
    const auto found = weights_.find(nodes[place]);
    return found == weights_.end() ? 1 : found->second;
  };
  std::vector<double> sums(nodes.size(), 0);
  for (RoundGo::Term& term : terms) sums[term.target] += term.weight *= weight_of(term.source);
  for (RoundGo::Term& term : terms) term.weight /= sums[term.target];
  for (uint32_t i = 0; i < nodes.size(); ++i) round_->weights[nodes[i]] = sums[i];
  return terms;
}

void AverageLead::end(RoundVerdict::Outcome outcome, const std::string& message, double now) {
  const Round round = *std::exchange(round_, std::nullopt);
  const bool applied = outcome == RoundVerdict::Outcome::applied;
  if (applied && !round.weights.empty()) {
    ++mixed_;
    for (const auto& [node, weight] : round.weights) weights_[node] = weight;
  } else if (applied) {
    weights_.clear();
  }
  send_to_all(round.processes, average_kind::verdict, pack(RoundVerdict{round.number, outcome, round.reason, message}));
  for (auto& [node, member] : members_) {
    if (applied && round.adopts && round.participants.count(node) > 0) member.fresh = false;
    const bool over = applied || outcome == RoundVerdict::Outcome::failed;
    if (!over || member.state == State::left) continue;
    if (round.reason == RoundReason::abort && member.state == State::aborting) enter(member, State::resting, now);
    if (round.reason == RoundReason::warm_up && member.state == State::syncing && round.nodes.count(node) > 0) {
      member.warm = !member.last;
      enter(member, State::training, now);
    }
  }
}

void AverageLead::send_to_all(const std::set<ProcessId>& processes, Kind kind, const std::string& meta) {
  for (const ProcessId process : processes) send_(process, kind, meta);
}

/// Whether workers in state `waits` also wait for that worker.
bool AverageLead::is_awaited(State waits, NodeId node) const {
  const auto found = members_.find(node);
  if (found == members_.end()) return true;
  const Worker& member = found->second;
  if (waits == State::training || member.state == waits || member.state == State::left) return false;
  return waits == State::aborting || member.warm;
}

/// Logs long waits: `start`, warm-up steps and `abort` wait for workers as long as these live. Returns the time of the
/// next check.
double AverageLead::log_long_wait(double now) {
  if (long_wait_logged_) return kForever;
  const State waits = !started_ ? State::training : aborting_workers().empty() ? State::syncing : State::aborting;
  double since = kForever;
  for (const auto& [node, member] : members_) {
    if (member.state == waits) since = std::min(since, member.since);
  }
  std::string missing;
  for (const auto& worker : membership_->workers()) {
    if (!is_awaited(waits, worker.id)) continue;
    missing += (missing.empty() ? "rank " : ", rank ") + std::to_string(membership_->rank_of(worker.id).value_or(0));
  }
  if (since == kForever || missing.empty()) return kForever;
  if (now < since + kLongWait) return since + kLongWait;
  long_wait_logged_ = true;
  const char* call = waits == State::aborting ? "abort" : waits == State::syncing ? "step, in the warm-up" : "start";
  write_log_(std::string("average.") + call + ": waiting for over 10 s for " + missing);
  return kForever;
}

/// Whether all participants have left.
bool AverageLead::over() const {
  return started_ && !round_ && std::all_of(members_.begin(), members_.end(), [](const auto& entry) {
           return entry.second.state == State::left;
         });
}

}  // namespace actorhost
