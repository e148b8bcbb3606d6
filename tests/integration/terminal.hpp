#pragma once
// A program in a terminal, for tests that type: tmux is the terminal, with a server of its own that ends with the test.
//
//   Terminal terminal(folder, {"repl", "-n", "2"});
//   REQUIRE(terminal.shows("all> "));
//   terminal.type("1 + 1\n");
//   CHECK(terminal.shows("2"));

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace actorhost::test {

class Terminal : private NonCopyable {
 public:
  /// Whether tmux is installed; warns if not.
  static bool can_be();

  /// Runs actorhost with `words` in the folder, in a terminal of 100 columns and 30 lines.
  Terminal(const JobFolder& folder, const Words& words);
  ~Terminal();

  /// Types the text; a newline is the Enter key.
  void type(const std::string& text);
  /// Pastes the text, like a terminal does.
  void paste(const std::string& text);
  /// Presses a key by tmux's name: "Tab", "C-c", "Up".
  void press(const std::string& key);
  void resize(int columns, int rows);
  /// The screen and its scrollback.
  std::string screen() const;
  /// Waits until the screen contains the text.
  bool shows(const std::string& text, double seconds = 20) const;
  /// Presses Tab until the screen contains the text: a busy node may reply too late to a Tab.
  bool completes_to(const std::string& text);
  /// The exit code of the program after its end.
  std::optional<int> ended(double seconds = 20) const;

 private:
  std::string tmux(const Words& words) const;

  TempDir dir_;
  std::filesystem::path code_file_;
  std::unique_ptr<Process> server_;
};

}  // namespace actorhost::test
