#pragma once
// The cluster of a console that is attached to none: this program once more, as a child, with a job that waits for
// chunks. It ends with the console.

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "host/base/result.hpp"

namespace actorhost {

/// The job, and the name that its script has.
inline constexpr const char* kConsoleJob = "require('actor.c.console').wait()";
inline constexpr const char* kConsoleJobName = "console";

/// Whether this process is such a child, or one of its nodes: `script` is that job's name, and the environment says so.
bool is_console_cluster(const std::string& script);

class OwnCluster {
 public:
  /// Starts `actorhost run` with these flags.
  static Result<OwnCluster> start(std::vector<std::string> flags);
  OwnCluster(OwnCluster&& other) noexcept;
  OwnCluster& operator=(OwnCluster&&) = delete;
  ~OwnCluster();  // ends it

  pid_t pid() const { return pid_; }
  /// What it has written since the last call; does not wait.
  std::string output() const;
  /// Its exit code (128 and the number of the signal that ended it) once it has ended; waits up to `seconds` for that.
  std::optional<int> ended(double seconds);
  /// Ends it, in order or by force.
  void stop();

 private:
  OwnCluster(pid_t pid, int output) : pid_(pid), output_(output) {}

  pid_t pid_;
  int output_;
  std::optional<int> code_;
};

}  // namespace actorhost
