#pragma once
// A host inside another program, for actorhost.hpp (embed.cpp) and actorhost.h (c_api.cpp). It runs once. The owner
// calls `run` on one thread; the other functions are thread-safe.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bindings/process/program.hpp"
#include "bindings/run/host_runtime.hpp"

namespace actorhost {

class EmbeddedHost : private NonCopyable {
 public:
  enum class Work {
    job,      // the nodes run the script of the command line
    console,  // the nodes wait for chunks, which all nodes run together
    worker    // the host has one worker, and the program does its steps
  };
  struct Config {
    Work work = Work::job;
    std::vector<std::string> line;      // the command line, without the program's name
    std::optional<std::string> source;  // the script's text; the command line has its name
    std::map<std::string, ProgramFunction> functions;
    bool watch_signals = false;
    bool prints_messages = true;  // the last messages, on standard error; otherwise only `message` has them
  };

  explicit EmbeddedHost(Config config);
  ~EmbeddedHost();

  /// Runs the host to its end and returns the exit code (listed in the root README.md). Never ends the process: a node
  /// in an endless compiled loop, which cannot be stopped, keeps its thread.
  int run();
  /// Ends the run as Ctrl-C does.
  void interrupt();
  /// The last messages of the run, such as the error that has ended it.
  std::string message() const;
  /// Adds a failure of the program's own to the messages, and ends all calls with it.
  void fail(const std::string& why);
  /// The newest line of progress; empty without one.
  std::string progress() const;

  /// Begins a call; the cluster may still be starting. A console runs the chunk on all nodes together, a worker where
  /// its script waits in a `push`.
  ProgramCallPtr call(std::string source, std::string name, std::vector<ProgramValue> arguments);
  /// Waits for the end of a call, up to `seconds`.
  bool wait(const ProgramCallPtr& call, double seconds);
  /// Ends a call with Code::interrupted. Code::unsupported for a call that the worker of a program runs already.
  Status interrupt(const ProgramCallPtr& call);

 private:
  struct Sent {
    uint64_t number = 0;     // Program::number
    uint64_t chunk = 0;      // 0: the console has yet to accept the chunk
    bool requested = false;  // its reply is pending
    bool interrupted = false;
    std::optional<Error> error = std::nullopt;
  };
  using SentMap = std::map<ProgramCallPtr, Sent>;

  std::optional<int> read_line(ParsedCommand& command);
  int run_command(RunOptions options);
  void send(const ProgramCallPtr& call);
  void on_reply(const ProgramCallPtr& call, const nlohmann::json& reply);
  void on_news(const ProgramCallPtr& call, const nlohmann::json& news);
  void interrupt_chunk(uint64_t chunk);
  void add_message(const std::string& text);

  const Config config_;
  const std::shared_ptr<Program> program_;
  mutable std::mutex mutex_;
  std::unique_ptr<HostRuntime> runtime_;  // while the host runs
  bool interrupted_ = false;              // before the host ran
  bool started_ = false;
  std::string message_;
  SentMap sent_;  // a console's calls
};

}  // namespace actorhost
