#pragma once
// Receives SIGINT and SIGTERM, and SIGUSR1 in a child of --isolate, through a file descriptor during its lifetime;
// `post` adds other signals. Made before any thread, so that all threads inherit the signal mask. One thread waits;
// `post` and `finish` are thread-safe.

#include <atomic>
#include <csignal>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "host/base/non_copyable.hpp"

namespace actorhost {

class SignalWatch : private NonCopyable {
 public:
  explicit SignalWatch(bool wanted, bool child = false)
      : done_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), posted_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!wanted) return;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    if (child) sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, &before_);
    signals_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  }
  ~SignalWatch() {
    ::close(done_);
    ::close(posted_);
    if (signals_ < 0) return;
    ::close(signals_);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

  /// The received signal; 0 after `finish`, after the time has passed, or when the file `other` is readable.
  /// -1 milliseconds waits forever.
  int wait(int milliseconds, int other = -1) const {
    pollfd fds[4] = {{done_, POLLIN, 0}, {signals_, POLLIN, 0}, {posted_, POLLIN, 0}, {other, POLLIN, 0}};
    if (poll(fds, 4, milliseconds) <= 0 || fds[0].revents != 0) return 0;
    eventfd_t signal = 0;
    if (fds[2].revents != 0 && eventfd_read(posted_, &signal) == 0) return static_cast<int>(signal);
    signalfd_siginfo info{};
    return read(signals_, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
  }
  /// Acts as if the process had received the signal. Later calls have no effect. Thread-safe.
  void post(int signal) const {
    if (!is_posted_.test_and_set()) (void)!eventfd_write(posted_, static_cast<eventfd_t>(signal));
  }
  /// Whether `finish` was called.
  bool finished() const {
    pollfd done{done_, POLLIN, 0};
    return poll(&done, 1, 0) > 0;
  }
  void finish() const { (void)!eventfd_write(done_, 1); }

 private:
  int done_;
  int posted_;
  mutable std::atomic_flag is_posted_;
  int signals_ = -1;
  sigset_t before_{};
};

}  // namespace actorhost
