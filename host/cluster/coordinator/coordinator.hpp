#pragma once
// The coordinator of a run. It decides which processes belong to the run, checks that all workers take the same actions
// in the same order, sends the job's modules to other hosts, and ends the run. Process 0 is the first coordinator. In a
// run of peers another process takes over after its failure (coordinator_succession.cpp). A passive state machine:
// frames, link losses and the time go in, frames go out through CoordinatorOutput. `Cluster` owns the coordinator and
// calls it on the cluster's thread. The coordinator owns no socket and no thread, so tests drive it by hand.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/base/log.hpp"
#include "host/base/non_copyable.hpp"
#include "host/cluster/coordinator/action_log.hpp"
#include "host/cluster/coordinator/rendezvous.hpp"
#include "host/cluster/coordinator_lease.hpp"
#include "host/cluster/failure_detector.hpp"
#include "host/cluster/job.hpp"
#include "host/cluster/look/console_hub.hpp"
#include "host/cluster/membership.hpp"
#include "host/net/stream_transport.hpp"

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
  /// Takes over a run, in place of `join_self`. The previous coordinator and the `lost` processes have failed, for the
  /// reason `why`. `quorum` has the tables of this process and of the majority that has attached to it. Each other
  /// process of the newest table fails unless it attaches within DetectorTimes::dead. `self` is what this process would
  /// send to attach.
  void succeed(const Quorum& quorum, const std::set<ProcessId>& lost, const AttachMessage& self, const std::string& why,
               double now);
  /// A link has opened to a process that must still attach to this coordinator.
  void linked(ProcessId process, LinkId link);
  /// A process has sent its attach message: it follows this coordinator.
  void on_attach(LinkId link, const AttachMessage& attach, double now);
  /// Handles a frame that arrived over a link, or a frame from a node of this process (link 0). Ignores the frame if
  /// its source address does not belong to the link's process: a dropped process may send for a while.
  void on_frame(LinkId link, Frame&& frame, double now);
  /// A link has closed, so its process has failed, and the coordinator drops the process. In a run of peers the
  /// coordinator first waits until it holds the lease of a majority (coordinator_quorum.cpp). `stalled`: this host did
  /// not run for so long that the process may have declared this host failed. If the coordinator loses all other
  /// processes after a stall, it ends the run.
  void on_link_down(LinkId link, const std::string& reason, double now, bool stalled = false);
  /// The result of CoordinatorOutput::prove_dead.
  void on_proof(ProcessId process, PortState port, double now);
  void record_heartbeat(ProcessId process, double when) { detector_.record_heartbeat(process, when); }
  /// To be called several times a second. `late` is `checked_late` of FailureDetector::check.
  void tick(double now, double late);
  /// The servers of an earlier action have ended, so the servers of the next action may start.
  void servers_ended() { start_waiting_servers(); }
  /// A member has sent a malformed message, so none of its messages can be trusted: drops the member.
  void distrust(ProcessId process, const std::string& what);
  /// Ends the run on all processes.
  void stop(const EndMessage& end);

  /// Handles the chunks and commands of observers.
  ConsoleHub& console() noexcept { return console_; }

  const Membership& membership() const noexcept { return *membership_; }
  bool over() const noexcept { return over_; }

 private:
  struct Process {
    ProcessInfo info;
    LinkId link = 0;
    bool admitted = false;          // all processes of its host have joined, and its workers have ids
    std::optional<double> awaited;  // set until the process has attached: when the wait began
    double suspected_at = -1;       // time of its last suspicion
  };
  struct Worker {
    ProcessId process = kNoProcess;
    uint32_t actions = 0;
    bool ended = false;
    bool left = false;  // it has left the peers, or has joined late and is no peer yet
    LongWait waiting = {};
  };
  static constexpr LinkId kNoLink = ~LinkId{0};
  using Pair = std::pair<ProcessId, ProcessId>;  // the lower number first

  void on_join(LinkId link, const Frame& frame, double now);
  std::optional<Error> join_refusal(const JoinMessage& join) const;
  void refuse(LinkId link, const std::string& host, const Error& why);
  bool owns_address(ProcessId process, Address src) const;
  void on_process_frame(ProcessId process, Frame&& frame, double now);
  ConsoleHub::Sources for_console();
  uint32_t count_actions(bool settle);
  void on_console(ProcessId process, const Frame& frame);
  void malformed(ProcessId process, const Frame& frame, const std::string& why);
  void on_node_error(ProcessId process, const Frame& frame);
  void on_node_ended(const Frame& frame);
  void on_action_enter(ProcessId process, const Frame& frame);
  void on_action_done(const Frame& frame);
  void on_action_agree(Frame&& frame);
  void on_module_find(ProcessId process, const Frame& frame);
  void reply_to_find(const Frame& frame, const ModuleFind& find, const Result<SourceText>& found);
  void start_waiting_servers();
  bool ready_for_servers(uint32_t action) const;
  void on_whereabouts(ProcessId process, const Frame& frame);
  void on_want_link(ProcessId process, const Frame& frame);
  void on_outlive();
  void on_participation(const Frame& frame);
  void on_link_broken(ProcessId process, const Frame& frame, double now);
  bool alone() const;
  std::optional<Error> attach_refusal(const AttachMessage& attach) const;
  bool take_workers(const AttachMessage& attach);
  void lose_absent(double now);
  void take_late_count(const Frame& enters);
  void admit(double now);
  void lose(ProcessId process, const std::string& reason, bool notify);
  void lose_host(const std::string& host, const std::vector<ProcessId>& others, const std::string& reason);
  void lose_workers(ProcessId process, const std::string& host, const std::string& reason);
  void drop_unreachable(double now);
  void publish();
  MembershipPtr next_table() const;
  void announce(MembershipPtr table);

  // A run of peers (coordinator_quorum.cpp).
  bool in_charge() const { return !outlives_ || now_ < leased_until_; }
  void propose();
  void commit_if_accepted();
  void send_proposal(ProcessId process);
  void send_renewal(ProcessId process, uint64_t number);
  void send_renewals();
  void on_renewal(ProcessId process, const Frame& frame);
  void renew_lease();
  void prove(ProcessId process, const std::string& url);
  bool proofs_hold() const;
  PortState port_of(ProcessId process) const;
  void prove_absent();
  void lose_closed();
  void tick_quorum(double late);
  std::string majority_text() const;

  void on_server_ended(const Frame& frame);
  void check_servers(Address src, uint32_t index, const ActionEnter& action);
  void check_finished();
  void check_not_ended(Address src, uint32_t index, const ActionEnter& action);
  void trim_actions();
  void reply(const Frame& to, Kind kind, std::string_view meta, Blob body = {});
  std::string name_of(Address address) const;

  CoordinatorConfig config_;
  const Address here_;
  JobSource& job_;
  Log& log_;
  CoordinatorOutput& output_;
  Rendezvous rendezvous_;
  FailureDetector detector_;
  ActionLog actions_;
  MembershipPtr membership_ = std::make_shared<const Membership>();
  NodeId founders_ = 0;  // ids of the run's first workers are below this id
  std::map<ProcessId, Process> processes_;
  std::map<NodeId, Worker> workers_;
  std::map<Pair, double> broken_;              // pairs of processes without a working link, and since when
  std::vector<Frame> agree_later_;             // action_agree frames until all processes have confirmed a renewal
  std::vector<Frame> want_servers_;            // requests for servers that cannot start yet
  std::map<Address, uint32_t> ended_servers_;  // the number of actions that each had entered when its script ended
  ProcessId next_process_ = 1;
  std::set<ProcessId> suspected_;
  bool outlives_ = false;  // the run continues if its coordinator fails
  bool succeeds_ = false;  // this is not the run's first coordinator
  std::optional<EndMessage> end_;
  bool given_up_ = false;  // a process may have dropped this host, because this host did not run for a while
  bool over_ = false;
  ConsoleHub console_{for_console(), log_};

  // A run of peers.
  double now_ = 0;  // time of the newest call
  Quorum quorum_;
  CoordinatorLease lease_;
  double leased_until_ = 0;
  // end of the newest lease, at most kCoordinatorLease ahead; for kProofHolds after it no other coordinator can begin
  double charge_end_ = 0;
  MembershipPtr proposed_;                   // the proposal that no majority has accepted yet; null without one
  bool propose_again_ = false;               // the table has changed again since the proposal
  bool hold_tables_ = false;                 // publish() does nothing: further changes follow
  bool announced_ = false;                   // this coordinator has committed a table
  uint64_t least_epoch_ = 0;                 // least epoch of the next table
  std::map<ProcessId, uint64_t> renewals_;   // the newest renewal number of each process
  std::set<ProcessId> proving_;              // processes whose ports are being probed
  std::map<ProcessId, PortState> ports_;     // the results of the newest probes
  std::map<ProcessId, std::string> closed_;  // processes whose links closed while no lease was held, and the reasons
  std::optional<double> without_majority_;   // when this coordinator lost its majority
  bool majority_loss_logged_ = false;
};

}  // namespace actorhost
