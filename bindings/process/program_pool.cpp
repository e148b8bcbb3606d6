#include "bindings/process/program_pool.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorhost {

namespace {

constexpr size_t kMostAtOnce = size_t{64} << 10;  // bytes of one event

Error pool_failure(const char* operation) { return {Code::io, std::string(operation) + ": " + std::strerror(errno)}; }

struct PipeEnds {
  Fd read, write;
};

Result<PipeEnds> output_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return pool_failure("cannot make a pipe");
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return PipeEnds{Fd(ends[0]), Fd(ends[1])};
}

/// A socket pair, because a write to a pipe without a reader raises SIGPIPE.
Result<PipeEnds> input_pipe() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return pool_failure("cannot make a socket pair");
  shutdown(ends[1], SHUT_RD);
  return PipeEnds{Fd(ends[0]), Fd(ends[1])};
}

}  // namespace

ProgramPool::~ProgramPool() {
  for (const Program& program : programs_) {
    if (program.pid < 0) continue;
    kill(program.pid, SIGKILL);
    waitpid(program.pid, nullptr, 0);
  }
}

Result<size_t> ProgramPool::start(ChildProgram program, bool piped) {
  Program made;
  PipeEnds input, output, error;
  if (piped) {
    AH_LET(input, input_pipe());
    AH_LET(output, output_pipe());
    AH_LET(error, output_pipe());
    program.files = {input.read.get(), output.write.get(), error.write.get()};
  } else {
    input.read = Fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    program.files = {input.read.get(), -1, -1};
  }
  AH_LET(made.pid, start_program(program));
  made.handle = Fd(static_cast<int>(syscall(SYS_pidfd_open, made.pid, 0)));
  if (!made.handle.valid()) {
    const Error failed = pool_failure("cannot watch a process");
    kill(made.pid, SIGKILL);
    waitpid(made.pid, nullptr, 0);
    return failed;
  }
  made.input = std::move(input.write);
  made.output = std::move(output.read);
  made.error = std::move(error.read);
  programs_.push_back(std::move(made));
  return programs_.size() - 1;
}

void ProgramPool::send(size_t program, std::string_view bytes) {
  if (program < programs_.size() && programs_[program].input.valid()) programs_[program].queued.append(bytes);
}

void ProgramPool::signal(size_t program, int number) const {
  if (program < programs_.size() && programs_[program].pid > 0) kill(programs_[program].pid, number);
}

void ProgramPool::read_input() {
  std::string bytes(kMostAtOnce, '\0');
  const ssize_t got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) watches_input_ = false;
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(0, got)));
  events_.push_back({What::input, 0, std::move(bytes), 0});
}

/// Reads available bytes; closes the file at its end. Returns whether there were bytes.
bool ProgramPool::read_from(size_t program, Fd& file, What what) {
  if (!file.valid()) return false;
  std::string text(kMostAtOnce, '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  if (got > 0) {
    text.resize(static_cast<size_t>(got));
    events_.push_back({what, program, std::move(text), 0});
  } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
    file = Fd();
  }
  return got > 0;
}

void ProgramPool::write_to(Program& program) {
  const ssize_t sent = ::send(program.input.get(), program.queued.data() + program.sent,
                              program.queued.size() - program.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (sent < 0) program.input = Fd();
  if (sent > 0) program.sent += static_cast<size_t>(sent);
  if (sent > 0 && program.sent < program.queued.size()) return;
  program.queued.clear();
  program.sent = 0;
}

/// Reports the end of a program behind the rest of its output. Another process may hold the output open, such as the
/// shared connection of ssh, so this does not wait for the end of the output.
void ProgramPool::reap(size_t at) {
  Program& program = programs_[at];
  int status = 0;
  if (waitpid(program.pid, &status, WNOHANG) != program.pid) return;
  while (read_from(at, program.output, What::output)) {
  }
  while (read_from(at, program.error, What::error)) {
  }
  program.output = Fd();
  program.error = Fd();
  program.pid = -1;
  program.input = Fd();
  program.handle = Fd();
  events_.push_back({What::end, at, {}, exit_code_of_status(status)});
}

Result<std::optional<ProgramPool::Event>> ProgramPool::next(int milliseconds) {
  if (events_.empty()) {
    std::vector<pollfd> fds = {{watches_input_ ? STDIN_FILENO : -1, POLLIN, 0}};
    for (const Program& program : programs_) {
      fds.push_back({program.handle.get(), POLLIN, 0});
      fds.push_back({program.output.get(), POLLIN, 0});
      fds.push_back({program.error.get(), POLLIN, 0});
      fds.push_back({program.queued.empty() ? -1 : program.input.get(), POLLOUT, 0});
    }
    const int ready = poll(fds.data(), fds.size(), milliseconds);
    if (ready < 0 && errno != EINTR) return pool_failure("cannot wait for the programs");
    if (ready > 0 && fds[0].revents != 0) read_input();
    for (size_t i = 0; ready > 0 && i < programs_.size(); ++i) {
      const pollfd* of = &fds[1 + 4 * i];
      if (of[1].revents != 0) read_from(i, programs_[i].output, What::output);
      if (of[2].revents != 0) read_from(i, programs_[i].error, What::error);
      if (of[3].revents != 0) write_to(programs_[i]);
      if (of[0].revents != 0) reap(i);
    }
  }
  if (events_.empty()) return std::optional<Event>();
  Event event = std::move(events_.front());
  events_.pop_front();
  return std::optional(std::move(event));
}

}  // namespace actorhost
