#pragma once
// The coordinator of a run. It decides which processes belong to the run, checks that all workers take the same actions
// in the same order, sends the job's modules to other hosts, and ends the run. Process 0 is the first coordinator. In a
// run of peers another process takes over after its failure (`succeed`). A passive state machine: frames, link losses
// and the time go in, frames go out through CoordinatorOutput. ClusterService owns it and calls it on the cluster's
// thread. The coordinator owns no socket and no thread, so tests drive it by hand.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/base/log.hpp"
#include "host/base/non_copyable.hpp"
#include "host/cluster/coordinator/majority.hpp"
#include "host/cluster/coordinator/process_roster.hpp"
#include "host/cluster/coordinator/rendezvous.hpp"
#include "host/cluster/coordinator/worker_roster.hpp"
#include "host/cluster/job.hpp"
#include "host/cluster/look/console_hub.hpp"
#include "host/cluster/takeover.hpp"

namespace actorhost {

/// The effects of a coordinator, which its owner carries out. Calls come from within the coordinator's functions and
/// must not block.
class CoordinatorOutput : public Interface {
 public:
  virtual void send(Frame&& frame) = 0;                     // to frame.dst
  virtual void send_on(LinkId link, Frame&& frame) = 0;     // to a link that belongs to no process yet
  virtual void assign(LinkId link, ProcessId process) = 0;  // the link belongs to this process from now on
  virtual void finish_link(LinkId link) = 0;                // writes the queued frames, then closes
  virtual std::string peer_of(LinkId link) const = 0;       // the other end, "10.0.0.7:40112"; may be empty
  virtual void drop(ProcessId process) = 0;                 // the process leaves the run; finishes its link
  /// Prepares the routes to the members of a new table. Called before the table is sent.
  virtual void prepare(const Membership& membership) = 0;
  virtual void publish(MembershipPtr membership) = 0;  // gives the table to the nodes of this process
  /// Starts the parameter servers of an action. True: they can receive frames. False: servers of an earlier action
  /// still run, and the owner calls `servers_ended` when these have ended.
  virtual Result<bool> start_servers(uint32_t action) = 0;
  virtual void ended(const EndMessage& end) = 0;  // ends the run for the nodes of this process; called once
  /// Runs `work`, which blocks on the disk, on another thread, and then `then` on the caller's thread. By default runs
  /// both at once, for tests.
  virtual void aside(const std::function<void()>& work, const std::function<void()>& then) {
    work();
    then();
  }
  /// The set of suspected processes has changed; the nodes of this process get the whole set.
  virtual void suspects(const std::set<ProcessId>& /*processes*/) {}
  /// In a run of peers: this coordinator holds the lease of a majority (coordinator_lease.hpp) until the time `until`.
  virtual void leased(double /*until*/) {}
  /// Finds out whether the process is dead: probes its port at `url` and calls Coordinator::on_proof with the result.
  virtual void prove_dead(ProcessId /*process*/, const std::string& /*url*/) {}
  /// The run has lost a process before the scripts of all its workers had ended.
  virtual void lost(const std::string& /*host*/, const std::vector<NodeId>& /*workers*/,
                    const std::string& /*reason*/) {}
};

struct CoordinatorConfig {
  ProcessId self = 0;
  std::string run_id;
  std::map<std::string, std::string> settings;
  std::vector<std::string> args;
  RendezvousConfig rendezvous;
  DetectorTimes times;
};

class Coordinator {
 public:
  Coordinator(CoordinatorConfig config, JobSource& job, Log& log, CoordinatorOutput& output, double now);

