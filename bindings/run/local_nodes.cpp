#include "bindings/run/local_nodes.hpp"

#include <algorithm>
#include <chrono>

#include "bindings/process/process_shared.hpp"

namespace actorhost {

namespace {

template <typename Nodes>
bool all_done(const Nodes& nodes) {
  return std::all_of(nodes.begin(), nodes.end(), [](const auto& node) { return node->done(); });
}

}  // namespace

std::function<void()> LocalNodes::notify() {
  return [this] {
    std::lock_guard lock(mutex_);
    ended_.notify_all();
  };
}

void LocalNodes::start_workers(NodeThread::Shared shared) {
  shared.ended = notify();
  Nodes nodes;
  for (const NodeId id : shared.cluster.local_workers()) {
    nodes.push_back(std::make_unique<NodeThread>(shared, worker_address(id)));
  }
  std::lock_guard lock(mutex_);
  workers_ = std::move(nodes);
  for (const auto& node : workers_) node->start();
}

Result<bool> LocalNodes::start_servers(NodeThread::Shared shared, uint32_t action) {
  ProcessShared& process = shared.process;
  Nodes old;
  {
    std::lock_guard lock(mutex_);
    const int64_t finished = process.finished_run;
    const bool right = !servers_leave_ && (action == kAnyAction || finished < 0 || action <= finished);
    if (!servers_.empty() && right) return true;
    for (const auto& server : servers_) {
      if (!servers_leave_) server->request_stop();
    }
    // They usually leave at once, because a serving server waits in an engine call. But the script may have more to do.
    servers_leave_ = !all_done(servers_);
    if (servers_leave_) return false;
    old.swap(servers_);
  }
  old.clear();  // joins threads that have ended
  process.finished_run = -1;
  shared.ended = [ended = notify(), &cluster = shared.cluster] {
    ended();
    cluster.servers_ended();
  };
  Nodes fresh;
  const uint32_t shards = shared.options.servers;
  for (uint32_t shard = 0; shard < shards; ++shard) {
    if (process.stores.size() <= shard) {
      process.stores.push_back(std::make_unique<ParamStore>(shard, shards));
      if (process.resumed) AH_TRY(process.resumed->restore(*process.stores.back()));
    }
    fresh.push_back(std::make_unique<NodeThread>(shared, server_address(shard)));
  }
  std::lock_guard lock(mutex_);
  servers_ = std::move(fresh);
  for (const auto& server : servers_) server->start();
  return true;
}

void LocalNodes::wake() {
  std::lock_guard lock(mutex_);
  for (const auto& node : workers_) node->wake();
  for (const auto& node : servers_) node->wake();
}

void LocalNodes::wake_servers() {
  std::lock_guard lock(mutex_);
  for (const auto& server : servers_) server->wake();
}

bool LocalNodes::stop(double seconds) {
  std::unique_lock lock(mutex_);
  for (const auto& node : workers_) node->request_stop();
  for (const auto& node : servers_) node->request_stop();
  return ended_.wait_for(lock, seconds, [this] { return all_done(workers_) && all_done(servers_); });
}

/// Waits without the lock, because a node's last call takes the lock.
void LocalNodes::drop() {
  Nodes done[2];
  std::lock_guard lock(mutex_);
  done[0].swap(workers_);
  done[1].swap(servers_);
}

std::vector<Address> LocalNodes::workers() const {
  std::lock_guard lock(mutex_);
  std::vector<Address> addresses;
  for (const auto& node : workers_) addresses.push_back(node->address());
  return addresses;
}

std::optional<std::string> LocalNodes::traceback_of(Address address) const {
  std::lock_guard lock(mutex_);
  for (const Nodes* nodes : {&workers_, &servers_}) {
    for (const auto& node : *nodes) {
      if (node->address() == address) return node->traceback();
    }
  }
  return std::nullopt;
}

}  // namespace actorhost
