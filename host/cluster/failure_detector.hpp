#pragma once
// Decides from the time of the last sign of life which processes are suspected and which are dead. A pure function of
// the times handed in; it knows nothing of connections (a closed one is death at once and does not come here).

#include <map>
#include <vector>

#include "host/wire/address.hpp"

namespace actorhost {

struct DetectorTimes {
  double heartbeat = 0.5;  // a process says something at least this often
  double suspect = 1.25;   // silence that makes it suspected
  // Silence that makes it dead. A partition of 2.5 s has to be survived. It makes a silence of up to 3.7 s: the last
  // heartbeat may come a tick before it, and after it TCP sends again only when its back-off is over (0.2 s, doubling).
  double dead = 4;
};

class FailureDetector {
 public:
  explicit FailureDetector(DetectorTimes times = {}) : times_(times) {}

  void watch(ProcessId process, double now) { peers_[process] = Peer{now, false}; }
  void forget(ProcessId process) { peers_.erase(process); }
  /// A sign of life at `when`; older ones than known are ignored.
  void heard(ProcessId process, double when);
  bool suspected(ProcessId process) const;

  struct Verdict {
    std::vector<ProcessId> suspected, cleared, dead;  // changes since the last check; the dead are forgotten
  };
  /// `checked_late`: seconds by which this check comes late (we ourselves were not running); silence in that time says
  /// nothing about the others, so their signs of life are moved forward by it.
  Verdict check(double now, double checked_late = 0);

 private:
  struct Peer {
    double heard = 0;
    bool suspected = false;
  };
  DetectorTimes times_;
  std::map<ProcessId, Peer> peers_;
};

}  // namespace actorhost
