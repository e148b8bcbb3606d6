#pragma once
// Decides from the times of the last heartbeats which processes are suspected and which have failed. A pure function of
// the times. It knows nothing of connections: its owner treats a closed connection as a failure at once.

#include <map>
#include <vector>

#include "host/wire/address.hpp"

namespace actorhost {

struct DetectorTimes {
  double heartbeat = 0.5;  // a process sends something at least this often
  double suspect = 1.25;   // silence after which a process is suspected
  // Silence after which a process has failed. A partition of 2.5 s must fail no process, and it causes a silence of up
  // to 3.7 s: the last heartbeat may arrive a tick before it, and TCP retransmits only after its back-off (0.2 s,
  // doubling).
  double dead = 4;
};

class FailureDetector {
 public:
  explicit FailureDetector(DetectorTimes times = {}) : times_(times) {}

  void watch(ProcessId process, double now) { peers_[process] = Peer{now, false}; }
  void forget(ProcessId process) { peers_.erase(process); }
  /// A heartbeat or other frame arrived at `when`; ignored if a later time is known.
  void record_heartbeat(ProcessId process, double when);
  bool suspected(ProcessId process) const;

  struct Verdict {
    std::vector<ProcessId> suspected, cleared, dead;  // changes since the last check, which drops the dead
  };
  /// `checked_late`: seconds by which this check is late because this process did not run. Silence in that time is no
  /// evidence against the others, so the check adds `checked_late` to the times of their last frames.
  Verdict check(double now, double checked_late = 0);

 private:
  struct Peer {
    double last_heartbeat = 0;
    bool suspected = false;
  };
  DetectorTimes times_;
  std::map<ProcessId, Peer> peers_;
};

/// Detects from the times of ticks that this process did not run for a while: it was stopped, or got no core.
class StallDetector {
 public:
  /// `period`: seconds between ticks.
  StallDetector(const DetectorTimes& times, double period)
      : least_(times.dead - times.heartbeat), dead_(times.dead), period_(period) {}

  void begin(double now) { last_tick_ = now; }
  double next_tick() const { return last_tick_ + period_; }
  /// Returns how many seconds late this tick is: `checked_late` of FailureDetector::check.
  double tick(double now);
  /// The seconds of the last stall, if others may have declared this process failed; else 0.
  double stall_seconds(double now) const;

 private:
  const double least_;  // seconds of a stall
  const double dead_;
  const double period_;
  double last_tick_ = 0;
  double stall_seconds_ = 0;  // of the last stall
  double stall_end_ = 0;
};

}  // namespace actorhost
