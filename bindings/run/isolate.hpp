#pragma once
// Local nodes as processes (`--isolate`): a host starts one child of the same program for each node; a child learns its
// place from one environment variable and the token from a pipe, since others may read the environment of a process.
// Children die with their parent. Used from the main thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "host/base/result.hpp"

namespace actorhost {

struct ChildPlace {
  std::string url;     // where the rendezvous host is
  uint64_t group = 0;  // of this host's processes
  uint32_t size = 1;   // processes in the group
  uint32_t index = 0;  // this one's place in it
  int32_t node_rank = -1;
  std::string token;
  int started_pipe = -1;  // see `tell_started`
  int output_lock = -1;   // of the group, for Console::take_turns; this process's own description of the file

  /// From ACTORHOST_CHILD, which is removed from the environment, and the pipe that it names; nothing when this process
  /// is no child.
  static Result<std::optional<ChildPlace>> take_from_environment();
  /// Tells the parent that the run has started: it may have no link of its own to the rendezvous host. Once.
  void tell_started();
};

class ChildSupervisor {
 public:
  ChildSupervisor();
  ~ChildSupervisor();  // ends what is left
  ChildSupervisor(const ChildSupervisor&) = delete;
  ChildSupervisor& operator=(const ChildSupervisor&) = delete;

  /// Starts this program again with `args` at each of the places, once. The children ignore Ctrl-C (their parent speaks
  /// for them).
  Status spawn(const std::vector<std::string>& args, std::vector<ChildPlace> places);
  /// Whether any child has told that the run has started.
  bool started();
  /// Collects children that have ended; returns how many still run.
  size_t reap();
  /// "local node 1 (process 77) was killed by signal 9": one that `reap` has collected; nothing while all run.
  std::optional<std::string> first_ended() const;
  void signal_all(int signal);
  /// The file that this process locks when it writes (Console::take_turns), as its children do; -1 where there is none.
  int output_lock() const noexcept { return output_lock_; }
  /// The first code other than 0 of the children that ended by themselves; else 0.
  int first_failure() const;
  /// 0 when all children that ended by themselves did so with 0; else the first other code; 3 when none ended by
  /// itself.
  int exit_code() const;

 private:
  struct Child {
    pid_t pid;
    std::optional<int> status;
  };
  Status spawn_one(const std::vector<std::string>& args, const ChildPlace& place);

  std::vector<Child> children_;
  int heard_ = -1;  // where children tell that the run has started
  int output_lock_ = -1;
  bool started_ = false;
};

}  // namespace actorhost
