#pragma once
// Local nodes as processes (`--isolate`): a host starts this program once for each node. A child receives its place in
// one environment variable and the token through a pipe, because other users may read a process's environment. Children
// die with their parent. Used on the main thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"

namespace actorhost {

struct ChildPlace {
  std::string url;     // of the coordinator
  uint64_t group = 0;  // of this host's processes
  uint32_t size = 1;   // processes in the group
  uint32_t index = 0;  // of this process in the group
  int32_t node_rank = -1;
  std::string token;
  int started_pipe = -1;  // see `report_started`
  int output_lock = -1;   // the group's lock for Console::take_turns, in this process's own file description

  /// Reads ACTORHOST_CHILD, which it removes from the environment, and its pipe; no value when this process is no
  /// child.
  static Result<std::optional<ChildPlace>> take_from_environment();
  /// Notifies the parent that the run has started: the parent may have no link to the coordinator. Call it once.
  void report_started();
};

class ChildSupervisor : private NonCopyable {
 public:
  ChildSupervisor();
  ~ChildSupervisor();  // kills the remaining children

  /// Starts this program with `args`, once for each place. The children ignore Ctrl-C, because the parent handles it.
  Status spawn(const std::vector<std::string>& args, std::vector<ChildPlace> places);
  /// Whether any child has reported the start of the run.
  bool started();
  /// Collects ended children; returns the number of running children.
  size_t reap();
  /// "local node 1 (process 77) was killed by signal 9": the first collected child; no value while all run.
  std::optional<std::string> first_ended() const;
  void signal_all(int signal);
  /// The lock file for writes of this process and its children (Console::take_turns); -1: no file.
  int output_lock() const noexcept { return output_lock_; }
  /// The first exit code other than 0, of the children that exited by themselves; else 0.
  int first_failure() const;
  /// As first_failure, but 3 if no child exited by itself.
  int exit_code() const;

 private:
  struct Child {
    pid_t pid;
    std::optional<int> status;
  };
  Status spawn_one(const std::vector<std::string>& args, const ChildPlace& place);

  std::vector<Child> children_;
  int started_pipe_ = -1;  // the pipe for the children's start reports
  int output_lock_ = -1;
  bool started_ = false;
};

}  // namespace actorhost
