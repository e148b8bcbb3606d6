#pragma once
// Standard output and error of a process whose nodes are threads: whole lines, one writer at a time; and one status
// line (a progress bar) at the bottom of the terminal, which gives way to lines and comes back. Any thread.
//
// Lines of output go to a terminal at once. Elsewhere a line is written at once when the one before it was a while ago;
// lines that come in a burst go together, a millisecond later, and always before a line of errors.

#include <condition_variable>
#include <cstdio>
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
  /// Why lines of `out` have not reached standard output: "No space left on device". Empty when all have.
  std::string out_failure();
  /// Shows `text` on the status line of standard error, or removes it when empty. Nothing where that is no terminal.
  void status(std::string_view text);
  /// Removes the status line for good and writes the lines that are left; called before the process says its last
  /// lines. A process that ends while threads still run does not wait for one that is writing.
  void finish(bool may_wait = true);
  /// Other processes of this run draw on the same terminal: lines make room for what they have there. Before other
  /// threads use it.
  void share_terminal() { shared_ = status_columns() > 0; }
  /// How many columns a status line may have in the terminal of standard error; 0 when it is no terminal.
  static int status_columns();

 private:
  void write_line(std::FILE* file, std::string_view line);
  void write_waiting();
  void write_late();
  void draw(std::string_view text);
  std::string cleared() const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string status_;
  size_t drawn_ = 0;  // characters of it that are on the terminal
  bool shared_ = false;
  bool finished_ = false;
  const bool gathers_;   // standard output is no terminal
  std::string waiting_;  // lines of output that are to be written
  double written_ = -1;  // when the last ones were, on the steady clock
  int out_error_ = 0;    // the first errno of standard output
  bool ending_ = false;
  std::thread late_writer_;  // of lines that no other comes to write; there once there are some
};

}  // namespace actorhost
