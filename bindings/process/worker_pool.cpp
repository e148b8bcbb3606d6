#include "bindings/process/worker_pool.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bindings/process/child_process.hpp"
#include "host/base/fd.hpp"

namespace actorhost {

namespace {

constexpr const char* kWorkerVariable = "ACTORHOST_WORKER";
constexpr uint32_t kLongest = 1U << 30;

Error failure(const char* what) { return {Code::io, std::string(what) + ": " + std::strerror(errno)}; }

bool write_to_socket(int fd, const char* bytes, size_t size) {
  return transfer(bytes, size, [fd](auto* at, size_t left) { return ::send(fd, at, left, MSG_NOSIGNAL); }) == 0;
}

bool read_all(int fd, char* bytes, size_t size) {
  return transfer(bytes, size, [fd](auto* at, size_t left) { return ::recv(fd, at, left, 0); }) == 0;
}

bool write_message(int fd, const std::string& message) {
  const auto size = static_cast<uint32_t>(message.size());
  return message.size() <= kLongest && write_to_socket(fd, reinterpret_cast<const char*>(&size), sizeof size) &&
         write_to_socket(fd, message.data(), message.size());
}

std::optional<std::string> read_message(int fd) {
  uint32_t size = 0;
  if (!read_all(fd, reinterpret_cast<char*>(&size), sizeof size) || size > kLongest) return std::nullopt;
  std::string message(size, '\0');
  if (!read_all(fd, message.data(), size)) return std::nullopt;
  return message;
}

}  // namespace

WorkerPool::~WorkerPool() {
  for (Worker& worker : workers_) {
    if (worker.fd < 0) continue;
    ::close(worker.fd);
    kill(worker.pid, SIGKILL);
    waitpid(worker.pid, nullptr, 0);
  }
}

Result<size_t> WorkerPool::spawn(const std::vector<std::string>& args, const std::string& file) {
  Fd output;
  if (!file.empty()) {
    output = Fd(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!output.valid()) return failure("cannot write the output of a process");
  }
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return failure("cannot make a socket pair");
  const int theirs = dup(fds[1]);  // without close-on-exec
  ::close(fds[1]);
  // On Ctrl-C the parent prints the message.
  auto pid = start_child(args, kWorkerVariable, std::to_string(theirs), Interrupt::ignored, output.get());
  ::close(theirs);
  if (!pid) {
    ::close(fds[0]);
    return pid.error();
  }
  workers_.push_back({*pid, fds[0]});
  return workers_.size() - 1;
}

Status WorkerPool::send(size_t worker, const std::string& message) {
  if (worker < workers_.size() && workers_[worker].fd >= 0 && write_message(workers_[worker].fd, message)) return {};
  return Error{Code::peer_lost, "worker process " + std::to_string(worker) + " has ended"};
}

std::string WorkerPool::reap(Worker& worker) {
  ::close(worker.fd);
  worker.fd = -1;
  int status = 0;
  if (waitpid(worker.pid, &status, 0) != worker.pid) return "unknown";
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

Result<std::optional<WorkerPool::Received>> WorkerPool::receive(int milliseconds) {
  std::vector<size_t> running;
  std::vector<pollfd> fds;  // poll takes at most as many as this process may open
  for (size_t i = 0; i < workers_.size(); ++i) {
    const size_t at = (next_ + i) % workers_.size();
    if (workers_[at].fd < 0) continue;
    running.push_back(at);
    fds.push_back({workers_[at].fd, POLLIN, 0});
  }
  const int ready = poll(fds.data(), fds.size(), milliseconds);
  if (ready < 0 && errno != EINTR) return failure("cannot wait for the worker processes");
  for (size_t i = 0; ready > 0 && i < fds.size(); ++i) {
    if (fds[i].revents == 0) continue;
    const size_t at = running[i];
    next_ = at + 1;
    Received received{at, read_message(workers_[at].fd), {}};
    if (!received.message) received.how = reap(workers_[at]);
    return std::optional(std::move(received));
  }
  return std::optional<Received>();
}

std::optional<WorkerChannel> WorkerChannel::take_from_environment() {
  const int fd = take_descriptor(kWorkerVariable);
  return fd < 0 ? std::nullopt : std::optional(WorkerChannel(fd));
}

std::optional<std::string> WorkerChannel::receive() const { return read_message(fd_); }

Status WorkerChannel::send(const std::string& message) const {
  if (write_message(fd_, message)) return {};
  return Error{Code::peer_lost, "the parent process has ended"};
}

}  // namespace actorhost
