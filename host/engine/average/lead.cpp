#include "host/engine/average/lead.hpp"

#include <algorithm>

#include "host/base/clock.hpp"
#include "host/base/random.hpp"

namespace actorhost {

namespace {

constexpr double kLongWait = 10;  // seconds until the log names the workers that a wait is for

}  // namespace

AverageLead::AverageLead(uint32_t session, Send send, Say say)
    : session_(session), send_(std::move(send)), say_(std::move(say)) {}

Status AverageLead::on_frame(ProcessId from, Kind kind, std::string_view meta, double now) {
  if (kind == average_kind::report) {
    auto report = unpack<Report>(meta);
    if (!report) return report.error();
    on_report(from, *report, now);
  } else if (kind == average_kind::ready) {
    auto ready = unpack<RoundReady>(meta);
    if (!ready) return ready.error();
    on_ready(*ready);
  } else if (kind == average_kind::done) {
    auto done = unpack<RoundDone>(meta);
    if (!done) return done.error();
    on_done(from, *done, now);
  }
  return {};
}

void AverageLead::enter(Worker& member, State state, double now) {
  member.state = state;
  member.since = now;
}

void AverageLead::on_report(ProcessId from, const Report& report, double now) {
  if (report.what == Report::What::join) {
    // The report of a new worker may precede its membership news; the report of a failed worker may follow its news.
    // Ids only grow.
    if (!alive(report.node) && report.node <= newest_) return;
    options_ = report.options;
    Worker& member = members_[report.node];
    member = {from, State::training, report.fresh, report.warm};
    member.since = now;
    if (started_) send_(from, average_kind::started, {});
    return;
  }
  const auto found = members_.find(report.node);
  if (found == members_.end()) return;
  Worker& member = found->second;
  switch (report.what) {
    case Report::What::join: return;
    case Report::What::sync: member.last = !report.warm; return enter(member, State::syncing, now);
    case Report::What::abort:
      member.rested = member.state == State::resting;
      return enter(member, State::aborting, now);
    case Report::What::resume: return enter(member, State::training, now);
    case Report::What::rest: return enter(member, State::resting, now);
    case Report::What::leave: break;
  }
  enter(member, State::left, now);
  if (round_ && round_->phase == Phase::copying) {
    round_->pending.erase(report.node);
    round_->copied.erase(report.node);
  }
}

void AverageLead::on_ready(const RoundReady& ready) {
  if (!round_ || round_->number != ready.round || round_->phase != Phase::copying) return;
  for (const RoundReady::Answer& answer : ready.answers) {
    if (round_->pending.erase(answer.node) == 0) continue;
    if (answer.copied) {
      round_->copied.insert(answer.node);
    } else if (!answer.message.empty()) {
      const auto rank = membership_->rank_of(answer.node);
      refusal_ = "rank " + std::to_string(rank.value_or(0)) + ": " + answer.message;
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
  if (round_ && round_->phase == Phase::copying) look_if_copied(now);
  if (round_ && round_->phase == Phase::moving && round_->busy.empty()) {
    end(RoundVerdict::Outcome::applied, {}, now);
  }
  while (!round_ && consider(now)) {
  }
  const double wait = complain(now);
  if (!round_) {
    return started_ && !who_trains().empty() ? std::min(next_, wait) : wait;
  }
  return round_->why == RoundWhy::interval && round_->phase == Phase::copying ? round_->opened + options_.deadline
                                                                              : kForever;
}

/// Whether every live worker has reached `start` or has left again.
bool AverageLead::all_have_joined() const {
  const auto& workers = membership_->workers();
  return std::all_of(workers.begin(), workers.end(), [&](const auto& w) { return members_.count(w.id) > 0; });
}

/// Begins a round if possible; otherwise returns false.
bool AverageLead::consider(double now) {
  if (!started_) {
    if (members_.empty() || !all_have_joined()) return false;
    started_ = true;
    complained_ = false;
    next_ = now + options_.interval;
    std::set<ProcessId> processes;
    for (const auto& [node, member] : members_) processes.insert(member.process);
    tell(processes, average_kind::started, {});
  }
  if (const auto nodes = who_syncs(); !nodes.empty()) return open(RoundWhy::warm_up, nodes, now);
  const auto aborting = who_aborts();
  const bool all_abort = std::all_of(members_.begin(), members_.end(), [](const auto& entry) {
    return entry.second.state == State::aborting || entry.second.state == State::left;
  });
  if (!aborting.empty() && all_abort && all_have_joined()) return open(RoundWhy::abort, aborting, now);
  const auto nodes = who_trains();
  return now >= next_ && !nodes.empty() && open(RoundWhy::interval, nodes, now);
}

std::vector<NodeId> AverageLead::who_aborts() const {
  std::vector<NodeId> nodes;
  for (const auto& [node, member] : members_) {
    if (member.state == State::aborting) nodes.push_back(node);
  }
  return nodes;
}

/// The workers in a warm-up step; empty while other workers may still enter such a step.
std::vector<NodeId> AverageLead::who_syncs() const {
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
std::vector<NodeId> AverageLead::who_trains() const {
  std::vector<NodeId> nodes;
  for (const auto& [node, member] : members_) {
    const bool takes_part = member.state == State::training || (member.state == State::aborting && !member.rested);
    if (takes_part && !member.warm) nodes.push_back(node);
  }
  return nodes;
}

bool AverageLead::open(RoundWhy why, const std::vector<NodeId>& nodes, double now) {
  refusal_.reset();
  Round round;
  round.number = ++rounds_;
  round.why = why;
  round.opened = now;
  round.nodes.insert(nodes.begin(), nodes.end());
  round.pending = round.nodes;
  for (const NodeId node : nodes) round.processes.insert(members_.at(node).process);
  round_ = std::move(round);
  next_ = now + options_.interval;
  if (why != RoundWhy::interval) complained_ = false;  // the workers that waited for this round have it
  const bool agreed = why == RoundWhy::abort &&
                      std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) { return members_.at(node).rested; });
  // No worker has resumed since the last abort, so its result still holds.
  if (agreed) {
    end(RoundVerdict::Outcome::applied, {}, now);
  } else {
    tell(round_->processes, average_kind::open, pack(RoundOpen{round_->number, why != RoundWhy::interval, nodes}));
  }
  return true;
}

void AverageLead::look_if_copied(double now) {
  Round& round = *round_;
  if (round.why != RoundWhy::interval && refusal_) return end(RoundVerdict::Outcome::failed, *refusal_, now);
  const bool late = round.why == RoundWhy::interval && now >= round.opened + options_.deadline;
  if (!round.pending.empty() && !late) return;
  if (round.copied.empty()) return end(RoundVerdict::Outcome::empty, {}, now);
  go();
}

void AverageLead::go() {
  Round& round = *round_;
  std::vector<NodeId> nodes(round.copied.begin(), round.copied.end());
  const bool all_fresh = std::all_of(nodes.begin(), nodes.end(), [&](NodeId n) { return members_.at(n).fresh; });
  RoundGo go;
  go.round = round.number;
  go.pattern = order(nodes);
  for (const NodeId node : nodes) {
    const Worker& member = members_.at(node);
    go.participants.push_back({node, member.process, !member.fresh || all_fresh});
    round.participants.insert(node);
    round.busy.insert(member.process);
  }
  // With pattern `all`, processes send filtered differences from the last mean if all participants have that mean.
  // Neighbours and pairs send filtered models.
  const bool apart = go.pattern != AveragePattern::all;
  const bool same_mean = options_.peers == AveragePattern::all && go.participants == last_;
  go.coded = options_.filtered && round.why == RoundWhy::interval && (apart || same_mean);
  last_ = go.participants;
  round.phase = Phase::moving;
  tell(round.processes, average_kind::go, pack(go));
}

/// Orders the participants so that the returned pattern defines each worker's partners.
AveragePattern AverageLead::order(std::vector<NodeId>& nodes) const {
  const bool fresh = std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) { return members_.at(node).fresh; });
  if (round_->why != RoundWhy::interval || fresh) return AveragePattern::all;
  if (options_.peers == AveragePattern::pairs) {
    StepRng rng(options_.seed, session_, round_->number);
    for (size_t i = nodes.size(); i > 1; --i) std::swap(nodes[i - 1], nodes[rng.below(i)]);
  }
  return options_.peers;
}

