#include "bindings/process/console.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "host/base/printable.hpp"

namespace actorhost {

namespace {

constexpr std::string_view kClearLine = "\r\x1b[K";
constexpr double kBurst = 0.001;  // seconds; lines at shorter intervals are gathered
constexpr double kLate = 0.001;   // seconds; delay of gathered lines; a killed process loses them
constexpr size_t kMostWaiting = size_t{64} << 10;

constexpr size_t kSpare = 3;  // columns kept free on a status line: the terminal may write ^C behind it

/// The width of the terminal; 0 when standard error is no terminal.
size_t terminal_columns() {
  winsize size{};
  if (isatty(STDERR_FILENO) == 0) return 0;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

double now() { return SteadyClock().now(); }

/// Holds this process's turn to write during its lifetime; -1: no other process writes. A process that was suspended
/// while it wrote does not release its turn: then the others write without a turn after `kTurn`, and `wait` is false
/// until a turn succeeds again.
class Turn : private NonCopyable {
 public:
  Turn(int lock, bool& wait) : lock_(lock) {
    if (lock_ < 0) return;
    const double limit = now() + (wait ? kTurn : 0);
    auto pause = std::chrono::microseconds(20);
    while (!(wait = set(F_WRLCK)) && now() < limit) {
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, kLongestPause);
    }
  }
  ~Turn() {
    if (lock_ >= 0) set(F_UNLCK);
  }

 private:
  static constexpr double kTurn = 1;  // seconds
  static constexpr std::chrono::microseconds kLongestPause{2000};

  bool set(short type) const {
    struct flock range {};
    range.l_type = type;
    range.l_whence = SEEK_SET;
    return fcntl(lock_, F_OFD_SETLK, &range) == 0;
  }
  const int lock_;
};

/// Blocks SIGPIPE for this thread during its lifetime.
class NoBrokenPipe : private NonCopyable {
 public:
  explicit NoBrokenPipe(bool wanted) : wanted_(wanted) {
    if (!wanted_) return;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipe() {
    if (!wanted_) return;
    const timespec now{};
    while (sigtimedwait(&pipe_, nullptr, &now) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  const bool wanted_;
  sigset_t pipe_{};
  sigset_t before_{};
};

/// Writes all of `text`, also to a non-blocking file (O_NONBLOCK). Returns 0 or the errno of the failure.
int write_whole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (written < 0 && errno == EAGAIN) {
      pollfd ready{fd, POLLOUT, 0};
      poll(&ready, 1, -1);
    } else if (written < 0 && errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

size_t characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

/// The first `most` characters of UTF-8 text.
std::string_view cut(std::string_view text, size_t most) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    if (begins_character(text[at]) && most-- == 0) break;
  }
  return text.substr(0, at);
}

}  // namespace

/// Writes `text` behind the C library's buffered output. Returns 0 or the errno of the failure.
int Console::write_all(std::FILE* file, std::string_view text) {
  int error = 0;
  spoke_ = true;
  {
    const NoBrokenPipe none(closed_ != nullptr);
    const Turn turn(turns_, waits_for_turn_);
    if (std::fflush(file) != 0) error = errno;
    if (error == 0) error = write_whole(fileno(file), text);
  }
  if (error == EPIPE && closed_) closed_();
  return error;
}

void Console::take_turns(int lock) {
  std::lock_guard guard(mutex_);
  turns_ = lock;
}

void Console::on_closed(std::function<void()> closed) {
  std::lock_guard lock(mutex_);
  closed_ = std::move(closed);
}

Console::Console() : gathers_(isatty(STDOUT_FILENO) == 0), spoken_(now()) {}

Console::~Console() {
  finish();
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (late_writer_.joinable()) late_writer_.join();
}

/// The text that clears the status line. A line drawn in a wider window now covers several rows.
std::string Console::cleared() const {
  const size_t columns = std::max<size_t>(1, terminal_columns());
  const size_t above = drawn_ > columns ? (drawn_ - 1) / columns : 0;
  return above == 0 ? std::string(kClearLine) : "\r\x1b[" + std::to_string(above) + "A\x1b[J";
}

/// Writes `text` to the terminal, followed by the status line.
void Console::draw(std::string_view text) {
  const std::string_view shown = cut(status_, static_cast<size_t>(std::max(0, status_columns())));
  write_all(stderr, cleared().append(text).append(shown));
  drawn_ = characters(shown);
}

void Console::write_waiting() {
  if (waiting_.empty()) return;
  const int error = write_all(stdout, waiting_);
  if (out_error_ == 0) out_error_ = error;
  waiting_.clear();
  written_ = now();
}

/// Writes gathered lines after their delay. Runs on its own thread.
void Console::write_late() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (waiting_.empty()) {
      changed_.wait(lock);
    } else if (!changed_.wait_for(lock, kLate, [this] { return ending_; })) {
      write_waiting();
    }
  }
}

void Console::out(std::string_view line) {
  std::lock_guard lock(mutex_);
  if (!gathers_) return write_line(stdout, line);
  const bool first = waiting_.empty();
  waiting_.append(line) += '\n';
  if (waiting_.size() >= kMostWaiting || (first && now() - written_ > kBurst)) return write_waiting();
  if (!first) return;
  if (!late_writer_.joinable()) late_writer_ = Task([this] { write_late(); });
  changed_.notify_one();
}

void Console::err(std::string_view line) {
  std::lock_guard lock(mutex_);
  write_waiting();
  write_line(stderr, printable(line, Lines::kept));
}

void Console::error_text(std::string_view text) {
  std::lock_guard lock(mutex_);
  write_all(stderr, text);
}

/// Writes a line. On the terminal the same write clears the status line, so that no other process draws between.
void Console::write_line(std::FILE* file, std::string_view line) {
  const bool clears = drawn_ > 0 || shared_;
  std::string whole;
  if (clears && isatty(fileno(file)) != 0) {
    whole = cleared();
  } else if (drawn_ > 0) {
    write_all(stderr, cleared());
  }
  whole.append(line) += '\n';
  const int error = write_all(file, whole);
  if (file == stdout && out_error_ == 0) out_error_ = error;
  if (drawn_ == 0) return;
  drawn_ = 0;
  draw({});
}

std::string Console::out_failure() {
  const int error = out_error();
  return error == 0 ? std::string() : std::strerror(error);
}

int Console::out_error() {
  std::lock_guard lock(mutex_);
  write_waiting();
  return out_error_;
}

std::string Console::status_text() {
  std::lock_guard lock(mutex_);
  return keeps_ ? status_ : "";
}

void Console::status(std::string_view text) {
  const bool drawn = !keeps_ && status_columns() > 0;
  std::lock_guard lock(mutex_);
  if (!drawn) status_ = finished_ ? "" : text;
  if (!drawn || finished_ || (text.empty() && drawn_ == 0)) return;
  status_ = text;
  draw({});
}

std::optional<std::string> Console::overdue_status(double seconds) {
  if (keeps_ || status_columns() > 0) return std::nullopt;
  std::lock_guard lock(mutex_);
  const double time = now();
  if (std::exchange(spoke_, false)) spoken_ = time;
  if (finished_ || !waiting_.empty() || time - spoken_ < seconds) return std::nullopt;
  spoken_ = time;
  return status_;
}

void Console::finish(bool may_wait) {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (may_wait) lock.lock();
  if (!may_wait && !lock.try_lock()) return;
  write_waiting();
  finished_ = true;
  status_.clear();
  if (drawn_ > 0) draw({});
}

int Console::status_columns() {
  const size_t columns = terminal_columns();
  return columns == 0 ? 0 : static_cast<int>(std::max(columns, kSpare + 1) - kSpare);
}

}  // namespace actorhost
