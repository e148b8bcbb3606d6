#pragma once
// The cluster of a console without `--attach`: this program as a child process, with a job that waits for chunks. The
// child ends with the console.

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "host/base/result.hpp"

namespace actorhost {

/// The child's job and its script name.
inline constexpr const char* kConsoleJob = "require('actor.c.console').wait()";
inline constexpr const char* kConsoleJobName = "console";

/// Whether this process is such a child or one of its nodes: `script` is the job's name and the environment variable is
/// set.
bool is_console_cluster(const std::string& script);

class OwnCluster {
 public:
  /// Starts `actorhost run` with these flags.
  static Result<OwnCluster> start(std::vector<std::string> flags);
  OwnCluster(OwnCluster&& other) noexcept;
  OwnCluster& operator=(OwnCluster&&) = delete;
  ~OwnCluster();  // stops the child

  pid_t pid() const { return pid_; }
  /// The output since the last call; does not block.
  std::string output() const;
  /// The exit code of an ended child (128 plus the signal number after a signal). Waits up to `seconds` for the end.
  std::optional<int> ended(double seconds);
  /// Stops the child by SIGTERM, then by SIGKILL.
  void stop();

 private:
  OwnCluster(pid_t pid, int output) : pid_(pid), output_(output) {}

  pid_t pid_;
  int output_;
  std::optional<int> code_;
};

}  // namespace actorhost
