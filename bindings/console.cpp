#include "bindings/console.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <sys/ioctl.h>
#include <unistd.h>

#include "host/base/printable.hpp"

namespace actorhost {

namespace {

constexpr std::string_view kClearLine = "\r\x1b[K";

/// 0 or the errno of what went wrong.
int write_all(std::FILE* file, std::string_view text) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fflush(file) == 0 && written) return 0;
  return errno != 0 ? errno : EIO;
}

}  // namespace

void Console::write_line(std::FILE* file, std::string_view line) {
  std::lock_guard lock(mutex_);
  std::string whole;
  if (!status_.empty() || shared_) {
    // In one write with the line where both go to the terminal, so that no other process draws in between.
    if (isatty(fileno(file)) != 0) {
      whole = kClearLine;
    } else if (!status_.empty()) {
      write_all(stderr, kClearLine);
    }
  }
  whole += line;
  whole += '\n';
  const int error = write_all(file, whole);
  if (file == stdout && out_error_ == 0) out_error_ = error;
  if (!status_.empty()) write_all(stderr, status_);
}

void Console::out(std::string_view line) { write_line(stdout, line); }

void Console::err(std::string_view line) { write_line(stderr, printable(line, Lines::kept)); }

std::string Console::out_failure() {
  std::lock_guard lock(mutex_);
  return out_error_ == 0 ? std::string() : std::strerror(out_error_);
}

void Console::status(std::string_view text) {
  const int columns = status_columns();
  if (columns == 0) return;
  std::lock_guard lock(mutex_);
  if (text.empty() && status_.empty()) return;
  status_ = text.substr(0, static_cast<size_t>(columns) - 1);
  write_all(stderr, std::string(kClearLine) + status_);
}

int Console::status_columns() {
  winsize size{};
  if (isatty(STDERR_FILENO) == 0) return 0;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace actorhost
