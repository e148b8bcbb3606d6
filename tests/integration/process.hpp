#pragma once
// Programs started by a test: their output is collected while they run, every wait has a deadline, and nothing outlives
// the test. A Process is owned and used by the thread that made it; its destructor kills its whole process group.
//
//   Process host(actorhost_binary(), {"-n", "2", "job.lua"});
//   REQUIRE(host.wait_for_output("step 10", 20));
//   host.signal(SIGINT);
//   INFO(host.describe());
//   CHECK(host.wait(5) == 130);

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "host/base/non_copyable.hpp"

namespace actorhost {

struct ProcessOptions {
  /// Added to the test's own environment, without the variables that launchers and actorhost itself read. nullopt
  /// unsets the variable.
  std::map<std::string, std::optional<std::string>> env = {};
  std::filesystem::path cwd = {};  // empty: the test's
  std::string input = {};          // the whole of standard input
};

class Process {
 public:
  /// Starts `program` (a path, or a name on PATH) in a process group of its own. Throws std::runtime_error if it cannot
  /// be started.
  explicit Process(const std::string& program, std::vector<std::string> args = {}, const ProcessOptions& options = {});
  /// Kills the remaining processes of the group.
  ~Process();
  Process(Process&&) noexcept;
  Process& operator=(Process&&) = delete;

  pid_t pid() const;
  bool running() const;

  /// The exit status, 128 + the number of the fatal signal, or nothing after `seconds`. The output is complete when it
  /// returns a status. Deadlines here are `patience` times longer.
  std::optional<int> wait(double seconds);
  /// Waits until standard output or standard error contains `text`, from the start of the program; returns false after
  /// `seconds`, or if the program has ended without it.
  bool wait_for_output(std::string_view text, double seconds);
  /// The same for a regular expression (ECMAScript); returns its first group, or the whole match if it has no group.
  std::optional<std::string> wait_for_match(const std::string& pattern, double seconds);

  /// Sends a signal to the program alone; does nothing after its end.
  void signal(int number);
  void signal_group(int number);

  std::string out() const;
  std::string err() const;
  /// The command, its end and its output, for INFO.
  std::string describe() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct Finished {
  std::optional<int> status;  // as Process::wait
  std::string out;
  std::string err;
  std::string description;
};

/// Runs a program to its end.
Finished run_program(const std::string& program, std::vector<std::string> args, double seconds,
                     const ProcessOptions& options = {});

/// Quotes `text` as one word of a shell command.
std::string shell_word(const std::string& text);

/// The actorhost program of this build.
std::string actorhost_binary();
/// The top of the source tree, for examples and scripts.
std::filesystem::path source_dir();
/// Whether a process has ended within `seconds`; a process that its parent has not reaped counts as ended.
bool ends_within(pid_t process, double seconds);
/// The factor of deadlines. The seconds in a test are for a fast, idle machine; tests also run on slow and busy
/// machines, and under sanitizers.
double patience();

/// Whether a signal interrupts a loop that calls nothing of the C library. ThreadSanitizer defers it until the next
/// call, so Lua's endless loops cannot be interrupted under it.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kLoopsGetSignals = false;
#else
inline constexpr bool kLoopsGetSignals = true;
#endif

/// A temporary directory in `parent`, removed with its content.
class TempDir : private NonCopyable {
 public:
  explicit TempDir(const std::filesystem::path& parent = std::filesystem::temp_directory_path());
  ~TempDir();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  /// Writes a file, and creates its directories.
  std::filesystem::path write(const std::string& name, std::string_view text) const;

 private:
  std::filesystem::path path_;
};

std::string read_text(const std::filesystem::path& path);

/// A TCP port, reserved for the lifetime of the object. It is bound but does not listen, so the system gives it to no
/// other program; a program that sets SO_REUSEADDR, as NNG does, can still listen on it.
class FreePort : private NonCopyable {
 public:
  FreePort();
  ~FreePort();

  uint16_t port() const { return port_; }
  /// "127.0.0.1:PORT".
  std::string endpoint() const;

 private:
  int fd_ = -1;
  uint16_t port_ = 0;
};

}  // namespace actorhost