void AverageLead::end(RoundVerdict::Outcome outcome, const std::string& message, double now) {
  const Round round = *std::exchange(round_, std::nullopt);
  const bool applied = outcome == RoundVerdict::Outcome::applied;
  if ((!applied && round.phase == Phase::moving) || round.why == RoundWhy::abort) last_.clear();
  tell(round.processes, average_kind::verdict, pack(RoundVerdict{round.number, outcome, round.why, message}));
  for (auto& [node, member] : members_) {
    if (applied && round.participants.count(node) > 0) member.fresh = false;
    const bool over = applied || outcome == RoundVerdict::Outcome::failed;
    if (!over || member.state == State::left) continue;
    if (round.why == RoundWhy::abort && member.state == State::aborting) enter(member, State::resting, now);
    if (round.why == RoundWhy::warm_up && member.state == State::syncing && round.nodes.count(node) > 0) {
      member.warm = !member.last;
      enter(member, State::training, now);
    }
  }
}

void AverageLead::tell(const std::set<ProcessId>& processes, Kind kind, const std::string& meta) {
  for (const ProcessId process : processes) send_(process, kind, meta);
}

/// Whether workers in state `waits` also wait for that worker.
bool AverageLead::is_missed(State waits, NodeId node) const {
  const auto found = members_.find(node);
  if (found == members_.end()) return true;
  const Worker& member = found->second;
  if (waits == State::training || member.state == waits || member.state == State::left) return false;
  return waits == State::aborting || member.warm;
}

/// Logs long waits: `start`, warm-up steps and `abort` wait for workers as long as these live. Returns the time of the
/// next check.
double AverageLead::complain(double now) {
  if (complained_) return kForever;
  const State waits = !started_ ? State::training : who_aborts().empty() ? State::syncing : State::aborting;
  double since = kForever;
  for (const auto& [node, member] : members_) {
    if (member.state == waits) since = std::min(since, member.since);
  }
  std::string who;
  for (const auto& worker : membership_->workers()) {
    if (!is_missed(waits, worker.id)) continue;
    who += (who.empty() ? "rank " : ", rank ") + std::to_string(membership_->rank_of(worker.id).value_or(0));
  }
  if (since == kForever || who.empty()) return kForever;
  if (now < since + kLongWait) return since + kLongWait;
  complained_ = true;
  const char* what = waits == State::aborting ? "abort" : waits == State::syncing ? "step, in the warm-up" : "start";
  say_(std::string("average.") + what + ": waiting for over 10 s for " + who);
  return kForever;
}

/// Whether all participants have left.
bool AverageLead::over() const {
  return started_ && !round_ && std::all_of(members_.begin(), members_.end(), [](const auto& entry) {
           return entry.second.state == State::left;
         });
}

}  // namespace actorhost
