#pragma once
// A terminal prompt over libedit (LineEditor), and the stored lines of prompt sessions (HistoryFile). The first editor
// loads libedit. A process has one LineEditor, used by one thread. While the prompt waits for a key it polls `idle`, so
// that output of others appears above the input line.

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"

namespace actorhost {

/// The input lines of prompt sessions, stored one per line in a file that only its owner may read. Concurrent sessions
/// append to the same file. A session that opens a long file truncates it to the newest lines.
class HistoryFile {
 public:
  /// Makes a missing file and its folder on first use. An empty path stores nothing.
  HistoryFile(std::string path, size_t most) : path_(std::move(path)), most_(most) {}

  /// The newest lines, oldest first.
  Result<std::vector<std::string>> load() const;
  Status add(const std::string& line) const;

 private:
  std::string path_;
  size_t most_;
};

class LineEditor : private NonCopyable {
 public:
  /// The result of the Tab key: text to insert at the cursor, and lines to show above the prompt. Either may be empty.
  struct Completion {
    std::string insert;
    std::string list;
  };
  /// The result of `idle`: text to show above the input line, and whether to end the prompt.
  struct IdleResult {
    std::string text;
    bool end = false;
  };
  struct Calls {
    std::function<Completion(std::string_view before, std::string_view after)> complete;
    std::function<IdleResult()> idle;  // about every 50 milliseconds
  };
  enum class Outcome { line, interrupt, end, woken };  // Enter, Ctrl-C, Ctrl-D or a lost terminal, `idle`
  struct Read {
    Outcome outcome = Outcome::end;
    std::string line;
  };

  /// Fails with Code::unsupported when standard input or output is no terminal, or without libedit. Saves the history
  /// in `file` (an empty name: nowhere), one entry per line, the last `most` entries.
  static Result<std::unique_ptr<LineEditor>> open(const std::string& file, size_t most);
  ~LineEditor();

  /// Shows the prompt and blocks until the user has entered a line.
  Read read(const std::string& prompt, Calls calls);
  /// Restores the terminal's state before the first prompt, for a process that ends by _exit. Thread-safe.
  static void restore_terminal();
  /// Appends a line to the history and at once to its file, so that concurrent sessions share it. Returns the error if
  /// the file cannot be written.
  Status remember(const std::string& line);

 private:
  struct State;
  explicit LineEditor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace actorhost
