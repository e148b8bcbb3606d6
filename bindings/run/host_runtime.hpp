#pragma once
// One `actorhost` process that runs one job: finds its place among the hosts, joins the cluster, runs its nodes as
// threads (or supervises them as processes), waits for the end and reports it. Owned by main or by the embedding Host.
// `run` is called once, on the main thread; `interrupt` is thread-safe.

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bindings/process/process_shared.hpp"
#include "bindings/process/run_options.hpp"
#include "bindings/run/isolate.hpp"
#include "bindings/run/log_lines.hpp"
#include "bindings/run/node_thread.hpp"
#include "bindings/run/page_host.hpp"
#include "bindings/run/private_folder.hpp"
#include "host/base/allowance.hpp"
#include "host/cluster/place/endpoint.hpp"

namespace actorhost {

class SignalWatch;

class HostRuntime final : private ClusterEvents {
 public:
  struct Setup {
    std::map<std::string, Function> functions;  // of an embedding program, for the Lua module "host"
    std::string source;                         // a script given as text, named options.script
    bool from_text = false;
    std::string folder;                      // of this script's modules; empty: no modules
    std::vector<std::string> commands = {};  // suggested when the script's name is unknown
    std::vector<std::string> command_line;   // of this process, for the children of --isolate
    bool may_find_no_run = false;            // an agent that has served a job: a missing next job is no error
    bool watch_signals = true;               // handle SIGINT and SIGTERM during `run`
  };

  HostRuntime(RunOptions options, Setup setup);
  ~HostRuntime() override;

  /// Runs the job to its end, prints its messages and returns the exit code (listed in the root README.md). SIGINT or
  /// SIGTERM ends the job; with checkpoints SIGTERM first waits for a last checkpoint.
  int run();
  /// Interrupts as Ctrl-C does: nodes stop at their next engine call or hook. If a node does not stop within a second
  /// (a loop compiled by the JIT), `run` ends the process by _exit.
  void interrupt();
  /// Whether `run` has joined a run.
  bool joined() const noexcept { return joined_; }
  /// 128 plus the number of the signal that ended `run`, even if the signal arrived after the job's end; 0 without a
  /// signal.
  int signalled() const noexcept { return interrupted_ ? signal_code_.load() : 0; }

 private:
  // ClusterEvents, on the service thread
  void cluster_changed() override;
  Result<bool> start_servers(uint32_t action) override;

  int run_watched(const SignalWatch& signals);
  bool report_interrupt();
  void begin_last_checkpoint();
  bool awaits_last_checkpoint();
  void end_without_keepers();
  void watch(const SignalWatch& signals, const std::atomic<bool>& over);
  int refused(const Error& error);
  Status prepare();
  Status open_job();
  Status check_rule_file() const;
  Status find_place();
  uint32_t hosts_here() const;
  void share_cores();
  std::string limits_text() const;
  uint64_t memory_share() const;
  Status join_cluster();
  Status listen(const ClusterConfig& base, bool must_listen);
  ClusterConfig joining(const ClusterConfig& base) const;
  Result<bool> await_own_address(ClusterConfig& base);
  Status join_others(const ClusterConfig& base);
  Status load_checkpoint();
  Status open_checkpoints();
  Status lock_checkpoints();
  Status open_trace();
  Status open_page();
  Status open_cluster(ClusterConfig config);
  Status start_with_children();
  Status spawn_children(const std::string& url, uint64_t group, uint32_t first, uint32_t size);
  NodeThread::Shared shared_for_nodes();
  void start_workers();
  int supervise();
  int run_nodes();
  EndMessage wait_for_end();
  void open_control();
  void add_sections();
  bool stop_nodes(double seconds);
  void drop_nodes();
  void drop_services();
  int output_code();
  int conclude(const EndMessage& end);
  void print_message(const std::string& text);
  int fail(const Error& error, int code);

  const EndMessage& end_by_signal() const;

  RunOptions options_;
  Setup setup_;
  LogLines lines_;
  std::string rule_file_;  // in --barrier
  std::unique_ptr<Log> log_;
  SteadyClock clock_;
  JobSource job_;
  Placement placement_;
  Allowance allowance_;
  std::optional<Endpoint> endpoint_;
  std::vector<Endpoint> other_endpoints_;  // more addresses to join the run at
  std::optional<ChildPlace> child_;        // set in a process of an --isolate host
  std::string token_;
  std::optional<PrivateFolder> private_folder_;  // of an --isolate run without other hosts
  uint64_t seed_ = 0;
  uint32_t local_nodes_ = 1;
  ProcessShared process_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<PageHost> page_;
  std::unique_ptr<ChildSupervisor> children_;

  std::mutex mutex_;  // guards the node lists, cluster_, private_folder_ and changed_
  std::condition_variable changed_;
  std::vector<std::unique_ptr<NodeThread>> workers_;
  std::vector<std::unique_ptr<NodeThread>> servers_;
  bool servers_leave_ = false;  // their stop was requested; new servers follow
  std::atomic<bool> interrupted_{false};
  std::atomic<int> signal_code_{130};  // the result of `run` after an interrupt
  bool children_notified_ = false;     // used by the watcher: they have received SIGUSR1
  bool checkpoints_ = false;           // --checkpoint or --resume is given
  bool abandoned_ = false;
  bool joined_ = false;
  bool no_checkpoints_ = false;  // the folder cannot be written
  bool visible_ = false;         // observers can find this run
  ProcessId shown_ = 0;          // its coordinator, as observers find it
};

/// The exit code for a failure.
int exit_code_of(Code code) noexcept;

}  // namespace actorhost
