#pragma once
// Programs started by a test: their output is collected while they run, every wait has a deadline, and nothing outlives
// the test. A Process is owned and used by the thread that made it; it ends its whole process group when it goes.
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

namespace actorhost {

struct ProcessOptions {
  /// Added to the test's own environment, without the variables that launchers and actorhost itself read. No value: the
  /// variable is unset.
  std::map<std::string, std::optional<std::string>> env = {};
  std::filesystem::path cwd = {};  // empty: the test's
  std::string input = {};          // the whole of standard input
};

class Process {
 public:
  /// Starts `program` (a path, or a name that PATH leads to) in a process group of its own. Throws std::runtime_error
  /// when it cannot be started.
  explicit Process(const std::string& program, std::vector<std::string> args = {}, const ProcessOptions& options = {});
  /// Kills what is left of the group.
  ~Process();
  Process(Process&&) noexcept;
  Process& operator=(Process&&) = delete;

  pid_t pid() const;
  bool running() const;

  /// The exit status, 128 + the number of the signal that ended it, or nothing when `seconds` have passed. All that the
  /// program wrote has been collected then. Deadlines here are `patience` times longer.
  std::optional<int> wait(double seconds);
  /// Waits until standard output or standard error has `text`, from the start of the program; false when `seconds` have
  /// passed or the program has ended without it.
  bool wait_for_output(std::string_view text, double seconds);
  /// The same for a regular expression (ECMAScript); gives its first group, or the whole match when it has none.
  std::optional<std::string> wait_for_match(const std::string& pattern, double seconds);

  /// Sends a signal to the program alone; does nothing when it has ended.
  void signal(int number);
  void signal_group(int number);

  std::string out() const;
  std::string err() const;
  /// The command, how it ended and its output, for INFO.
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

/// A word of a shell's command that means `text`, whatever is in it.
std::string shell_word(const std::string& text);

/// The actorhost program of this build.
std::string actorhost_binary();
/// The top of the source tree, for examples and scripts.
std::filesystem::path source_dir();
/// Whether a process has ended within `seconds`; one whose parent has still to take note of it has.
bool ends_within(pid_t process, double seconds);
/// What deadlines are multiplied by. The seconds in a test are those of a machine that is fast and idle; tests run on
/// slow and busy ones too, and under sanitizers.
double patience();

/// Whether a signal comes to a loop that calls nothing of the C library. ThreadSanitizer keeps it until the next call,
/// so Lua's endless loops cannot be interrupted under it.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kLoopsGetSignals = false;
#else
inline constexpr bool kLoopsGetSignals = true;
#endif

/// A directory of its own, removed with everything in it.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  /// Writes a file, with the directories that lead to it.
  std::filesystem::path write(const std::string& name, std::string_view text) const;

 private:
  std::filesystem::path path_;
};

std::string read_text(const std::filesystem::path& path);

/// A TCP port that is free as long as this object lives. It stays bound but is not listened on, so the system gives it
/// to no other program; one that sets SO_REUSEADDR, as NNG does, can still listen on it.
class FreePort {
 public:
  FreePort();
  ~FreePort();
  FreePort(const FreePort&) = delete;
  FreePort& operator=(const FreePort&) = delete;

  uint16_t port() const { return port_; }
  /// "127.0.0.1:PORT".
  std::string endpoint() const;

 private:
  int fd_ = -1;
  uint16_t port_ = 0;
};

}  // namespace actorhost
