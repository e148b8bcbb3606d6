#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>

#include <lua.hpp>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "bindings/commands/lua_command.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/base/clock.hpp"

namespace actorhost {

namespace {

constexpr const char* kScreenModule = "actor.c.screen";
constexpr double kStopCheck = 0.1;  // seconds between two checks for Ctrl-C

void write_terminal(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

/// The first `columns` characters of a UTF-8 line.
std::string_view clipped(std::string_view line, size_t columns) {
  size_t count = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(line[i]) & 0xc0U) != 0x80U;
    if (begins && ++count > columns) return line.substr(0, i);
  }
  return line;
}

winsize terminal_size() {
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 && size.ws_col > 0;
  return known ? size : winsize{24, 80, 0, 0};
}

/// The terminal's alternate screen in unbuffered key mode. Restores the previous screen at its end.
class Screen {
 public:
  ~Screen() { close(); }

  bool open() {
    if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0 || tcgetattr(STDIN_FILENO, &before_) != 0) return false;
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    open_ = tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
    if (open_) write_terminal("\x1b[?1049h\x1b[?25l\x1b[?7l");  // wide lines are cut off
    return open_;
  }

  void close() {
    if (!std::exchange(open_, false)) return;
    write_terminal("\x1b[?7h\x1b[?25h\x1b[?1049l");
    tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }

  /// Omits lines that do not fit, but always shows the last line of `text`.
  void draw(std::string_view text) {
    drawn_ = terminal_size();
    const size_t rows = drawn_.ws_row;
    const size_t columns = drawn_.ws_col;
    const size_t last = text.rfind('\n');
    const std::string_view foot = last == std::string_view::npos ? text : text.substr(last + 1);
    std::string_view body = last == std::string_view::npos ? std::string_view() : text.substr(0, last);
    std::string page = "\x1b[H";
    for (size_t row = 1; row < rows; ++row) {
      const size_t end = std::min(body.find('\n'), body.size());
      page.append(clipped(body.substr(0, end), columns)).append("\x1b[K\r\n");
      body.remove_prefix(std::min(end + 1, body.size()));
    }
    write_terminal(page.append("\x1b[2m").append(clipped(foot, columns)).append("\x1b[0m\x1b[K"));
  }

  bool is_open() const noexcept { return open_; }
  /// Whether the terminal's size has changed since the last draw.
  bool resized() const {
    const winsize now = terminal_size();
    return open_ && (now.ws_row != drawn_.ws_row || now.ws_col != drawn_.ws_col);
  }

 private:
  termios before_{};
  winsize drawn_{};
  bool open_ = false;
};

Screen& screen_of(lua_State* L) { return RegistryObject<Screen>::find(L, kScreenModule); }

/// open() -> whether the terminal could be opened
int open_terminal(lua_State* L) { return push(L, screen_of(L).open()); }

int close_terminal(lua_State* L) {
  screen_of(L).close();
  return 0;
}

/// draw(text)
int draw_page(lua_State* L) {
  screen_of(L).draw(check_text(L, 1, "text", "screen.draw"));
  return 0;
}

/// columns() -> the columns of the terminal at standard output, or nil
int columns_there(lua_State* L) {
  if (isatty(STDOUT_FILENO) == 0) return 0;
  return push(L, terminal_size().ws_col);
}

/// key(seconds) -> the first key pressed in that time; "" when the terminal is closed; nil after the time or a change
/// of size. Without a terminal it only waits.
int read_key(lua_State* L) {
  Vm& vm = Vm::from(L);
  const SteadyClock clock;
  const double end = clock.now() + check_number(L, 1, "seconds", "screen.key");
  for (;;) {
    const double left = end - clock.now();
    if (left <= 0 || screen_of(L).resized()) return 0;
    vm.check_stop(L);
    pollfd input{screen_of(L).is_open() ? STDIN_FILENO : -1, POLLIN, 0};
    if (poll(&input, 1, static_cast<int>(1000 * std::min(left, kStopCheck)) + 1) <= 0) continue;
    char key = 0;
    const ssize_t size = read(STDIN_FILENO, &key, 1);
    if (size < 0 && errno == EINTR) continue;
    lua_pushlstring(L, &key, size == 1 ? 1 : 0);
    return 1;
  }
}

int open_screen_module(lua_State* L) {
  RegistryObject<Screen>::store(L, kScreenModule, std::make_shared<Screen>());
  static const luaL_Reg kFunctions[] = {
      {"open", guarded<open_terminal>}, {"close", guarded<close_terminal>}, {"columns", guarded<columns_there>},
      {"draw", guarded<draw_page>},     {"key", guarded<read_key>},
  };
  return push_functions(L, kFunctions);
}

}  // namespace

void open_screen(Vm& vm) { vm.register_module("actor.c.screen", guarded<open_screen_module>); }

}  // namespace actorhost
