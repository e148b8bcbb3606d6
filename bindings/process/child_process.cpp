#include "bindings/process/child_process.hpp"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/base/fd.hpp"

namespace actorhost {

namespace {

constexpr const char* kThisProgram = "/proc/self/exe";

std::vector<std::string> environment_with(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> out;
  for (const auto& [name, value] : variables) out.push_back(name + "=" + value);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!variables.contains(std::string(text.substr(0, text.find('='))))) out.emplace_back(text);
  }
  return out;
}

/// The words as exec expects them; `words` must outlive the result.
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

/// Makes `file` the standard file `number`.
void use_as(int file, int number) {
  if (file >= 0) dup2(file, number);
}

/// Runs in the child and calls only async-signal-safe functions. Writes the error number of a failure to `failure`.
[[noreturn]] void become(const ChildProgram& program, char** argv, char** env, pid_t parent, int failure) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(3);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (program.interrupt == Interrupt::ignored) signal(SIGINT, SIG_IGN);
  // The terminal's Ctrl-C must not arrive: a blocked signal reaches a signalfd even when ignored.
  if (program.own_group) setpgid(0, 0);
  use_as(program.files.input, STDIN_FILENO);
  use_as(program.files.output, STDOUT_FILENO);
  use_as(program.files.error, STDERR_FILENO);
  if (program.folder.empty() || chdir(program.folder.c_str()) == 0) {
    execvpe(program.path.empty() ? kThisProgram : program.path.c_str(), argv, env);
  }
  const int number = errno;
  (void)!write(failure, &number, sizeof number);
  _exit(127);
}

}  // namespace

Result<pid_t> start_program(const ChildProgram& program) {
  std::vector<std::string> words = {program.path.empty() ? "actorhost" : program.path};
  words.insert(words.end(), program.words.begin(), program.words.end());
  std::vector<std::string> environment = environment_with(program.variables);
  std::vector<char*> argv = pointers_to(words);
  std::vector<char*> env = pointers_to(environment);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Error{Code::io, std::string("cannot make a pipe: ") + std::strerror(errno)};
  const Fd result(ends[0]);
  Fd failure(ends[1]);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) become(program, argv.data(), env.data(), parent, failure.get());
  if (pid < 0) return Error{Code::io, std::string("cannot start a process: ") + std::strerror(errno)};
  failure = Fd();
  int number = 0;
  if (transfer(reinterpret_cast<char*>(&number), sizeof number,
               [&](auto* at, size_t left) { return ::read(result.get(), at, left); }) != 0) {
    return pid;
  }
  waitpid(pid, nullptr, 0);
  const std::string where = program.folder.empty() ? "" : " in " + program.folder;
  return Error{Code::io, "cannot start '" + words.front() + "'" + where + ": " + std::strerror(number)};
}

Result<pid_t> start_child(const std::vector<std::string>& args, const std::string& variable, const std::string& value,
                          Interrupt interrupt, int output) {
  ChildProgram program;
  program.words = args;
  program.variables = {{variable, value}};
  program.interrupt = interrupt;
  if (output < 0) return start_program(program);
  const Fd no_input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  program.files = {no_input.get(), output, output};
  program.own_group = true;
  return start_program(program);
}

int take_descriptor(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return -1;
  int file = -1;
  std::from_chars(text, text + std::strlen(text), file);
  unsetenv(variable);
  if (file <= STDERR_FILENO) return -1;
  fcntl(file, F_SETFD, FD_CLOEXEC);
  return file;
}

int exit_code_of_status(int status) noexcept {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace actorhost
