#include "bindings/commands/agent.hpp"

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bindings/process/child_process.hpp"
#include "bindings/process/console.hpp"
#include "bindings/run/cluster_config.hpp"
#include "bindings/run/host_runtime.hpp"
#include "bindings/run/log_lines.hpp"
#include "bindings/run/signal_watch.hpp"
#include "host/base/clock.hpp"
#include "host/base/fd.hpp"
#include "host/base/log.hpp"
#include "host/base/printable.hpp"

namespace actorhost {

namespace {

constexpr const char* kAgentVariable = "ACTORHOST_AGENT";
constexpr int kBetweenJobs = 300;    // milliseconds; the last job's coordinator may still be ending
constexpr int kAfterRefusal = 5000;  // milliseconds

// What a child reports through its pipe: one of these bytes; behind a refusal its text.
constexpr char kJoined = 'j';
constexpr char kUnreachable = 'u';
constexpr char kRefused = 'r';

/// The agent that stays, and the child that serves its present job.
class StayingAgent {
 public:
  StayingAgent(const RunOptions& options, const std::vector<std::string>& args)
      : lines_(options.log_json, host_name({}), ""),
        log_(options.log_level, [this](const LogLine& line) { console_.err(lines_.line(line)); }),
        address_(options.placement.rdzv_endpoint.value_or("")) {
    for (const std::string& word : args) {
      if (word != "--stay") words_.push_back(word);
    }
    words_.emplace_back("--once");
  }

  int run() {
    log_.info("", "waiting for jobs at " + address_);
    for (bool first = true;; first = false) {
      const auto code = serve();
      if (!code) log_.error("", code.error().message);
      if (signal_ != 0) return 128 + signal_;
      if (code && first && *code == 2 && reply_.empty()) return 2;
      const bool at_once = reply_.starts_with(kJoined) || reply_.starts_with(kUnreachable);
      if (const int signal = signals_.wait(at_once ? kBetweenJobs : kAfterRefusal)) return 128 + signal;
    }
  }

 private:
  struct Child {
    pid_t pid = -1;
    Fd reply;  // at its end the child has ended
  };

  Result<Child> start() const {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return Error{Code::io, std::string("cannot make a pipe: ") + std::strerror(errno)};
    Child child{-1, Fd(ends[0])};
    fcntl(ends[0], F_SETFL, O_NONBLOCK);  // a stopped and continued process returns early from its wait
    const Fd closed(ends[1]);
    const Fd inherited(dup(closed.get()));  // without close-on-exec
    ChildProgram program;
    program.words = words_;
    program.variables = {{kAgentVariable, std::to_string(inherited.get())}};
    program.own_group = true;  // this process passes on each signal
    AH_LET(child.pid, start_program(program));
    return child;
  }

  /// Runs a child, which waits for a job and serves it, to its end. Returns its exit code.
  Result<int> serve() {
    reply_.clear();
    AH_LET(const Child child, start());
    double begun = 0;
    char bytes[512];
    for (ssize_t got = 1; got != 0;) {
      if (const int signal = signals_.wait(-1, child.reply.get())) {
        signal_ = signal;
        kill(child.pid, signal);
        continue;
      }
      got = ::read(child.reply.get(), bytes, sizeof bytes);
      if (got <= 0) continue;
      if (reply_.empty()) begun = clock_.now();
      reply_.append(bytes, static_cast<size_t>(got));
    }
    int status = 0;
    waitpid(child.pid, &status, 0);
    const int code = exit_code_of_status(status);
    report(code, clock_.now() - begun);
    return code;
  }

  void report(int code, double seconds) {
    if (reply_.starts_with(kJoined)) {
      last_refusal_.clear();
      log_.write(code == 0 ? LogLevel::info : LogLevel::warn, "",
                 "the job has ended with exit code " + std::to_string(code) + " after " +
                     seconds_text(std::round(10 * seconds) / 10) + "; waiting for jobs at " + address_);
    } else if (signal_ == 0 && reply_ != last_refusal_) {
      last_refusal_ = reply_;
      if (reply_.empty()) return;  // the child has printed the reason
      const bool unreachable = reply_.starts_with(kUnreachable);
      log_.write(
          unreachable ? LogLevel::info : LogLevel::warn, "",
          (unreachable ? "no job yet: " : "the jobs there cannot be joined: ") + reply_.substr(1) + "; still waiting");
    }
  }

  SignalWatch signals_{true};  // before any thread
  SteadyClock clock_;
  Console console_;
  LogLines lines_;
  Log log_;
  std::string address_;
  std::vector<std::string> words_;
  std::string reply_, last_refusal_;
  int signal_ = 0;
};

/// Serves the jobs in this process. `reply` is the pipe to the staying agent that has started this process, or -1.
int serve_here(const RunOptions& options, int reply) {
  const auto send = [reply](const std::string& text) { (void)!::write(reply, text.data(), text.size()); };
  for (bool served = false;; served = true) {
    HostRuntime::Setup setup;
    setup.may_find_no_run = served;
    if (reply >= 0) {
      setup.joined = [&] { send(std::string(1, kJoined)); };
      setup.refused = [&](const Error& error) {
        send((error.code == Code::unreachable ? kUnreachable : kRefused) + error.message);
      };
    }
    HostRuntime runtime(options, std::move(setup));
    const int code = runtime.run();
    if (const int by = runtime.signalled()) return by;  // also if the job ended before the signal was handled
    if (code == 128 + SIGINT || code == 128 + SIGTERM || options.once) return code;
    if (!runtime.joined()) return served ? 0 : code;
    usleep(1000 * kBetweenJobs);
  }
}

}  // namespace

int run_agent(const RunOptions& options, const std::vector<std::string>& args) {
  if (options.stay) return StayingAgent(options, args).run();
  return serve_here(options, take_descriptor(kAgentVariable));
}

}  // namespace actorhost
