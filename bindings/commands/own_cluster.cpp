#include "bindings/commands/own_cluster.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bindings/process/child_process.hpp"

namespace actorhost {

namespace {

constexpr const char* kConsoleVariable = "ACTORHOST_CONSOLE";
constexpr double kExitSeconds = 3;  // time for nodes to stop

}  // namespace

bool is_console_cluster(const std::string& script) {
  return script == kConsoleJobName && std::getenv(kConsoleVariable) != nullptr;
}

Result<OwnCluster> OwnCluster::start(std::vector<std::string> flags) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Error{Code::io, std::string("cannot make a pipe: ") + std::strerror(errno)};
  flags.insert(flags.begin(), "run");
  flags.emplace_back(kConsoleJobName);
  // Ctrl-C belongs to the console, which sends the cluster the interrupt.
  const auto pid = start_child(flags, kConsoleVariable, "1", Interrupt::ignored, ends[1]);
  ::close(ends[1]);
  if (!pid) {
    ::close(ends[0]);
    return pid.error();
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return OwnCluster(*pid, ends[0]);
}

OwnCluster::OwnCluster(OwnCluster&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), output_(std::exchange(other.output_, -1)), code_(other.code_) {}

OwnCluster::~OwnCluster() {
  if (pid_ > 0) stop();
  if (output_ >= 0) ::close(output_);
}

std::string OwnCluster::output() const {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = ::read(output_, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  return text;
}

std::optional<int> OwnCluster::ended(double seconds) {
  if (code_) return code_;
  const auto handle = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  if (handle >= 0) {
    pollfd process{handle, POLLIN, 0};
    poll(&process, 1, static_cast<int>(seconds * 1000));
    ::close(handle);
  }
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  code_ = exit_code_of_status(status);
  return code_;
}

void OwnCluster::stop() {
  if (code_) return;
  kill(pid_, SIGTERM);
  if (ended(kExitSeconds)) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  code_ = 128 + SIGKILL;
}

}  // namespace actorhost
