#include "tests/integration/process.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <regex>
#include <stdexcept>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorhost {

namespace {

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

struct Pipe : private NonCopyable {
  int read_end = -1;
  int write_end = -1;

  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe");
    read_end = ends[0];
    write_end = ends[1];
  }
  ~Pipe() {
    close_read();
    close_write();
  }
  void close_read() { close_end(read_end); }
  void close_write() { close_end(write_end); }

 private:
  static void close_end(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
};

// Whether the variable changes the behaviour of a host: tests set such variables themselves or not at all.
bool belongs_to_a_launcher(std::string_view name) {
  for (const std::string_view prefix : {"ACTORHOST_", "SLURM_", "OMPI_", "PMI_", "MPI_", "TORCHELASTIC_"}) {
    if (name.starts_with(prefix)) return true;
  }
  for (const std::string_view whole : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK",
                                       "MASTER_ADDR", "MASTER_PORT", "JOB_COMPLETION_INDEX"}) {
    if (name == whole) return true;
  }
  return false;
}

std::vector<std::string> environment_of(const ProcessOptions& options) {
  std::vector<std::string> result;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view line = *at;
    const std::string name(line.substr(0, line.find('=')));
    if (!belongs_to_a_launcher(name) && !options.env.contains(name)) result.emplace_back(line);
  }
  for (const auto& [name, value] : options.env) {
    if (value) result.push_back(name + "=" + *value);
  }
  return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (std::string& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// The data that the child needs after fork, where it must not allocate.
struct Launch {
  const char* program;
  char* const* argv;
  char* const* envp;
  const char* cwd;  // nullptr: stay
  pid_t parent;
  int in, out, err, report;
};

[[noreturn]] void become(const Launch& launch) {
  const auto give_up = [&launch] {
    const int number = errno;
    const ssize_t ignored = ::write(launch.report, &number, sizeof number);
    ::_exit(ignored < 0 ? 126 : 127);
  };
  ::setpgid(0, 0);
  // The program ends with the test, even if ctest kills the test at its deadline.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launch.parent) ::_exit(127);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int number = 1; number < 32; ++number) ::signal(number, SIG_DFL);
  if (::dup2(launch.in, 0) < 0 || ::dup2(launch.out, 1) < 0 || ::dup2(launch.err, 2) < 0) give_up();
  if (launch.cwd != nullptr && ::chdir(launch.cwd) != 0) give_up();
  ::execvpe(launch.program, launch.argv, launch.envp);
  give_up();
  ::_exit(127);
}

std::chrono::steady_clock::time_point deadline_in(double seconds) {
  return std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                std::chrono::duration<double>(seconds * patience()));
}

/// Also false for an ended process that its parent has not reaped.
bool runs(pid_t process) {
  std::string stat;
  try {
    stat = read_text("/proc/" + std::to_string(process) + "/stat");
  } catch (const std::runtime_error&) {
    return false;
  }
  const size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.at(name_end + 2) != 'Z' && stat.at(name_end + 2) != 'X';
}

}  // namespace

// `collector` reads the pipes and `waiter` waits for the end; both end before State is destroyed. The program is not
// reaped before the destructor, so the system cannot reuse its process id and group: no signal reaches another process.
struct Process::State {
  std::string command;
  pid_t pid = -1;
  Pipe out_pipe, err_pipe, wake_pipe;

  mutable std::mutex mutex;
  std::condition_variable changed;
  std::string out, err;
  std::optional<int> status;
  bool finished = false;  // the status is known and the output is complete

  std::thread feeder, collector, waiter;

  void start(const std::string& program, std::vector<std::string> args, const ProcessOptions& options);
  void feed(int fd, const std::string& input) const;
  void collect();
  bool take(int fd, std::string& into);
  void await_end();
  void stop();

  template <typename Done>
  bool wait_until(double seconds, Done done) {
    std::unique_lock lock(mutex);
    return changed.wait_until(lock, deadline_in(seconds), done);
  }
};

void Process::State::start(const std::string& program, std::vector<std::string> args, const ProcessOptions& options) {
  command = program;
  for (const std::string& arg : args) command += " " + arg;
  args.insert(args.begin(), program);
  std::vector<std::string> environment = environment_of(options);
  const std::vector<char*> argv = pointers_to(args);
  const std::vector<char*> envp = pointers_to(environment);
  Pipe in_pipe;
  Pipe report_pipe;
  const Launch launch{
      program.c_str(),      argv.data(),      envp.data(),        options.cwd.empty() ? nullptr : options.cwd.c_str(),
      ::getpid(),           in_pipe.read_end, out_pipe.write_end, err_pipe.write_end,
      report_pipe.write_end};
  pid = ::fork();
  if (pid < 0) fail("fork");
  if (pid == 0) become(launch);
  ::setpgid(pid, pid);  // whichever thread is first
  out_pipe.close_write();
  err_pipe.close_write();
  in_pipe.close_read();
  report_pipe.close_write();
  int number = 0;
  ssize_t got = 0;
  while ((got = ::read(report_pipe.read_end, &number, sizeof number)) < 0 && errno == EINTR) {
  }
  if (got > 0) {
    ::waitpid(pid, nullptr, 0);
    errno = number;
    fail("cannot start " + program);
  }
  for (const int fd : {out_pipe.read_end, err_pipe.read_end}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
  collector = std::thread([this] { collect(); });
  waiter = std::thread([this] { await_end(); });
  if (!options.input.empty()) {
    feeder = std::thread([this, fd = std::exchange(in_pipe.write_end, -1), input = options.input] { feed(fd, input); });
  }
}

// Ends early if the program closes its standard input; only this thread blocks SIGPIPE.
void Process::State::feed(int fd, const std::string& input) const {
  sigset_t pipe_signal;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);
  size_t written = 0;
  while (written < input.size()) {
    const ssize_t put = ::write(fd, input.data() + written, input.size() - written);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) break;
    written += static_cast<size_t>(put);
  }
  ::close(fd);
}

