#pragma once
// The lease by which a coordinator, and each process that follows it, knows that no other side of a cut network goes
// on. The coordinator sends beats; each process answers a beat at once. An answer confirms that the process still
// followed the coordinator when it got the beat, so it follows no other one for DetectorTimes::dead seconds from the
// sending of that beat on. While answers of a majority (quorum.hpp) are younger than kCoordinatorLease, the coordinator
// holds the lease. Each beat tells how long the lease still lasts; a process counts that time from the sending of its
// own answer that the beat names, so a late beat extends nothing.
//
// This assumes that the clocks of two processes do not differ in speed by more than a few per cent, and nothing of
// their readings. Passive. One thread at a time.

#include <deque>
#include <map>
#include <utility>

#include "host/cluster/quorum.hpp"

namespace actorhost {

/// Seconds after the end of a lease for which a closed port proves that its process was in the same majority until it
/// died. No other coordinator can have dropped the prover by then: that takes DetectorTimes::dead from the last beat
/// on, which is longer than kCoordinatorLease and kProofHolds together.
inline constexpr double kProofHolds = 2;

/// Seconds without a majority after which a process ends, with Code::peer_lost. A TCP connection that was cut for 20 s
/// sends again within that time.
inline constexpr double kMinorityPatience = 30;
/// Seconds without a majority after which the log names the missing workers: before any wait for them has lasted 10 s.
inline constexpr double kMajorityTold = 7;

/// When beats were sent, by their numbers.
class BeatTimes {
 public:
  /// The number of a beat that is sent now, from 1 on.
  uint64_t next(double now);
  /// When that beat was sent; a negative time, before every other, for one that was not or is forgotten.
  double sent(uint64_t number) const;

 private:
  static constexpr size_t kKept = 64;
  uint64_t newest_ = 0;
  std::deque<double> times_;  // of the newest ones
};

class CoordinatorLease {
 public:
  uint64_t beat(double now) { return beats_.next(now); }
  /// The process has answered that beat, and has accepted the table of that epoch from this coordinator.
  void confirm(ProcessId process, uint64_t number, uint64_t epoch);
  /// The process follows no longer, as far as this coordinator knows.
  void forget(ProcessId process) { confirmed_.erase(process); }
  /// Until when the lease lasts; kForever while process `self` is a majority alone.
  double until(const Quorum& quorum, ProcessId self) const;
  bool has_accepted(ProcessId process, uint64_t epoch) const;
  /// Whether the process has confirmed a beat that was sent at `time` or later.
  bool since(ProcessId process, double time) const;

 private:
  struct Confirmed {
    double sent = -1;
    uint64_t epoch = 0;
  };
  BeatTimes beats_;
  std::map<ProcessId, Confirmed> confirmed_;
};

}  // namespace actorhost
