#pragma once
// What the connections of a rehearsal share: the functions that run at a virtual time, the latencies and the cuts.
// MemoryNetwork owns it. Its task is of no host. No task waits with the mutex, so the mutex is never contended.

#include <cstdint>
#include <functional>
#include <mutex>
#include <queue>
#include <set>
#include <vector>

#include "host/base/non_copyable.hpp"
#include "host/base/tasks.hpp"
#include "host/rehearsal/scheduler.hpp"

namespace actorhost::rehearsal {

struct NetworkSettings {
  Time latency = 50'000;              // from a write until its bytes arrive
  Time jitter = 300'000;              // maximum of the random part of it
  size_t window = size_t{256} << 10;  // bytes that a stream has in flight or unread at most
};

struct Deliveries : private NonCopyable {
  /// Starts the task.
  Deliveries(Scheduler& of, const NetworkSettings& with);
  /// Ends the task.
  ~Deliveries();

  /// Calls `run` at a virtual time, with the lock, on the task. Expects the lock.
  void post(Time at, std::function<void()> run);
  /// When something that leaves a host now arrives at another. Expects the lock.
  Time arrival(uint32_t from, uint32_t to) const;
  Time latency() const;

  struct Cut {
    std::set<uint32_t> from;
    std::set<uint32_t> to;
    Time until;
  };

  Scheduler& scheduler;
  const NetworkSettings settings;
  std::mutex mutex;  // guards all state of the network
  uint64_t writes = 0;
  std::vector<Cut> cuts;

 private:
  void serve();

  struct Event {
    Time at;
    uint64_t number;
    std::function<void()> run;
    bool operator>(const Event& other) const { return at != other.at ? at > other.at : number > other.number; }
  };

  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
  uint64_t posted_ = 0;
  bool ending_ = false;
  Task task_;
};

}  // namespace actorhost::rehearsal