// Reads the available bytes; returns false if the other end is closed.
bool Process::State::take(int fd, std::string& into) {
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    const std::lock_guard lock(mutex);
    into.append(buffer.data(), static_cast<size_t>(got));
    changed.notify_all();
  }
}

// Collects output until the program has ended, which await_end signals through the wake pipe. A pipe may stay open
// longer if the program has left children; the program's own output is complete by then.
void Process::State::collect() {
  std::array<pollfd, 3> watched{
      {{out_pipe.read_end, POLLIN, 0}, {err_pipe.read_end, POLLIN, 0}, {wake_pipe.read_end, POLLIN, 0}}};
  for (;;) {
    if (::poll(watched.data(), watched.size(), -1) < 0) continue;
    const bool ended = watched[2].revents != 0;
    if (watched[0].fd >= 0 && !take(watched[0].fd, out)) watched[0].fd = -1;
    if (watched[1].fd >= 0 && !take(watched[1].fd, err)) watched[1].fd = -1;
    if (ended) break;
  }
  const std::lock_guard lock(mutex);
  finished = true;
  changed.notify_all();
}

void Process::State::await_end() {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  {
    const std::lock_guard lock(mutex);
    status = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
  }
  wake_pipe.close_write();
}

void Process::State::stop() {
  if (pid < 0) return;
  ::kill(-pid, SIGKILL);
  if (waiter.joinable()) waiter.join();
  if (collector.joinable()) collector.join();
  if (feeder.joinable()) feeder.join();
  ::waitpid(pid, nullptr, 0);
  pid = -1;
}

Process::Process(const std::string& program, std::vector<std::string> args, const ProcessOptions& options)
    : state_(std::make_unique<State>()) {
  state_->start(program, std::move(args), options);
}

Process::~Process() {
  if (state_) state_->stop();
}

Process::Process(Process&&) noexcept = default;

pid_t Process::pid() const { return state_->pid; }

bool Process::running() const {
  const std::lock_guard lock(state_->mutex);
  return !state_->status.has_value();
}

std::optional<int> Process::wait(double seconds) {
  if (!state_->wait_until(seconds, [this] { return state_->finished; })) return std::nullopt;
  return state_->status;
}

bool Process::wait_for_output(std::string_view text, double seconds) {
  bool there = false;
  state_->wait_until(seconds, [&] {
    there = state_->out.find(text) != std::string::npos || state_->err.find(text) != std::string::npos;
    return there || state_->finished;
  });
  return there;
}

std::optional<std::string> Process::wait_for_match(const std::string& pattern, double seconds) {
  const std::regex regex(pattern);
  std::smatch match;
  std::optional<std::string> found;
  const auto matches = [this, &regex, &match, &found] {
    if (std::regex_search(state_->out, match, regex) || std::regex_search(state_->err, match, regex)) {
      found = match[match.size() > 1 ? 1 : 0].str();
    }
    return found.has_value() || state_->finished;
  };
  state_->wait_until(seconds, matches);
  return found;
}

void Process::signal(int number) { ::kill(state_->pid, number); }

void Process::signal_group(int number) { ::kill(-state_->pid, number); }

std::string Process::out() const {
  const std::lock_guard lock(state_->mutex);
  return state_->out;
}

std::string Process::err() const {
  const std::lock_guard lock(state_->mutex);
  return state_->err;
}

std::string Process::describe() const {
  const std::lock_guard lock(state_->mutex);
  const std::string end = state_->status ? "ended with " + std::to_string(*state_->status) : "still running";
  return "$ " + state_->command + "\n" + end + "\n--- stdout\n" + state_->out + "--- stderr\n" + state_->err;
}

Finished run_program(const std::string& program, std::vector<std::string> args, double seconds,
                     const ProcessOptions& options) {
  Process process(program, std::move(args), options);
  const std::optional<int> status = process.wait(seconds);
  return {status, process.out(), process.err(), process.describe()};
}

std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string actorhost_binary() { return ACTORHOST_BINARY; }

std::filesystem::path source_dir() { return ACTORHOST_SOURCE_DIR; }

bool ends_within(pid_t process, double seconds) {
  const auto deadline = deadline_in(seconds);
  while (runs(process)) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    ::poll(nullptr, 0, 1);
  }
  return true;
}

double patience() {
#ifdef ACTORHOST_SANITIZED
  return 10;
#else
  return 3;
#endif
}

TempDir::TempDir(const std::filesystem::path& parent) {
  std::string pattern = (parent / "actorhost-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) fail("mkdtemp " + pattern);
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path TempDir::write(const std::string& name, std::string_view text) const {
  std::filesystem::create_directories((path_ / name).parent_path());
  std::ofstream file(path_ / name, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) fail("cannot write " + (path_ / name).string());
  return path_ / name;
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

FreePort::FreePort() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (fd_ < 0) fail("socket");
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(fd_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    ::close(fd_);
    fail("cannot bind a port of 127.0.0.1");
  }
  port_ = ntohs(address.sin_port);
}

FreePort::~FreePort() { ::close(fd_); }

std::string FreePort::endpoint() const { return "127.0.0.1:" + std::to_string(port_); }

}  // namespace actorhost
