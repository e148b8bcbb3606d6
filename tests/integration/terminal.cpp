#include "tests/integration/terminal.hpp"

namespace actorhost::test {

bool Terminal::can_be() {
  const bool there = run_program("sh", {"-c", "command -v tmux"}, 10).status == 0;
  if (!there) WARN("test-skipped: tmux is not installed");
  return there;
}

Terminal::Terminal(const JobFolder& folder, const Words& words) : code_file_(dir_ / "code") {
  std::string command = "trap : INT; cd " + shell_word(folder.path()) + "; env";
  for (const auto& [name, value] : folder.options().env) {
    command += value ? " " + name + "=" + shell_word(*value) : " -u " + name;
  }
  command += " HOME=" + shell_word(folder.path()) + " XDG_STATE_HOME=" + shell_word(folder.path() / "state") + " " +
             shell_word(actorhost_binary());
  for (const std::string& word : words) command += " " + shell_word(word);
  command += "; echo $? > " + shell_word(code_file_);
  dir_.write("run.sh", command);
  dir_.write("tmux.conf",
             "set -g default-terminal screen\nset -g remain-on-exit on\nset -sg escape-time 0\n"
             "new-session -d -x 100 -y 30 'sh " +
                 (dir_ / "run.sh").string() + "'\n");
  server_ = std::make_unique<Process>("tmux", Words{"-u", "-S", dir_ / "socket", "-f", dir_ / "tmux.conf", "-D"},
                                      ProcessOptions{.env = {{"TMUX", std::nullopt}}});
  REQUIRE(wait_until([this] { return !screen().empty(); }, 20));
}

Terminal::~Terminal() { tmux({"kill-server"}); }

std::string Terminal::tmux(const Words& words) const {
  return run_program("tmux", with({"-u", "-S", dir_ / "socket"}, words), 10).out;
}

void Terminal::type(const std::string& text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    if (!line.empty()) tmux({"send-keys", "-l", line});
    if (end == std::string::npos) return;
    press("Enter");
    at = end + 1;
  }
}

void Terminal::press(const std::string& key) { tmux({"send-keys", key}); }

void Terminal::paste(const std::string& text) {
  dir_.write("pasted", text);
  tmux({"load-buffer", dir_ / "pasted"});
  tmux({"paste-buffer", "-p", "-r"});
}

void Terminal::resize(int columns, int rows) {
  tmux({"resize-window", "-x", std::to_string(columns), "-y", std::to_string(rows)});
}

std::string Terminal::screen() const { return tmux({"capture-pane", "-p", "-J", "-S", "-500"}); }

bool Terminal::shows(const std::string& text, double seconds) const {
  const bool there = wait_until([&] { return screen().find(text) != std::string::npos; }, seconds);
  if (!there) WARN("'" + text + "' is not on the screen:\n" + screen());
  return there;
}

bool Terminal::completes_to(const std::string& text) {
  const auto there = [&] { return screen().find(text) != std::string::npos; };
  const auto press_tab = [&] {
    press("Tab");
    return wait_until(there, 1);
  };
  return wait_until(press_tab, 20) || shows(text, 0);
}

std::optional<int> Terminal::ended(double seconds) const {
  if (!wait_until([this] { return std::filesystem::exists(code_file_); }, seconds)) {
    WARN("the program has not ended:\n" + screen());
    return std::nullopt;
  }
  int code = -1;
  const bool read = wait_until([&] { return std::sscanf(read_text(code_file_).c_str(), "%d", &code) == 1; }, 5);
  return read ? std::optional(code) : std::nullopt;
}

}  // namespace actorhost::test
