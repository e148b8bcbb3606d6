#include "host/cluster/election.hpp"

#include <algorithm>
#include <utility>

namespace actorhost {

Election::Election(ElectionOutput& output, MemberLinks& links, PeerLinks& peers, const RunView& view,
                   const ProcessLease& lease, const DetectorTimes& times, Log& log)
    : output_(output),
      links_(links),
      peers_(peers),
      view_(view),
      lease_(lease),
      times_(times),
      log_(log),
      succession_(static_cast<SuccessionOutput&>(*this), times.dead) {}

void Election::adopt(MembershipPtr table, double now) {
  std::erase_if(dropped_, [now](const auto& entry) { return now >= entry.first + kCoordinatorLease + kProofHolds; });
  for (const ProcessInfo& info : table_->processes()) {
    if (table->process(info.process) == nullptr) dropped_.emplace_back(now, info);
  }
  quorum_.commit(table);
  table_ = std::move(table);
}

// ---- the lost coordinator ----

void Election::begin(ProcessId coordinator, LinkId link, const std::string& reason, bool closed, double now) {
  now_ = now;
  ++losses_;
  loss_ = {coordinator, link, reason, now};
  if (!closed) return begin_succession();
  give_up_lost();
  phase_ = Phase::proving;
  prove_until_ = lease_.received_at() + kCoordinatorLease;  // unless it is proved dead
  const ProcessInfo* info = table_->process(coordinator);
  loss_.proofs = {coordinator};
  prove(coordinator, info != nullptr ? info->url : "");
}

void Election::begin_succession() {
  phase_ = Phase::attaching;
  succession_.begin(view_.process(), table_, loss_.process, now_);
}

/// The lost coordinator will not return.
void Election::give_up_lost() {
  links_.cut_off(loss_.process);
  loss_.link = 0;
  loss_.late_frames.clear();
}

bool Election::on_link_down(LinkId link) {
  held_.erase(link);
  if (link != loss_.link) return false;
  give_up_lost();
  return true;
}

/// A silent coordinator sends again.
void Election::on_lost_frame(Frame&& frame, double now) {
  now_ = now;
  loss_.late_frames.push_back(std::move(frame));
  if (bound_ == kNoProcess) recover();
}

void Election::recover() {
  log_.info("cluster", "the coordinator sends again");
  phase_ = Phase::following;
  bound_ = kNoProcess;
  succession_.recovered();
  const LinkId link = std::exchange(loss_.link, 0);
  output_.recover(loss_.process, link, release_held(), std::exchange(loss_.late_frames, {}));
}

/// Drops the attach messages of the processes that wait for this process; returns their links.
std::vector<LinkId> Election::release_held() {
  std::vector<LinkId> links;
  for (const auto& [link, held] : std::exchange(held_, {})) links.push_back(link);
  return links;
}

// ---- attaching ----

AttachMessage Election::own_attach() const {
  AttachMessage attach = output_.own_state();
  attach.process = view_.process();
  attach.lost = loss_.process;
  attach.loss = losses_;
  attach.tables = quorum_.tables();
  return attach;
}

bool Election::attach_to(ProcessId process) {
  const auto link = peers_.links().find(process);
  if (link == peers_.links().end()) return peers_.reach(process);
  if (now_ - links_.last_received(process) >= times_.dead) return false;
  send_attach(link->second);
  return true;
}

void Election::send_attach(LinkId link) {
  bound_ = peers_.owner(link);
  Frame frame = message_frame(cluster_kind::attach, kNoAddress, 0, own_attach());
  frame.src = service_address(view_.process());
  links_.send_on(link, std::move(frame));
}

void Election::linked(ProcessId process, LinkId link) {
  if (succession_.candidate() == process) send_attach(link);
}

void Election::skip(ProcessId process, double now) {
  now_ = now;
  if (bound_ == process) bound_ = kNoProcess;
  if (succession_.candidate() == process && !loss_.late_frames.empty()) return recover();
  succession_.failed(process, now);
}

/// A candidate may have received the attach message after this process had skipped it. This process may still follow
/// it if it has followed no other coordinator since: the tables in the message are its newest.
void Election::on_attached(LinkId link, uint32_t loss) {
  const ProcessId process = peers_.owner(link);
  if (process == kNoProcess) return;
  if (phase_ == Phase::following || loss != losses_) {
    return links_.close_link(link, "this host already has another coordinator");
  }
  give_up_lost();
  succession_.found();
  phase_ = Phase::following;
  bound_ = kNoProcess;
  peers_.release(process);
  output_.follow(process, link, release_held());
}

// ---- a candidate ----

void Election::on_attach(LinkId link, AttachMessage&& attach, double now) {
  const ProcessId coordinator = view_.coordinator();
  if (coordinator != kNoProcess && coordinator != attach.lost) return links_.redirect(link);
  now_ = now;
  held_[link] = {std::move(attach), now};
  consider_taking_over();
}

void Election::become_candidate() {
  phase_ = Phase::candidate;
  candidate_since_ = now_;
  prove_absent();
  consider_taking_over();
}

/// The tables of this process and of the processes attached to it.
Quorum Election::quorum_of_all() const {
  Quorum quorum = quorum_;
  for (const auto& [link, held] : held_) quorum.merge(held.attach.tables);
  return quorum;
}

/// Takes over once the attached processes and this process are a majority. If the newest table lacks this process, the
/// process ends: an attached process has accepted the table, so the table may be committed.
void Election::consider_taking_over() {
  if (phase_ != Phase::candidate || view_.ended()) return;
  const Quorum quorum = quorum_of_all();
  if (quorum.newest()->process(view_.process()) == nullptr) {
    return output_.finish_as_lost(loss_.reason + "; the other hosts have dropped this one");
  }
  std::set<ProcessId> here = {view_.process()};
  for (const auto& [link, held] : held_) here.insert(held.attach.process);
  if (quorum.majority([&](ProcessId process) { return here.contains(process); })) return take_over(quorum);
  if (!majority_is_possible(here)) {
    output_.finish_as_lost(loss_.reason +
                           "; the other hosts continue without this one and have closed their links to it");
  }
}

/// Whether the processes that may still attach would make a majority with the attached ones. A live process with a
/// closed link cannot attach: the link is not made again.
bool Election::majority_is_possible(const std::set<ProcessId>& here) const {
  return quorum_.majority([&](ProcessId process) {
    const bool lost_coordinator = process == loss_.process && loss_.link == 0;
    const bool closed = lost_coordinator || peers_.broken_ones().contains(process);
    return here.contains(process) || !closed || proving_.contains(process) || !loss_.proofs.contains(process);
  });
}

void Election::take_over(const Quorum& quorum) {
  phase_ = Phase::following;
  give_up_lost();
  Takeover takeover{quorum, succession_.lost(), own_attach(), loss_.reason};
  takeover.dropped = recently_dropped(*quorum.newest());
  takeover.lost.insert(peers_.broken_ones().begin(),
                       peers_.broken_ones().end());  // died just before the coordinator, or cannot attach
  for (auto& [link, held] : std::exchange(held_, {})) {
    takeover.lost.erase(held.attach.process);
    takeover.attached.emplace(link, std::move(held.attach));
  }
  output_.take_over(std::move(takeover));
}

/// The processes that earlier coordinators have dropped. This process may not know the newest table yet.
std::vector<ProcessInfo> Election::recently_dropped(const Membership& newest) const {
  std::vector<ProcessInfo> out;
  for (const ProcessInfo& info : table_->processes()) {
    if (newest.process(info.process) == nullptr) out.push_back(info);
  }
  for (const auto& [at, info] : dropped_) {
    if (now_ < at + kCoordinatorLease + kProofHolds) out.push_back(info);
  }
  return out;
}

// ---- proofs ----

void Election::prove(ProcessId process, const std::string& url) {
  proving_.insert(process);
  links_.prove_dead(process, url);
}

/// Requests proofs that absent processes are dead, so that they do not count: at once for processes whose links have
/// closed, a moment later for processes without a link. A process that a proposed table has dropped still counts in the
/// committed table.
void Election::prove_absent() {
  const bool all = now_ - candidate_since_ > times_.heartbeat / 2;
  for (const ProcessInfo& info : quorum_of_all().processes()) {
    if (info.process == view_.process() || peers_.links().contains(info.process) || quorum_.excludes(info.process))
      continue;
    if (!all && !peers_.broken_ones().contains(info.process)) continue;
    if (loss_.proofs.insert(info.process).second) prove(info.process, info.url);
  }
}

void Election::on_proof(ProcessId process, PortState port, double now) {
  now_ = now;
  proving_.erase(process);
  const bool dead = port == PortState::closed;
  if (port == PortState::unknown) loss_.proofs.erase(process);  // the next tick requests it again
  if (dead && (now < lease_.latest_end() + kProofHolds || quorum_of_all().needs(view_.process())))
    quorum_.exclude(process);
  if (dead && process == loss_.process && phase_ == Phase::proving) return begin_succession();
  consider_taking_over();
}

// ---- time ----

void Election::tick(double now, double late) {
  now_ = now;
  std::erase_if(held_, [&](const auto& entry) {
    const bool needless = phase_ == Phase::following && now - entry.second.since > times_.suspect + times_.heartbeat;
    if (needless) links_.redirect(entry.first);
    return needless;
  });
  if (phase_ == Phase::following) return;
  if (phase_ == Phase::proving && now >= prove_until_) begin_succession();
  const ProcessId candidate = succession_.candidate();
  if (candidate != kNoProcess && candidate == bound_ && now - links_.last_received(candidate) < times_.suspect) {
    succession_.wait_longer(now);
  }
  succession_.tick(now);
  if (bound_ == candidate && succession_.candidate() != candidate) bound_ = kNoProcess;  // it was skipped
  if (bound_ == kNoProcess && !loss_.late_frames.empty()) return recover();
  if (phase_ == Phase::candidate) {
    prove_absent();
    consider_taking_over();
  }
  if (phase_ == Phase::following) return;
  loss_.since += late;
  check_minority();
}

/// Ends this process after a long time without a majority. Logs the missing workers before.
void Election::check_minority() {
  const std::string what = "no majority of the workers of this run of peers agrees on a coordinator after " +
                           view_.coordinator_name() + " (" + loss_.reason + "); missing: " + missing_workers();
  if (now_ - loss_.since > kMinorityTimeout) {
    output_.finish({Code::peer_lost, false,
                    what + "; the run may continue without this host, so it ends after " +
                        std::to_string(static_cast<int>(kMinorityTimeout)) + " s" +
                        " (start it again to join the run, if it is elastic)",
                    service_address(view_.process())});
  } else if (now_ - lease_.latest_end() > kMajorityLogDelay && !std::exchange(loss_.logged, true)) {
    log_.warn("cluster", what + "; waiting for them");
  }
}

/// The silent workers, and those of the lost coordinator.
std::string Election::missing_workers() const {
  std::string list;
  for (const Member& member : table_->workers()) {
    const bool heard = now_ - links_.last_received(member.process) < times_.suspect;
    if (member.process == view_.process() || (heard && member.process != loss_.process)) continue;
    list += (list.empty() ? "" : ", ") + table_->describe(worker_address(member.id));
  }
  return list;
}

}  // namespace actorhost
