// The coordinator's part in links between two other processes: it forwards requests to dial, and drops one of two
// processes after their link has broken.

#include <algorithm>
#include <map>
#include <tuple>

#include "host/cluster/coordinator/coordinator.hpp"

namespace actorhost {

/// A process needs a link to process `tag`, which has to dial.
void Coordinator::on_want_link(ProcessId process, const Frame& frame) {
  const auto dialler = processes_.find(frame.tag);
  if (dialler == processes_.end() || !dialler->second.admitted) return;
  if (frame.tag == config_.self || frame.tag == process || dialler->second.awaited) return;
  output_.send(make_frame(cluster_kind::want_link, service_address(process), service_address(frame.tag), 0));
}

void Coordinator::on_link_broken(ProcessId process, const Frame& frame, double now) {
  const ProcessId other = frame.tag;
  const ProcessId self = config_.self;
  if (other == self || process == self || other == process || !processes_.contains(other)) return;
  log_.debug("cluster", "host " + std::to_string(process) + " has lost its link to host " + std::to_string(other));
  broken_.emplace(std::minmax(process, other), now);
}

/// Drops processes between which frames may have been lost. If one of the two is dying, the failure detector reports it
/// soon. Otherwise drops the process that more processes have lost; if the counts are equal, the process with the later
/// suspicion; without suspicions the later process.
void Coordinator::drop_unreachable(double now) {
  const auto due = [&](const auto& entry) { return now >= entry.second + config_.times.dead; };
  for (auto at = broken_.begin();
       !over_ && (at = std::find_if(broken_.begin(), broken_.end(), due)) != broken_.end();) {
    std::map<ProcessId, int> count;
    for (const auto& [pair, since] : broken_) {
      ++count[pair.first];
      ++count[pair.second];
    }
    const auto [low, high] = at->first;
    const auto faults = [&](ProcessId process) {
      return std::tuple(count[process], processes_.at(process).suspected_at, process);
    };
    const auto [victim, other] = faults(low) > faults(high) ? std::pair(low, high) : std::pair(high, low);
    lose(victim, "its link to " + processes_.at(other).info.host + " is broken", true);
  }
}

}  // namespace actorhost
