#pragma once
// A browser without a window for tests of pages: Debian's chromium, driven over its debugging pipe. Owned and used by
// the thread of the test; the destructor ends the browser.

#include <nlohmann/json.hpp>

#include "tests/integration/process.hpp"
#include "tests/test.hpp"

namespace actorhost::test {

class Chromium : private NonCopyable {
 public:
  /// Whether chromium is installed on this machine.
  static bool installed();
  Chromium();
  ~Chromium();

  /// The size of the page in pixels, and its preferred colour scheme.
  void set_viewport(int width, int height, bool dark);
  void go(const std::string& url);
  /// Refuses new connections of the page until it is online again. An open stream continues.
  void set_offline(bool offline);
  /// The value of a JavaScript expression.
  nlohmann::json value(const std::string& expression);
  /// Waits until an expression is true; returns false after `seconds` (times `patience`).
  bool wait_for(const std::string& expression, double seconds);
  /// Presses and releases a key: "Tab".
  void press(const std::string& key, int code);
  /// The whole page as a PNG.
  void screenshot(const std::filesystem::path& file);
  /// Errors that the page has raised or the console has shown.
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  nlohmann::json call(const std::string& method, nlohmann::json arguments = nlohmann::json::object());
  nlohmann::json next_message();

  TempDir folder_;
  int to_ = -1;
  int from_ = -1;
  std::unique_ptr<Process> process_;
  std::string received_;
  std::string session_;
  int last_call_ = 0;
  std::vector<std::string> complaints_;
};

}  // namespace actorhost::test
