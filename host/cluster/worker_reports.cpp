#include "host/cluster/worker_reports.hpp"

namespace actorhost {

void WorkerReports::entered(NodeId node, uint32_t actions) {
  std::lock_guard lock(mutex_);
  actions_[node] = actions;
}

void WorkerReports::cache_value(uint32_t action, const Blob& value) {
  static constexpr size_t kMostBytes = size_t{1} << 20;
  std::lock_guard lock(mutex_);
  if (value_bytes_ + value.size() > kMostBytes) return;
  if (values_.emplace(action, value).second) value_bytes_ += value.size();
}

bool WorkerReports::participates(NodeId node, bool is_peer) {
  const auto [at, fresh] = is_peer_.try_emplace(node, is_peer);
  return fresh || std::exchange(at->second, is_peer) != is_peer;
}

std::vector<AttachedWorker> WorkerReports::workers(const Membership& table, ProcessId self) const {
  std::vector<AttachedWorker> out;
  std::lock_guard lock(mutex_);
  for (const Member& member : table.workers()) {
    if (member.process != self) continue;
    const auto peer = is_peer_.find(member.id);
    const bool left = peer != is_peer_.end() ? !peer->second : member.id >= table.founders();
    const auto entered = actions_.find(member.id);
    out.push_back({member.id, entered == actions_.end() ? 0 : entered->second, ended_.contains(member.id), left});
  }
  return out;
}

std::vector<Frame> WorkerReports::take_unsent(ProcessId self) {
  std::vector<Frame> frames;
  if (failure_) frames.push_back(error_frame(failure_->first, failure_->second));
  {
    std::lock_guard lock(mutex_);
    for (const auto& [action, value] : values_) {
      frames.push_back(make_frame(cluster_kind::action_done, service_address(self), kNoAddress, action, {}, value));
    }
  }
  for (Frame& frame : std::exchange(unsent_, {})) frames.push_back(std::move(frame));
  return frames;
}

}  // namespace actorhost
