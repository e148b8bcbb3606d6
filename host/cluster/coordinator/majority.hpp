#pragma once
// Whether the coordinator of a run of peers may act: it commits a table once a majority has accepted it (quorum.hpp),
// and drops no process while it does not hold the lease of a majority (coordinator_lease.hpp). Lists the processes to
// prove dead, and ends the run after too long without a majority. Coordinator owns it. Passive; not thread-safe.
//
//   coordinator                                     process
//     lease_renewal   number, lease left    ->
//                                           <-    lease_renewal   confirms that number; its newest accepted epoch
//     proposal        the next table        ->    accepts it, and confirms by a lease_renewal at once
//     membership      the same table        ->    adopts it: it is committed

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/base/log.hpp"
#include "host/cluster/coordinator/process_roster.hpp"
#include "host/cluster/coordinator_lease.hpp"
#include "host/net/byte_stream.hpp"

namespace actorhost {

class Majority {
 public:
  Majority(ProcessId self, const ProcessRoster& processes, Log& log) : self_(self), processes_(processes), log_(log) {}

  /// The run outlives its coordinator from now on.
  void begin(Quorum quorum, double now);
  bool begun() const { return quorum_.newest() != nullptr; }
  /// True before `begin`: no majority decides then.
  bool in_charge(double now) const { return !begun() || now < leased_until_; }

  // ---- tables ----

  /// The table that no majority has accepted yet; null without one.
  const MembershipPtr& proposed() const noexcept { return proposed_; }
  void propose(MembershipPtr table) { proposed_ = std::move(table); }
  /// Returns the proposal if a majority has accepted it: it is committed now. Null otherwise.
  MembershipPtr commit();
  /// Adds the tables of a process that attaches.
  void merge(const std::vector<Membership>& tables) { quorum_.merge(tables); }

  // ---- the lease ----

  /// A renewal for each of these processes; the owner sets `src`.
  std::vector<Frame> renewals(const std::vector<ProcessId>& processes, double now);
  /// A process has replied to a renewal or to a proposal.
  void confirm(ProcessId process, const LeaseRenewal& reply, double now);
  /// The process no longer follows.
  void forget(ProcessId process) { lease_.forget(process); }
  /// Computes anew when the lease ends, after any change, and returns that time.
  double renew(double now);
  /// Whether all admitted processes have confirmed a renewal of this coordinator.
  bool all_confirmed() const;

  // ---- proofs of death ----

  /// Whether the owner has to begin a proof that the process is dead.
  bool prove(ProcessId process);
  /// The processes to prove dead: they have no link, still count in one of the tables, and have no proof yet.
  std::vector<ProcessInfo> unproved(double now);
  /// The result of a proof.
  void proved(ProcessId process, PortState port, double now);
  /// The run continues without this process.
  void drop(const ProcessInfo& info) {
    if (!quorum_.excludes(info.process)) peers_[info.process].dropped = info;
  }
  /// The dropped processes that may be alive and would take a closed port of this process for its death. They would
  /// continue a run that has ended, so the run must not end before.
  std::vector<ProcessInfo> may_misjudge_end(double now) const;
  /// Whether a majority is still possible: of processes with a link, or that may attach, or with a proof in progress.
  bool possible();

  /// To be called at each tick. `late` is `checked_late` of FailureDetector::check. Returns the error that ends the run
  /// after too long without a majority. `table` is for names.
  std::optional<Error> overdue(double now, double late, const Membership& table);
  /// "only 1 of 3 workers ... can be reached, which is no majority; missing: rank 1 (worker 1 on beta:77), ...".
  std::string text(double now, const Membership& table) const;

 private:
  struct Peer {
    uint64_t renewal = 0;                 // the number of its newest renewal
    double confirmed_at = 0;              // time of its newest reply
    bool proving = false;                 // its port is being probed
    PortState port = PortState::unknown;  // the result of the newest probe
    std::optional<ProcessInfo> dropped = {};
  };
  bool proofs_hold(double now) const;

  const ProcessId self_;
  const ProcessRoster& processes_;
  Log& log_;
  Quorum quorum_;
  CoordinatorLease lease_;
  double begun_ = 0;
  double leased_until_ = 0;
  // no other coordinator can have begun before this time plus DetectorTimes::dead
  double charge_end_ = 0;
  MembershipPtr proposed_;
  std::map<ProcessId, Peer> peers_;
  std::optional<double> missing_since_;  // when this coordinator lost its majority
  bool loss_logged_ = false;
};

}  // namespace actorhost
