#pragma once
// Standard output and error of a process with nodes as threads. Writes whole lines, one writer at a time, and keeps
// one status line (a progress bar) at the bottom of the terminal, below all other lines. Thread-safe.
//
// On a terminal, lines of output appear at once. In a file or pipe only a line after a pause is written at once. The
// lines of a burst are written together, a millisecond later, and always before a line of errors. Processes of one run
// with the same output file or pipe write in turns, so that lines of any length stay whole.

#include <cstdio>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "host/base/non_copyable.hpp"
#include "host/base/tasks.hpp"

namespace actorhost {

class Console : private NonCopyable {
 public:
  Console();
  /// Removes the status line and writes the pending lines.
  ~Console();

  /// Writes a line of output.
  void out(std::string_view line);
  /// Writes a line of errors or of the log: escapes control characters, preserves newlines.
  void err(std::string_view line);
  /// Writes text to standard error unchanged; it may be a part of a line.
  void error_text(std::string_view text);
  /// The first error that kept lines of `out` from standard output, "No space left on device"; empty without an error.
  std::string out_failure();
  /// The errno of this error; 0 without an error.
  int out_error();
  /// Shows `text` on the status line of standard error; an empty text removes the line. Without a terminal it only
  /// stores the text for `overdue_status`.
  void status(std::string_view text);
  /// Without a terminal: returns the status line's text for the log, if `seconds` have passed since the last output and
  /// since the last returned text. The text is empty if there is no status line.
  std::optional<std::string> overdue_status(double seconds);
  /// Ends the status line and writes the pending lines. To be called before the process's last messages. With
  /// `may_wait` false it does nothing while another thread writes: for a process that ends while threads still run.
  void finish(bool may_wait = true);
  /// Declares that other processes of this run draw on the same terminal: each line then clears their status line too.
  /// To be called before other threads use the console.
  void share_terminal() { shared_ = status_columns() > 0; }
  /// Declares that other processes write to the same files: each write then locks the file `lock`. Each process needs
  /// its own open file description of `lock`.
  void take_turns(int lock);
  /// Calls `closed` when the reader of standard output or error has closed its pipe; without `closed`, SIGPIPE ends the
  /// process. `closed` may run several times on any thread and must not use the console.
  void on_closed(std::function<void()> closed);
  /// Keeps the status line for `status_text` from now on, instead of drawing it: for a program that embeds the host. To
  /// be called before other threads use the console.
  void keep_status() { keeps_ = true; }
  std::string status_text();
  /// Columns available for this console's status line; 0 without a place for it.
  int columns() const { return keeps_ ? kKeptColumns : status_columns(); }
  /// Columns available for a status line on the terminal of standard error; 0 without a terminal.
  static int status_columns();

 private:
  void write_line(std::FILE* file, std::string_view line);
  void write_waiting();
  void write_late();
  void draw(std::string_view text);
  int write_all(std::FILE* file, std::string_view text);
  std::string cleared() const;

  static constexpr int kKeptColumns = 79;

  std::mutex mutex_;
  WaitPoint changed_;
  std::string status_;
  size_t drawn_ = 0;  // characters of the status line on the terminal
  bool shared_ = false;
  bool keeps_ = false;          // the status line is not drawn
  int turns_ = -1;              // the file of take_turns
  bool waits_for_turn_ = true;  // false after a turn that did not arrive in time, until a turn succeeds
  std::function<void()> closed_;
  bool finished_ = false;
  const bool gathers_;   // standard output is no terminal
  std::string waiting_;  // pending lines of output
  double written_ = -1;  // time of the last write of output on the steady clock
  bool spoke_ = false;   // written to any file since the last overdue_status
  double spoken_;        // time of the overdue_status that saw the last write, or returned a text
  int out_error_ = 0;    // the first errno of standard output
  bool ending_ = false;
  Task late_writer_;  // writes pending lines after a delay; started on first use
};

}  // namespace actorhost
