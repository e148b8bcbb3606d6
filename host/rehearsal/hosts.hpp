#pragma once
// The simulated hosts of a rehearsal: starts each one, restarts killed ones, and waits for their ends. Used by tasks of
// no host.

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "host/base/non_copyable.hpp"
#include "host/base/tasks.hpp"
#include "host/rehearsal/memory_network.hpp"
#include "host/rehearsal/scheduler.hpp"

namespace actorhost::rehearsal {

class Hosts : private NonCopyable {
 public:
  /// `run` is the program of a host; it returns the exit code. A killed host starts again after `restart`; without
  /// `restart` it stays dead.
  Hosts(Scheduler& scheduler, MemoryNetwork& network, uint32_t count, std::function<int(uint32_t host)> run,
        std::optional<Time> restart);

  /// Starts a further host; returns its number.
  uint32_t add();
  /// Blocks until all hosts have ended.
  void wait();
  /// Kills a host as SIGKILL does, or as a loss of power with `crash`. It must be running.
  void kill(uint32_t host, bool crash);
  /// The hosts with a running program.
  std::vector<uint32_t> running() const;
  /// The largest exit code of the hosts without a kill; 3 (the cluster is lost) only if all others are 0.
  int code() const;

 private:
  struct Host {
    bool running = false;
    bool killed = false;  // at least once
    int code = 0;
    Task supervisor;
  };
  void supervise(uint32_t number);

  Scheduler& scheduler_;
  MemoryNetwork& network_;
  const std::function<int(uint32_t)> run_;
  const std::optional<Time> restart_;
  std::deque<Host> hosts_;
};

}  // namespace actorhost::rehearsal
