#include "bindings/process/child_process.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace actorhost {

namespace {

std::vector<std::string> environment_with(const std::string& variable, const std::string& value) {
  const std::string ours = variable + "=";
  std::vector<std::string> out = {ours + value};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with(ours)) out.emplace_back(*entry);
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

/// Runs in the child and calls only async-signal-safe functions.
[[noreturn]] void become(char** argv, char** env, pid_t parent, Interrupt interrupt, int output) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(3);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (interrupt == Interrupt::ignored) signal(SIGINT, SIG_IGN);
  if (output >= 0) {
    setpgid(0, 0);  // the terminal's Ctrl-C must not arrive: a blocked signal reaches a signalfd even when ignored
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  }
  execve("/proc/self/exe", argv, env);
  _exit(127);
}

}  // namespace

Result<pid_t> start_child(const std::vector<std::string>& args, const std::string& variable, const std::string& value,
                          Interrupt interrupt, int output) {
  std::vector<std::string> words = {"actorhost"};
  words.insert(words.end(), args.begin(), args.end());
  std::vector<std::string> environment = environment_with(variable, value);
  std::vector<char*> argv = pointers_to(words);
  std::vector<char*> env = pointers_to(environment);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) become(argv.data(), env.data(), parent, interrupt, output);
  if (pid < 0) return Error{Code::io, std::string("cannot start a process: ") + std::strerror(errno)};
  return pid;
}

}  // namespace actorhost
