#include "host/cluster/peer_links.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace actorhost {

ProcessId dialler_of(const ProcessInfo& one, const ProcessInfo& other) {
  const auto& [low, high] = one.process < other.process ? std::tie(one, other) : std::tie(other, one);
  if (!low.url.empty()) return high.process;
  return high.url.empty() ? kNoProcess : low.process;
}

void PeerLinks::adopt(ProcessId self, MembershipPtr table) {
  self_ = self;
  for (const ProcessInfo& info : table_->processes()) {
    if (table->process(info.process) != nullptr) continue;
    departed_.insert(info.process);
    links_.erase(info.process);
    requested_.erase(info.process);
  }
  table_ = std::move(table);
}

ProcessId PeerLinks::dialler_for(const ProcessInfo& peer) const {
  const ProcessInfo* own = table_->process(self_);
  return own == nullptr ? kNoProcess : dialler_of(*own, peer);
}

/// Whether a new link is useless: a link exists, is being dialled, or is forbidden.
bool PeerLinks::no_use(ProcessId process) const {
  return links_.contains(process) || dialling_.contains(process) || broken_.contains(process);
}

void PeerLinks::broken(ProcessId process, const std::string& reason) {
  broken_.insert(process);
  output_.report_broken(process, reason);
}

void PeerLinks::dial(const ProcessInfo& peer) {
  dialling_.insert(peer.process);
  output_.dial(peer.process, peer.url);
}

void PeerLinks::wanted(ProcessId process) {
  const ProcessInfo* peer = table_->process(process);
  if (peer == nullptr || no_use(process)) return;
  const ProcessId dialler = dialler_for(*peer);
  if (dialler == self_) {
    dial(*peer);
  } else if (dialler == process) {
    requested_.insert(process);
    output_.request_dial(process);
  } else {
    broken(process, "neither it nor this host takes connections");
  }
}

bool PeerLinks::reach(ProcessId process) {
  const ProcessInfo* peer = table_->process(process);
  if (peer == nullptr || broken_.contains(process)) return false;
  if (dialling_.contains(process)) return true;
  if (dialler_for(*peer) != self_) return false;
  dial(*peer);
  return true;
}

ProcessId PeerLinks::owner(LinkId link) const {
  for (const auto& [process, its_link] : links_) {
    if (its_link == link) return process;
  }
  return kNoProcess;
}

void PeerLinks::resend_reports() {
  for (const ProcessId process : broken_) {
    if (table_->process(process) != nullptr) output_.report_broken(process, "as reported before");
  }
  for (const ProcessId process : std::exchange(requested_, {})) {
    if (!links_.contains(process)) wanted(process);
  }
}

void PeerLinks::on_want_link(ProcessId process) {
  const ProcessInfo* peer = table_->process(process);
  if (peer == nullptr || no_use(process)) return;
  if (dialler_for(*peer) == self_) dial(*peer);
}

void PeerLinks::dialled(ProcessId process, LinkId link) {
  dialling_.erase(process);
  take(process, link);
}

void PeerLinks::dial_failed(ProcessId process, const std::string& reason) {
  dialling_.erase(process);
  if (table_->process(process) != nullptr) broken(process, reason);
}

void PeerLinks::accepted(ProcessId process, LinkId link) { take(process, link); }

void PeerLinks::take(ProcessId process, LinkId link) {
  if (departed_.contains(process)) return output_.close_link(link, "it has left the run");
  if (broken_.contains(process)) return output_.close_link(link, "the link before it broke");
  if (const auto end = ended_.extract(link)) return broken(process, end.mapped());
  requested_.erase(process);
  links_.emplace(process, link);  // of two links the transport keeps the first
}

void PeerLinks::down(LinkId link, const std::string& reason) {
  const auto at =
      std::find_if(links_.begin(), links_.end(), [link](const auto& entry) { return entry.second == link; });
  if (at == links_.end()) {
    ended_.emplace(link, reason);
    return;
  }
  const ProcessId process = at->first;
  links_.erase(at);
  broken(process, reason);
}

void PeerLinks::silent(ProcessId process) {
  const auto at = links_.find(process);
  if (at == links_.end()) return;
  const LinkId link = at->second;
  links_.erase(at);
  output_.close_link(link, "no heartbeat");
  broken(process, "no heartbeat");
}

}  // namespace actorhost
