#pragma once
// The lease by which a coordinator and its followers know that no other side of a network partition continues. The
// coordinator sends lease renewals, and each process replies at once. A reply confirms that the process followed the
// coordinator when it received the renewal, so it follows no other coordinator until DetectorTimes::dead seconds after
// that renewal was sent. The coordinator holds the lease while the newest confirmations of a majority (quorum.hpp) are
// younger than kCoordinatorLease. Each renewal carries the remaining time of the lease. A process counts that time from
// the sending of its own reply that the renewal names, so a late renewal extends nothing.
//
// This assumes that the clocks of two processes differ in speed by a few per cent at most, and nothing about their
// readings. Passive; not thread-safe, except ProcessLease::until.

#include <atomic>
#include <deque>
#include <map>

#include "host/cluster/cluster_messages.hpp"
#include "host/cluster/quorum.hpp"

namespace actorhost {

/// Seconds after the end of a lease during which a closed port proves that its process belonged to the same majority
/// until it died. No other coordinator can have dropped the prover by then: dropping takes DetectorTimes::dead from the
/// last renewal on, which is longer than kCoordinatorLease and kProofHolds together.
inline constexpr double kProofHolds = 2;

/// Seconds without a majority after which a process ends, with Code::peer_lost. TCP retransmits within that time on a
/// connection that was cut for 20 s.
inline constexpr double kMinorityTimeout = 30;
/// Seconds without a majority after which the log names the missing workers: before any wait for them has lasted 10 s.
inline constexpr double kMajorityLogDelay = 7;

/// The times at which renewals were sent, by number.
class RenewalTimes {
 public:
  /// The number, from 1 on, of a renewal at `now`.
  uint64_t next(double now);
  /// When that renewal was sent; a negative time, before every other, if it was not sent or is forgotten.
  double sent(uint64_t number) const;

 private:
  static constexpr size_t kMaxTimes = 64;
  uint64_t newest_ = 0;
  std::deque<double> times_;  // of the newest renewals
};

class CoordinatorLease {
 public:
  uint64_t next_renewal(double now) { return renewals_.next(now); }
  /// The process has replied to that renewal, and has accepted the table of that epoch from this coordinator.
  void confirm(ProcessId process, uint64_t number, uint64_t epoch);
  /// The process no longer follows, as far as this coordinator knows.
  void forget(ProcessId process) { confirmed_.erase(process); }
  /// When the lease ends; kForever while process `self` alone is a majority.
  double until(const Quorum& quorum, ProcessId self) const;
  bool has_accepted(ProcessId process, uint64_t epoch) const;
  /// Whether the process has confirmed a renewal sent at `time` or later.
  bool since(ProcessId process, double time) const;

 private:
  struct Confirmed {
    double sent = -1;
    uint64_t epoch = 0;
  };
  RenewalTimes renewals_;
  std::map<ProcessId, Confirmed> confirmed_;
};

/// A process's part in the lease: until when it knows that it belongs to a majority. A member extends it by the
/// renewals of its coordinator, the coordinator by the confirmations of the others.
class ProcessLease {
 public:
  /// Thread-safe.
  double until() const noexcept { return until_.load(std::memory_order_acquire); }
  /// The latest end of a lease so far.
  double latest_end() const noexcept { return latest_end_; }
  /// The run outlives its coordinator from now on: so far all processes of the table are on one side.
  void begin(double now);
  /// Returns whether the process belongs to a majority again.
  bool set(double until, double now);

  // ---- a member and its coordinator ----

  /// A renewal of the coordinator. Returns as `set`.
  bool receive(const LeaseRenewal& renewal, double now);
  /// The reply to the newest renewal, or to a proposal.
  LeaseRenewal reply(double now);
  /// The coordinator's table of this epoch is accepted.
  void accept(uint64_t epoch);
  /// The next renewals and tables are another coordinator's.
  void follow_another() { received_ = accepted_ = 0; }
  /// Time of the coordinator's newest renewal.
  double received_at() const noexcept { return received_at_; }

 private:
  std::atomic<double> until_{0};
  double latest_end_ = 0;
  RenewalTimes replies_;
  uint64_t received_ = 0;  // number of the coordinator's newest renewal
  double received_at_ = 0;
  uint64_t accepted_ = 0;  // the epoch of the newest table from this coordinator
};

}  // namespace actorhost
