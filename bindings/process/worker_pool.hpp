#pragma once
// Processes of this program that work for another one: each has a socket pair over which messages go both ways, a
// length of 4 bytes before each. The parent's side is WorkerPool; a worker's, WorkerChannel on the descriptor that the
// parent left in its environment. Workers die with their parent. Each object belongs to one thread.

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "host/base/result.hpp"

namespace actorhost {

class WorkerPool {
 public:
  WorkerPool() = default;
  ~WorkerPool();  // ends them
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Starts this program with `args`; returns the worker's number, from 0.
  Result<size_t> spawn(const std::vector<std::string>& args);
  /// Blocks while the worker has not read what it was sent before.
  Status send(size_t worker, const std::string& message);
  struct Received {
    size_t worker = 0;
    std::optional<std::string> message;  // none: the worker has ended
    std::string how;                     // it ended: "exit code 1", "signal 11"
  };
  /// The next message of any worker, or its end (told once). Nothing within `milliseconds`: no value.
  Result<std::optional<Received>> receive(int milliseconds);

 private:
  struct Worker {
    pid_t pid = -1;
    int fd = -1;  // -1: its end has been told
  };
  std::string reap(Worker& worker);

  std::vector<Worker> workers_;
  size_t next_ = 0;  // looked at first, so that none is forgotten
};

class WorkerChannel {
 public:
  /// Of this process, when a WorkerPool made it; the descriptor is taken out of the environment.
  static std::optional<WorkerChannel> take_from_environment();
  /// Nothing when the parent is done (or gone).
  std::optional<std::string> receive() const;
  Status send(const std::string& message) const;

 private:
  explicit WorkerChannel(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace actorhost
