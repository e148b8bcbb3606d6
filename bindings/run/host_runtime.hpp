#pragma once
// Runs one job in this process: finds the process's place among the hosts, joins the cluster, runs the nodes as threads
// (or supervises them as processes), waits for the end and reports it. Owned by main or by the embedding Host. The
// owner calls `run` once, on its own thread; `interrupt` is thread-safe.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bindings/process/process_shared.hpp"
#include "bindings/process/run_options.hpp"
#include "bindings/run/cluster_config.hpp"
#include "bindings/run/host_checkpoints.hpp"
#include "bindings/run/host_place.hpp"
#include "bindings/run/interruption.hpp"
#include "bindings/run/local_nodes.hpp"
#include "bindings/run/log_lines.hpp"
#include "bindings/run/page_host.hpp"
#include "bindings/run/run_join.hpp"

namespace actorhost {

class RunAnnouncement;
class SignalWatch;

class HostRuntime final : private ClusterEvents, private RunJoin::Opener {
 public:
  struct Setup {
    std::shared_ptr<Program> program;  // the embedding program; null in the executable
    std::string source;                // a script given as text, named options.script
    bool from_text = false;
    std::string folder;                           // of that script's modules; empty: no modules
    std::vector<std::string> commands = {};       // suggested when the script's name is unknown
    std::vector<std::string> command_line;        // of this process, for the children of --isolate
    bool may_find_no_run = false;                 // for an agent that has served a job: a missing next job is no error
    bool watch_signals = true;                    // handle SIGINT and SIGTERM during `run`
    std::optional<SimulatedHost> simulated = {};  // no value: this machine
    std::function<void(const std::string&)> on_message =
        {};  // of an embedded host: receives the last messages; empty: standard error, which also shows the progress
    // For the child of an agent that stays: `joined` is called when the process has joined a run. `refused` gets the
    // reason if the process cannot join a run, which is then not printed.
    std::function<void()> joined = {};
    std::function<void(const Error&)> refused = {};
  };

  HostRuntime(RunOptions options, Setup setup);
  ~HostRuntime() override;

  /// Runs the job to its end, prints its messages and returns the exit code (listed in the root README.md). SIGINT or
  /// SIGTERM ends the job; with checkpoints SIGTERM first waits for a last checkpoint.
  int run();
  /// Interrupts as Ctrl-C does: nodes stop at their next engine call or hook. If a node does not stop within a second
  /// (a loop compiled by the JIT), `run` ends the process by _exit; in an embedding program it returns.
  void interrupt() { interruption_.interrupt(); }
  /// After `run`: a node still runs, so this object must live until the end of the process.
  bool abandoned() const noexcept { return abandoned_; }
  /// Executes a console's command, as Cluster::command does. False: the cluster has yet to be made. Thread-safe.
  bool command(const nlohmann::json& command, const ConsoleHub::Callback& reply, const ConsoleHub::Callback& news);
  /// The line of progress, which an embedded host does not draw; empty without one. Thread-safe.
  std::string progress() { return process_.console.status_text(); }
  /// Whether `run` has joined a run.
  bool joined() const noexcept { return joined_; }
  /// 128 plus the number of the signal that ended `run`, even if the signal arrived after the job's end; 0 without a
  /// signal.
  int signalled() const noexcept { return interruption_ ? interruption_.code() : 0; }

 private:
  // ClusterEvents, called on the cluster's service thread.
  void cluster_changed() override;
  Result<bool> start_servers(uint32_t action) override;
  // RunJoin::Opener
  Status open_cluster(ClusterConfig config) override;
  bool has_cluster() const override { return run_.cluster != nullptr; }
  Status spawn_children(const std::string& url, uint64_t group, uint32_t first, uint32_t size) override;
  bool interrupted_within(double seconds) override;

  int run_watched(const SignalWatch& signals);
  int refused(const Error& error);
  Status prepare();
  Status open_job();
  Status check_rule_files() const;
  Status join_cluster();
  Status prepare_coordinator(ClusterConfig& config);
  Status connect(ClusterConfig config);
  Status open_trace();
  Status open_page();
  Status start_with_children();
  void start_services(bool is_coordinator);
  NodeThread::Shared shared_for_nodes();
  int supervise();
  int run_nodes();
  EndMessage wait_for_end(RunAnnouncement& announcement);
  void drop_services();
  int output_code();
  int conclude(const EndMessage& end);
  void print_message(const std::string& text);
  int fail(const Error& error, int code);

  RunOptions options_;
  Setup setup_;
  LogLines lines_;
  std::map<std::string, std::string> rule_files_;  // by flag, "barrier": the file in it; empty without a file
  std::unique_ptr<Log> log_;
  SteadyClock clock_;
  JobSource job_;
  HostPlace place_;
  ProcessShared process_;
  HostCheckpoints checkpoints_;
  RunParts run_;  // its mutex also guards the services of process_
  std::unique_ptr<PageHost> page_;
  LocalNodes nodes_;
  Interruption interruption_;
  bool abandoned_ = false;  // a node is in an endless compiled loop; only the end of the process can stop it
  bool joined_ = false;
};

/// The exit code for a failure.
int exit_code_of(Code code) noexcept;

}  // namespace actorhost
