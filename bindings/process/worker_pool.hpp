#pragma once
// Worker processes: children of this program that exchange messages with their parent over a socket pair. Each message
// follows its length in 4 bytes. WorkerPool is the parent's end; WorkerChannel is a worker's end, on the descriptor
// that the parent passes in the environment. Workers die with their parent. Not thread-safe.

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"

namespace actorhost {

class WorkerPool : private NonCopyable {
 public:
  WorkerPool() = default;
  ~WorkerPool();  // kills the workers

  /// Starts this program with `args`; returns the worker's number, from 0. It writes its output to `file`, if given.
  Result<size_t> spawn(const std::vector<std::string>& args, const std::string& file = "");
  /// Blocks while the worker has unread earlier messages.
  Status send(size_t worker, const std::string& message);
  struct Received {
    size_t worker = 0;
    std::optional<std::string> message;  // none: the worker has ended
    std::string how;                     // how it ended: "exit code 1", "signal 11"
  };
  /// The next message of any worker, or its end (reported once). No value when nothing arrives within `milliseconds`.
  Result<std::optional<Received>> receive(int milliseconds);

 private:
  struct Worker {
    pid_t pid = -1;
    int fd = -1;  // -1: its end has been reported
  };
  std::string reap(Worker& worker);

  std::vector<Worker> workers_;
  size_t next_ = 0;  // first worker of the next poll, so that no worker starves
};

class WorkerChannel {
 public:
  /// This process's channel if a WorkerPool started the process; removes the descriptor from the environment.
  static std::optional<WorkerChannel> take_from_environment();
  /// No value when the parent has finished or died.
  std::optional<std::string> receive() const;
  Status send(const std::string& message) const;

 private:
  explicit WorkerChannel(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace actorhost
