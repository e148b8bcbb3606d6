#include "host/cluster/failure_detector.hpp"

#include <algorithm>

namespace actorhost {

void FailureDetector::record_heartbeat(ProcessId process, double when) {
  if (const auto peer = peers_.find(process); peer != peers_.end()) {
    peer->second.last_heartbeat = std::max(peer->second.last_heartbeat, when);
  }
}

bool FailureDetector::suspected(ProcessId process) const {
  const auto peer = peers_.find(process);
  return peer != peers_.end() && peer->second.suspected;
}

FailureDetector::Verdict FailureDetector::check(double now, double checked_late) {
  Verdict verdict;
  for (auto at = peers_.begin(); at != peers_.end();) {
    Peer& peer = at->second;
    peer.last_heartbeat = std::min(now, peer.last_heartbeat + checked_late);
    const double silence = now - peer.last_heartbeat;
    if (silence >= times_.dead) {
      verdict.dead.push_back(at->first);
      at = peers_.erase(at);
      continue;
    }
    const bool suspect = silence >= times_.suspect;
    if (suspect != peer.suspected) {
      (suspect ? verdict.suspected : verdict.cleared).push_back(at->first);
      peer.suspected = suspect;
    }
    ++at;
  }
  return verdict;
}

double StallDetector::tick(double now) {
  const double passed = now - last_tick_;
  last_tick_ = now;
  if (passed >= least_) {
    stall_seconds_ = passed;
    stall_end_ = now;
  }
  return std::max(0.0, passed - 2 * period_);
}

double StallDetector::stall_seconds(double now) const {
  const double since_tick = now - last_tick_;  // the tick after the stall may be pending
  if (since_tick >= least_) return since_tick;
  return now - stall_end_ < dead_ ? stall_seconds_ : 0;
}

}  // namespace actorhost
