// What the head does about links between two others: it passes on who wants to be dialled, and drops one of two between
// which a link has broken.

#include <algorithm>
#include <map>
#include <tuple>

#include "host/cluster/head.hpp"

namespace actorhost {

/// A process needs a link to process `tag`, and it is the latter that has to dial.
void Head::on_want_link(ProcessId process, const Frame& frame) {
  const auto dialler = processes_.find(frame.tag);
  if (dialler == processes_.end() || !dialler->second.admitted) return;
  if (frame.tag == config_.self || frame.tag == process || dialler->second.awaited) return;
  output_.send(make_frame(cluster_kind::want_link, service_address(process), service_address(frame.tag), 0));
}

void Head::on_link_broken(ProcessId process, const Frame& frame, double now) {
  const ProcessId other = frame.tag;
  const ProcessId self = config_.self;
  if (other == self || process == self || other == process || !processes_.contains(other)) return;
  log_.debug("cluster", "host " + std::to_string(process) + " has lost its link to host " + std::to_string(other));
  broken_.emplace(std::minmax(process, other), now);
}

/// Drops processes between which frames may have been lost. If one of two is dying, the failure detector says so soon;
/// otherwise one has to go: the one that more processes have lost, or, of two that lost only each other, the one that
/// was suspected last, or the later one.
void Head::drop_unreachable(double now) {
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