  /// Begins a new run: adds the coordinator's own process, as process 0.
  Status join_self(const JoinMessage& join, double now);
  /// Takes over a run, in place of `join_self`. The caller then passes each attached process to `on_attach`. Each other
  /// process of the newest table fails unless it attaches within DetectorTimes::dead.
  void succeed(const Takeover& takeover, double now);
  /// A link has opened to a process that must still attach to this coordinator.
  void linked(ProcessId process, LinkId link) { processes_.linked(process, link); }
  /// A process has sent its attach message: it follows this coordinator.
  void on_attach(LinkId link, const AttachMessage& attach, double now);
  /// Handles a frame that arrived over a link, or a frame from a node of this process (link 0). Ignores the frame if
  /// its source address does not belong to the link's process: a dropped process may send for a while.
  void on_frame(LinkId link, Frame&& frame, double now);
  /// A link has closed, so its process has failed, and the coordinator drops the process. In a run of peers the
  /// coordinator drops it once it holds the lease of a majority (majority.hpp). `stalled`: this host did not run for so
  /// long that the process may have declared this host failed. If the coordinator loses all other processes after a
  /// stall, it ends the run.
  void on_link_down(LinkId link, const std::string& reason, double now, bool stalled = false);
  /// The result of CoordinatorOutput::prove_dead.
  void on_proof(ProcessId process, PortState port, double now);
  void record_heartbeat(ProcessId process, double when) { processes_.record_heartbeat(process, when); }
  /// To be called several times a second. `late` is `checked_late` of FailureDetector::check.
  void tick(double now, double late);
  /// The servers of an earlier action have ended, so the servers of the next action may start.
  void servers_ended() { settle(); }
  /// A member has sent a malformed message, so none of its messages can be trusted: drops the member.
  void distrust(ProcessId process, const std::string& what);
  /// Ends the run on all processes.
  void stop(const EndMessage& end);

  /// Handles the chunks and commands of observers.
  ConsoleHub& console() noexcept { return console_; }

  const Membership& membership() const noexcept { return *membership_; }
  bool over() const noexcept { return end_.has_value(); }

 private:
  void fail(const Error& error) { stop({error.code, false, error.message}); }
  void malformed(ProcessId process, const Frame& frame, const std::string& why);
  void send(ProcessId process, Kind kind, std::string_view meta = {}, Blob body = {}, uint32_t tag = 0);
  void send(std::vector<Frame> frames);
  void send_table(Kind kind, const Membership& table, const std::vector<ProcessId>& processes);
  Address here() const noexcept { return service_address(config_.self); }
  bool succeeds() const noexcept { return config_.self != 0; }

  // Joining and attaching.
  void on_join(LinkId link, const Frame& frame, double now);
  std::optional<Error> join_refusal(const JoinMessage& join) const;
  void refuse(LinkId link, const std::string& host, const Error& why);
  void readmit_attached(const Takeover& takeover);
  void admit(double now);

  // Messages of processes.
  bool owns_address(ProcessId process, Address src) const;
  void on_process_frame(ProcessId process, const Frame& frame);
  void on_worker_frame(ProcessId process, const Frame& frame);
  void on_node_error(ProcessId process, const Frame& frame);
  void on_module_find(ProcessId process, const Frame& frame);
  void reply_to_find(const Frame& request, const ModuleFind& find, const Result<SourceText>& found);
  void on_want_link(ProcessId process, const Frame& frame);
  void on_outlive();
  void on_renewal(ProcessId process, const Frame& frame);

  // Losses.
  void lose(ProcessId process, const std::string& reason, bool notify);
  bool remove(ProcessId process, const std::string& reason, bool notify);
  bool remove_workers(ProcessId process, const std::string& host, const std::string& reason);
  void lose_due();
  void prove(ProcessId process, const std::string& url);

  // Tables, and the lease of a run of peers.
  MembershipPtr next_table();
  void publish();
  void commit();
  void announce(MembershipPtr table);
  void renew_lease();
  void send_renewals() { send(majority_.renewals(processes_.followers(true), now_)); }
  void tick_majority(double late);
  void settle();

  CoordinatorConfig config_;
  JobSource& job_;
  Log& log_;
  CoordinatorOutput& output_;
  Rendezvous rendezvous_;
  ProcessRoster processes_;
  WorkerRoster workers_;
  Majority majority_;
  MembershipPtr membership_ = std::make_shared<const Membership>();
  uint64_t epoch_ = 0;          // the newest epoch of any table
  bool announced_ = false;      // this coordinator has committed a table
  bool publish_again_ = false;  // the table has changed again since the proposal
  ProcessId next_process_ = 1;
  bool given_up_ = false;  // a process may have dropped this host, because this host did not run for a while
  double now_ = 0;         // time of the newest call
  std::optional<EndMessage> end_;
  ConsoleHub console_;
};

}  // namespace actorhost
