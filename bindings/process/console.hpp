#pragma once
// Standard output and error of a process whose nodes are threads: whole lines, one writer at a time; and one status
// line (a progress bar) at the bottom of the terminal, which gives way to lines and comes back. Any thread.
//
// Lines of output go to a terminal at once. Elsewhere a line is written at once when the one before it was a while ago;
// lines that come in a burst go together, a millisecond later, and always before a line of errors. Processes of one run
// that write to the same file or pipe take turns, so that lines of any length stay whole.

#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace actorhost {

class Console {
 public:
  Console();
  /// Removes the status line, writes what is left.
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void out(std::string_view line);
  /// Errors and the log: control characters are shown, newlines kept.
  void err(std::string_view line);
  /// Text for standard error as it is, which may be a part of a line.
  void error_text(std::string_view text);
  /// Why lines of `out` have not reached standard output: "No space left on device". Empty when all have.
  std::string out_failure();
  /// The errno of that; 0 when all have.
  int out_error();
  /// Shows `text` on the status line of standard error, or removes it when empty. Nothing where that is no terminal.
  void status(std::string_view text);
  /// Removes the status line for good and writes the lines that are left; called before the process says its last
  /// lines. A process that ends while threads still run does not wait for one that is writing.
  void finish(bool may_wait = true);
  /// Other processes of this run draw on the same terminal: lines make room for what they have there. Before other
  /// threads use it.
  void share_terminal() { shared_ = status_columns() > 0; }
  /// Other processes write to the same files, too: each write locks the file `lock`, of which each process has its own
  /// open file description.
  void take_turns(int lock);
  /// Calls `closed` when the reader of standard output or error has closed its pipe, instead of ending the process by
  /// SIGPIPE. Any thread may make the call, several times; `closed` must not use the console.
  void on_closed(std::function<void()> closed);
  /// How many columns a status line may have in the terminal of standard error; 0 when it is no terminal.
  static int status_columns();

 private:
  void write_line(std::FILE* file, std::string_view line);
  void write_waiting();
  void write_late();
  void draw(std::string_view text);
  int write_all(std::FILE* file, std::string_view text);
  std::string cleared() const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string status_;
  size_t drawn_ = 0;  // characters of it that are on the terminal
  bool shared_ = false;
  int turns_ = -1;
  std::function<void()> closed_;
  bool finished_ = false;
  const bool gathers_;   // standard output is no terminal
  std::string waiting_;  // lines of output that are to be written
  double written_ = -1;  // when the last ones were, on the steady clock
  int out_error_ = 0;    // the first errno of standard output
  bool ending_ = false;
  std::thread late_writer_;  // of lines that no other comes to write; there once there are some
};

}  // namespace actorhost
