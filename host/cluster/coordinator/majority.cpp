#include "host/cluster/coordinator/majority.hpp"

#include <algorithm>
#include <utility>

#include "host/base/printable.hpp"

namespace actorhost {

void Majority::begin(Quorum quorum, double now) {
  quorum_ = std::move(quorum);
  begun_ = charge_end_ = now;
}

MembershipPtr Majority::commit() {
  const auto accepted = [this](ProcessId process) {
    return process == self_ || lease_.has_accepted(process, proposed_->epoch());
  };
  if (!proposed_ || !quorum_.majority(accepted)) return nullptr;
  quorum_.commit(proposed_);
  return std::exchange(proposed_, nullptr);
}

// ---- the lease ----

std::vector<Frame> Majority::renewals(const std::vector<ProcessId>& processes, double now) {
  const uint64_t number = lease_.next_renewal(now);
  const double left = std::clamp(leased_until_ - now, 0.0, kCoordinatorLease);
  std::vector<Frame> frames;
  for (const ProcessId process : processes) {
    frames.push_back(make_frame(cluster_kind::lease_renewal, kNoAddress, service_address(process), 0,
                                pack(LeaseRenewal{number, peers_[process].renewal, left, 0})));
  }
  return frames;
}

void Majority::confirm(ProcessId process, const LeaseRenewal& reply, double now) {
  Peer& peer = peers_[process];
  peer.renewal = std::max(peer.renewal, reply.number);
  peer.confirmed_at = now;
  lease_.confirm(process, reply.acknowledged, reply.epoch);
}

double Majority::renew(double now) {
  leased_until_ = lease_.until(quorum_, self_);
  charge_end_ = std::max(charge_end_, std::min(leased_until_, now + kCoordinatorLease));
  return leased_until_;
}

bool Majority::all_confirmed() const {
  return std::all_of(processes_.all().begin(), processes_.all().end(), [this](const auto& entry) {
    return entry.first == self_ || !entry.second.admitted || lease_.since(entry.first, 0);
  });
}

// ---- proofs of death ----

bool Majority::prove(ProcessId process) {
  Peer& peer = peers_[process];
  peer.port = PortState::unknown;
  return !std::exchange(peer.proving, true);
}

/// Whether the proof that a process is dead still shows that no other side has continued without this coordinator.
bool Majority::proofs_hold(double now) const { return now < charge_end_ + kProofHolds || quorum_.needs(self_); }

std::vector<ProcessInfo> Majority::unproved(double now) {
  if (!proofs_hold(now)) return {};
  std::vector<ProcessInfo> out = quorum_.processes();
  std::erase_if(out, [&](const ProcessInfo& info) {
    const auto* member = processes_.find(info.process);
    if (info.url.empty() || quorum_.excludes(info.process) || (member != nullptr && !member->closed)) return true;
    // A process may still be about to end just after it was dropped.
    return peers_[info.process].port != PortState::unknown && (member != nullptr || now >= charge_end_ + kProofHolds);
  });
  return out;
}

void Majority::proved(ProcessId process, PortState port, double now) {
  peers_[process].proving = false;
  peers_[process].port = port;
  if (port == PortState::closed && proofs_hold(now)) quorum_.exclude(process);
}

/// The lease of a dropped process ends at most kCoordinatorLease after its newest reply to a coordinator of the run.
std::vector<ProcessInfo> Majority::may_misjudge_end(double now) const {
  std::vector<ProcessInfo> out;
  for (const auto& [process, peer] : peers_) {
    const double lease_end = std::max(peer.confirmed_at, begun_) + kCoordinatorLease;
    if (peer.dropped && peer.port != PortState::closed && now < lease_end + kProofHolds) out.push_back(*peer.dropped);
  }
  return out;
}

/// A closed link is not made again.
bool Majority::possible() {
  return quorum_.majority([this](ProcessId process) {
    const auto* member = processes_.find(process);
    const bool may_attach = member != nullptr && (!member->closed || peers_[process].port == PortState::unknown);
    return may_attach || peers_[process].proving;
  });
}

std::optional<Error> Majority::overdue(double now, double late, const Membership& table) {
  if (in_charge(now)) {
    if (std::exchange(loss_logged_, false))
      log_.info("cluster", "a majority of the run's workers can be reached again");
    missing_since_.reset();
    return std::nullopt;
  }
  missing_since_ = missing_since_.value_or(now) + late;
  const double missing = now - *missing_since_;
  if (missing >= kMinorityTimeout) {
    return Error{Code::peer_lost,
                 text(now, table) + "; the run may continue without this side, so it ends here after " +
                     seconds_text(kMinorityTimeout) + " (start this host again to join the run, if it is elastic)"};
  }
  if (missing >= kMajorityLogDelay && !std::exchange(loss_logged_, true)) {
    log_.warn("cluster", text(now, table) + "; waiting for them");
  }
  return std::nullopt;
}

std::string Majority::text(double now, const Membership& table) const {
  const auto here = [&](ProcessId process) {
    return process == self_ || lease_.since(process, now - kCoordinatorLease);
  };
  const Quorum::Count count = quorum_.count(here);
  std::string absent;
  for (const Member& member : table.workers()) {
    if (!member.votes || here(member.process) || quorum_.excludes(member.process)) continue;
    absent += (absent.empty() ? "" : ", ") + table.describe(worker_address(member.id));
  }
  return "only " + std::to_string(count.present) + " of " + std::to_string(count.counted) +
         " workers of this run of peers can be reached, which is no majority; missing: " + absent;
}

}  // namespace actorhost
