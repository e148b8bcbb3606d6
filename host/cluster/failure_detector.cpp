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

}  // namespace actorhost
