// The majority decisions of a coordinator in a run of peers (quorum.hpp). It commits a table once a majority has
// accepted it, and drops no process while it does not hold the lease of a majority (coordinator_lease.hpp).
//
//   coordinator                                     process
//     lease_renewal   number, lease left    ->
//                                           <-    lease_renewal   confirms that number; its newest accepted epoch
//     proposal        the next table        ->    accepts it, and confirms by a lease_renewal at once
//     membership      the same table        ->    adopts it: it is committed

#include <algorithm>

#include "host/base/printable.hpp"
#include "host/cluster/coordinator/coordinator.hpp"

namespace actorhost {

/// A worker has become a peer: notifies all processes, which must know it before this coordinator can fail.
void Coordinator::on_outlive() {
  if (std::exchange(outlives_, true)) return;
  quorum_.commit(membership_);
  charge_end_ = now_;
  for (const auto& [id, process] : processes_) {
    if (id != config_.self) output_.send(make_frame(cluster_kind::outlive, here_, service_address(id), 0));
  }
  renew_lease();
  send_renewals();
}

/// A worker has become a peer, or has left the peers; the next table records it.
void Coordinator::on_participation(const Frame& frame) {
  const auto worker = workers_.find(frame.src);
  if (worker != workers_.end()) worker->second.left = frame.tag == 0;
}

// ---- tables ----

void Coordinator::propose() {
  propose_again_ = proposed_ != nullptr;
  if (propose_again_) return;
  proposed_ = next_table();
  least_epoch_ = proposed_->epoch() + 1;
  for (const auto& [id, process] : processes_) {
    if (id != config_.self && process.admitted && !process.awaited) send_proposal(id);
  }
  commit_if_accepted();
}

void Coordinator::send_proposal(ProcessId process) {
  output_.send(
      make_frame(cluster_kind::proposal, here_, service_address(process), 0, {}, Blob::copy_of(pack(*proposed_))));
}

void Coordinator::commit_if_accepted() {
  const auto accepted = [this](ProcessId process) {
    return process == config_.self || lease_.has_accepted(process, proposed_->epoch());
  };
  if (!proposed_ || !quorum_.majority(accepted)) return;
  quorum_.commit(proposed_);
  announce(std::exchange(proposed_, nullptr));
  if (std::exchange(propose_again_, false)) propose();
}

// ---- the lease ----

void Coordinator::send_renewal(ProcessId process, uint64_t number) {
  const double left = std::clamp(leased_until_ - now_, 0.0, kCoordinatorLease);
  output_.send(make_frame(cluster_kind::lease_renewal, here_, service_address(process), 0,
                          pack(LeaseRenewal{number, renewals_[process], left, 0})));
}

void Coordinator::send_renewals() {
  const uint64_t number = lease_.next_renewal(now_);
  for (const auto& [id, process] : processes_) {
    if (id != config_.self && process.admitted && !process.awaited) send_renewal(id, number);
  }
}

void Coordinator::on_renewal(ProcessId process, const Frame& frame) {
  const auto renewal = read_message<LeaseRenewal>(frame);
  if (!renewal) return malformed(process, frame, renewal.error().message);
  renewals_[process] = std::max(renewals_[process], renewal->number);
  const bool before = in_charge();
  lease_.confirm(process, renewal->acknowledged, renewal->epoch);
  commit_if_accepted();
  renew_lease();
  if (before || !in_charge()) return;
  send_renewals();
  for (const auto& [id, other] : processes_) {
    if (id != config_.self) detector_.watch(id, now_);  // links may recover one after the other
  }
  lose_closed();
}

void Coordinator::renew_lease() {
  if (!outlives_) return;
  leased_until_ = lease_.until(quorum_, config_.self);
  charge_end_ = std::max(charge_end_, std::min(leased_until_, now_ + kCoordinatorLease));
  output_.leased(leased_until_);
}

void Coordinator::on_link_down(LinkId link, const std::string& reason, double now, bool stalled) {
  const auto at = std::find_if(processes_.begin(), processes_.end(), [&](const auto& entry) {
    return entry.first != config_.self && entry.second.link == link;
  });
  if (at == processes_.end()) return;
  const ProcessId process = at->first;
  given_up_ = given_up_ || (stalled && at->second.admitted);
  now_ = now;
  lease_.forget(process);
  renew_lease();
  // also if a majority remains: others of it may die before they have accepted a table without the process
  if (outlives_) prove(process, at->second.info.url);
  if (in_charge()) return lose(process, reason, false);
  at->second.link = kNoLink;
  closed_[process] = reason;
}

PortState Coordinator::port_of(ProcessId process) const {
  const auto at = ports_.find(process);
  return at == ports_.end() ? PortState::unknown : at->second;
}

void Coordinator::prove(ProcessId process, const std::string& url) {
  ports_.erase(process);
  if (proving_.insert(process).second) output_.prove_dead(process, url);
}

/// Whether the proof that a process is dead still shows that no other side has continued without this coordinator.
bool Coordinator::proofs_hold() const { return now_ < charge_end_ + kProofHolds || quorum_.needs(config_.self); }

/// Requests proofs for processes without a link that still count in one of the tables.
void Coordinator::prove_absent() {
  if (!proofs_hold()) return;
  for (const ProcessInfo& info : quorum_.processes()) {
    const ProcessId process = info.process;
    const bool member = processes_.contains(process);
    if (info.url.empty() || quorum_.excludes(process) || (member && !closed_.contains(process))) continue;
    // A process may still be about to end just after it was dropped.
    const bool known = port_of(process) != PortState::unknown && (member || now_ >= charge_end_ + kProofHolds);
    if (!known) prove(process, info.url);
  }
}

/// The proof for a process without a link.
void Coordinator::on_proof(ProcessId process, PortState port, double now) {
  now_ = now;
  proving_.erase(process);
  if (over_) return;
  if (port == PortState::closed && proofs_hold()) quorum_.exclude(process);
  commit_if_accepted();
  ports_[process] = port;
  renew_lease();
  if (in_charge()) return lose_closed();
  prove_absent();
  // A closed link is not made again.
  const auto may_come = [this](ProcessId other) {
    const bool may_attach = !closed_.contains(other) || port_of(other) == PortState::unknown;
    return (processes_.contains(other) && may_attach) || proving_.contains(other);
  };
  if (!quorum_.majority(may_come)) {
    stop({Code::peer_lost, false, majority_text() + "; these have closed their links to this host"});
  }
}

void Coordinator::lose_closed() {
  for (const auto& [process, reason] : std::exchange(closed_, {})) lose(process, reason, false);
}

void Coordinator::tick_quorum(double late) {
  renew_lease();
  send_renewals();
  const MembershipPtr& newest = proposed_ ? proposed_ : membership_;
  const bool changed = std::any_of(newest->workers().begin(), newest->workers().end(), [this](const Member& member) {
    const auto worker = workers_.find(member.id);
    return worker != workers_.end() && member.votes == (worker->second.ended || worker->second.left);
  });
  if (changed) publish();
  if (in_charge()) {
    lose_closed();
    if (majority_loss_logged_) log_.info("cluster", "a majority of the run's workers can be reached again");
    without_majority_.reset();
    majority_loss_logged_ = false;
    return;
  }
  prove_absent();
  if (!without_majority_) without_majority_ = now_;
  *without_majority_ += late;
  if (now_ - *without_majority_ >= kMinorityTimeout) {
    return stop({Code::peer_lost, false,
                 majority_text() + "; the run may continue without this side, so it ends here after " +
                     seconds_text(kMinorityTimeout) + " (start this host again to join the run, if it is elastic)"});
  }
  if (now_ - *without_majority_ < kMajorityLogDelay || std::exchange(majority_loss_logged_, true)) return;
  log_.warn("cluster", majority_text() + "; waiting for them");
}

/// "only 1 of 3 workers ... can be reached, which is no majority; missing: rank 1 (worker 1 on beta:77), ...".
std::string Coordinator::majority_text() const {
  const auto here = [&](ProcessId process) {
    return process == config_.self || lease_.since(process, now_ - kCoordinatorLease);
  };
  const Quorum::Count count = quorum_.count(here);
  std::string absent;
  for (const Member& member : membership_->workers()) {
    if (!member.votes || here(member.process) || quorum_.excludes(member.process)) continue;
    absent += (absent.empty() ? "" : ", ") + membership_->describe(worker_address(member.id));
  }
  return "only " + std::to_string(count.present) + " of " + std::to_string(count.counted) +
         " workers of this run of peers can be reached, which is no majority; missing: " + absent;
}

}  // namespace actorhost
