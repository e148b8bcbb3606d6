#pragma once
// Programs that run as children of this process, with their standard files as pipes, and the events of all of them:
// output, errors, ends. ProgramPool is owned and used by one thread. The programs do not outlive this process.

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "bindings/process/child_process.hpp"
#include "host/base/fd.hpp"
#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"

namespace actorhost {

class ProgramPool : private NonCopyable {
 public:
  enum class What { output, error, end, input };
  struct Event {
    What what = What::output;
    size_t program = 0;  // not for What::input
    std::string text;    // bytes of an output or of this process's input; empty at the end of the input
    int code = 0;        // What::end: the exit code, 128 plus the number of a signal
  };

  ProgramPool() = default;
  ~ProgramPool();  // kills the programs

  /// Starts a program and returns its number, from 0. With `piped` its three standard files are pipes to this pool,
  /// otherwise it has no input and writes to this process's outputs. Blocks until the program has begun.
  Result<size_t> start(ChildProgram program, bool piped);
  /// Queues bytes for the standard input of a piped program; `next` sends them. Drops them if the program reads no
  /// more.
  void send(size_t program, std::string_view bytes);
  /// Sends a signal to a program; does nothing after its end.
  void signal(size_t program, int number) const;
  /// Reports the standard input of this process as events from now on.
  void watch_input() { watches_input_ = true; }

  /// The next event; no value if none arrives within `milliseconds`. The end of a program follows its last output.
  Result<std::optional<Event>> next(int milliseconds);

 private:
  struct Program {
    pid_t pid = -1;  // -1: its end is reported
    Fd handle;       // readable after its end
    Fd input, output, error;
    std::string queued;
    size_t sent = 0;  // bytes of `queued`
  };
  void read_input();
  bool read_from(size_t program, Fd& file, What what);
  void write_to(Program& program);
  void reap(size_t program);

  std::vector<Program> programs_;
  std::deque<Event> events_;
  bool watches_input_ = false;
};

}  // namespace actorhost
