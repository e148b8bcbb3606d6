#pragma once
// What the connections of a rehearsal share: the functions that run at a virtual time, the links and the cuts.
// MemoryNetwork owns it. Its task is of no host. No task waits with the mutex, so the mutex is never contended.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "host/base/non_copyable.hpp"
#include "host/base/random.hpp"
#include "host/base/tasks.hpp"
#include "host/rehearsal/message_chart.hpp"
#include "host/rehearsal/network_shape.hpp"
#include "host/rehearsal/scheduler.hpp"

namespace actorhost::rehearsal {

struct NetworkSettings {
  NetworkShape shape;
  uint32_t hosts = 1;
  MessageChart* chart = nullptr;  // outlives the network
};

struct Deliveries : private NonCopyable {
  /// Starts the task.
  Deliveries(Scheduler& of, const NetworkSettings& with);
  /// Ends the task.
  ~Deliveries();

  /// Calls `run` at a virtual time, with the lock, on the task. Expects the lock.
  void post(Time at, std::function<void()> run);
  /// When so many bytes that a host sends now have arrived at another. They use the links between them, and wait for
  /// the bytes before them. Expects the lock.
  Time arrival(uint32_t from, uint32_t to, size_t bytes);
  /// Bytes that a stream between two hosts has in flight or unread at most: twice what fills the path.
  size_t window(uint32_t from, uint32_t to) const;

  struct Cut {
    std::set<uint32_t> part;  // its hosts reach no other host
    bool both;                // nor does another host reach them
    Time until;
  };

  Scheduler& scheduler;
  std::mutex mutex;  // guards all state of the network
  uint64_t writes = 0;
  MessageChart* const chart;  // may be null
  std::vector<Cut> cuts;

 private:
  void serve();
  uint32_t group_of(uint32_t host) const { return settings_.shape.group_of(host, settings_.hosts); }

  enum class Lane : uint8_t { host_out, group_out, group_in, host_in };
  struct Hop {
    std::pair<Lane, uint32_t> lane;
    double bandwidth;
  };
  std::array<Hop, 4> path(uint32_t from, uint32_t to) const;  // a bandwidth of 0: without limit, or not on the path

  struct Event {
    Time at;
    uint64_t number;
    std::function<void()> run;
    bool operator>(const Event& other) const { return at != other.at ? at > other.at : number > other.number; }
  };

  const NetworkSettings settings_;
  Rng latencies_;
  std::map<std::pair<Lane, uint32_t>, Time> free_;  // when the bytes of each lane so far have left it
  std::vector<Event> queue_;                        // a heap; the first is the next
  uint64_t posted_ = 0;
  bool ending_ = false;
  Task task_;
};

}  // namespace actorhost::rehearsal
