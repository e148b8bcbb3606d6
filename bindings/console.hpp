#pragma once
// Standard output and error of a process whose nodes are threads: whole lines, one writer at a time, flushed line by
// line so that another process's lines do not land in the middle; and one status line (a progress bar) at the bottom of
// the terminal, which gives way to lines and comes back. Any thread.

#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

namespace actorhost {

class Console {
 public:
  void out(std::string_view line);
  /// Errors and the log: control characters are shown, newlines kept.
  void err(std::string_view line);
  /// What has kept lines of `out` from standard output so far: "No space left on device". Empty when nothing has.
  std::string out_failure();
  /// Shows `text` on the status line of standard error, or removes it when empty. Nothing where that is no terminal.
  void status(std::string_view text);
  /// Other processes of this run draw on the same terminal: lines make room for what they have there. Before other
  /// threads use it.
  void share_terminal() { shared_ = status_columns() > 0; }
  /// Columns of the terminal that standard error goes to; 0 when it is none.
  static int status_columns();

 private:
  void write_line(std::FILE* file, std::string_view line);

  std::mutex mutex_;
  std::string status_;
  int out_error_ = 0;  // the first errno of standard output
  bool shared_ = false;
};

}  // namespace actorhost
