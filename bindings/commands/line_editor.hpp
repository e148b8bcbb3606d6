#pragma once
// A prompt in a terminal, over libedit, which is loaded when the first editor is made. One editor a process, used by
// one thread. While it waits for a key it calls `idle`, so that lines of others appear above the one being typed.

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "host/base/result.hpp"

namespace actorhost {

class LineEditor {
 public:
  /// What the Tab key does: text for the place of the cursor, and lines to show above the prompt (either may be empty).
  struct Completion {
    std::string insert;
    std::string list;
  };
  /// What came while the editor waited: a text to show above the line; whether the prompt is to end.
  struct News {
    std::string text;
    bool end = false;
  };
  struct Calls {
    std::function<Completion(std::string_view before, std::string_view after)> complete;
    std::function<News()> idle;  // about every 50 milliseconds
  };
  enum class How { line, interrupt, end, woken };  // Enter, Ctrl-C, Ctrl-D or a lost terminal, `idle`
  struct Read {
    How how = How::end;
    std::string line;
  };

  /// Fails when standard input or output is no terminal (Code::unsupported), or without libedit (the same). History is
  /// kept in `file` (none where empty): one entry a line, the last `most` of them.
  static Result<std::unique_ptr<LineEditor>> open(const std::string& file, size_t most);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  /// Shows the prompt and blocks until a line has been typed.
  Read read(const std::string& prompt, Calls calls);
  /// Puts the terminal back as it was before the first prompt: for a process that ends by _exit. Any thread.
  static void restore_terminal();
  /// Adds a line to the history, and to its file at once: sessions that are open together keep the lines of both.
  /// Returns why the file could not be written.
  Status remember(const std::string& line);

 private:
  struct State;
  explicit LineEditor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace actorhost
