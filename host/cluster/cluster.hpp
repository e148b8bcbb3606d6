#pragma once
// A process's part in the run. Opens its links and joins the run; its service thread does the rest
// (cluster_service.hpp). Nodes use it through Node (node.hpp). The host runtime starts it, waits for the start and
// receives ClusterEvents. Public functions are thread-safe unless noted otherwise. Callbacks run on the service thread
// and must not block.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/cluster/cluster_service.hpp"
#include "host/cluster/join_request.hpp"

namespace actorhost {

class Cluster final : private LinkEvents {
 public:
  Cluster(ClusterConfig config, JobSource& job, const Clock& clock, Log& log, ClusterEvents& events);
  ~Cluster() override;

  /// Listens, or dials and joins. On return a member has its number, the script and the coordinator's settings. Blocks
  /// for up to the start timeout. Code::io (address in use), unreachable, refused, timeout.
  Status open();
  /// Blocks until the run has started with this process in it, or returns the error.
  Status wait_for_start() { return view_.wait_for_start(); }

  Transport& transport() noexcept { return service_.transport(); }
  ProcessId process() const noexcept { return view_.process(); }
  /// The coordinator's process: 0 at first. kNoProcess after a coordinator has failed and before the next is known.
  ProcessId coordinator() const noexcept { return view_.coordinator(); }
  bool is_coordinator() const noexcept { return process() != kNoProcess && coordinator() == process(); }
  /// A worker has become a peer: from now on the run continues if its coordinator fails. Idempotent.
  void outlive_coordinator();
  bool outlives_coordinator() const noexcept { return view_.outlives_coordinator(); }
  /// Until when, on the run's clock, this process knows that it belongs to a majority (coordinator_lease.hpp). kForever
  /// in a run that ends with its coordinator. Thread-safe.
  double leased_until() const noexcept;
  /// A worker of this process has become a peer, or has left the peers. Thread-safe.
  void report_participation(NodeId node, bool is_peer);
  /// The number of actions that a worker of this process has entered.
  void report_actions(NodeId node, uint32_t entered);
  /// Caches the value of a finished action for a later coordinator; up to a megabyte in all.
  void cache_value(uint32_t action, const Blob& value);
  /// The newest table; epoch 0 before the start.
  MembershipPtr membership() const { return view_.membership(); }
  /// The first table that this process received.
  MembershipPtr first_membership() const { return view_.first_membership(); }
  /// Suspected processes; known to the coordinator only.
  std::set<ProcessId> suspected() const { return view_.suspected(); }
  /// Counts changes of the table and of the set of suspected processes. Takes no lock.
  uint64_t news() const noexcept { return view_.news(); }
  /// Counts a change, so that a woken server that waits for frames checks for other work.
  void count_news() noexcept { view_.count_news(); }
  /// The epoch of the table. Takes no lock: callers check it before every call.
  uint64_t epoch() const noexcept { return view_.epoch(); }
  /// Ids of this process's workers, in order.
  std::vector<NodeId> local_workers() const;
  /// The mailbox of a worker of this process, of its data service or of its courier. It is attached before this process
  /// enters the table, because other processes may send before the receiver's thread runs; it holds the frames received
  /// since. Each address can be taken once. Returns nullptr after that, and for servers.
  std::shared_ptr<Mailbox> take_mailbox(Address address) { return view_.take_mailbox(address); }
  /// How the run ended, once it has.
  std::optional<EndMessage> end() const { return view_.end(); }
  bool ended() const noexcept { return view_.ended(); }
  /// Whether the run has failed for all processes. False where only this process may have left the run.
  bool has_failed_everywhere() const;
  /// The coordinator's settings and arguments, which apply to every process.
  const std::map<std::string, std::string>& settings() const noexcept { return config_.coordinator.settings; }
  const std::vector<std::string>& args() const noexcept { return config_.coordinator.args; }
  const std::string& run_id() const noexcept { return config_.coordinator.run_id; }
  /// The coordinator's address: "tcp://127.0.0.1:17871"; empty if alone.
  std::string url() const { return view_.url(); }
  /// Where this process listens, with the port that the system chose.
  const std::string& bound_url() const noexcept { return config_.self.url; }

  /// The chunks that observers send to this process's nodes.
  ChunkScheduler& chunks() noexcept { return service_.chunks(); }

  /// A node's script raised: the run ends everywhere with this error.
  void report_error(Address node, const EndMessage& error);
  /// A worker's script has ended after entering `actions` actions.
  void report_ended(NodeId node, uint32_t actions);
  /// A server's script has ended after entering `actions` actions. The server continues to reply to requests for
  /// values.
  void report_server_ended(uint32_t shard, uint32_t actions);
  /// A server of this process has ended: servers of the next action may start.
  void servers_ended();
  /// A process has sent a malformed message, so none of its messages can be trusted: logs the sender and closes the
  /// link to its process. Thread-safe. False: the sender belongs to this process.
  bool distrust(Address sender, Kind kind, const std::string& why);

  // ---- observing the run ----

  /// This process's part of the run's state.
  ProcessState& state() noexcept { return state_; }
  /// Coordinator only: calls `callback` on the service thread with the state of the whole run as JSON, with these
  /// sections. Does not call it if the cluster is closed first.
  void request_state(std::vector<std::string> sections, Observers::Callback callback);
  /// Executes a command of this process's own program, as ConsoleHub::command does for an observer. Calls `reply` and
  /// `news` on the service thread; calls neither if the cluster is closed first. Elsewhere than on the coordinator
  /// `reply` is a refusal.
  void command(nlohmann::json command, ConsoleHub::Callback reply, ConsoleHub::Callback news);
  /// Coordinator only: from now on, clients with the token may observe the run at `url`.
  Status open_control(const std::string& url, std::string token);

  /// Process 0 only, before nodes run: records the spans of all nodes in this trace.
  void record(std::unique_ptr<ChromeTrace> trace) {
    service_.post([this, shared = std::shared_ptr(std::move(trace))] { service_.observer_links().record(shared); });
  }
  /// Adds spans of a node of this process to that trace.
  void report_spans(Address node, SpansMessage message);

  /// This process leaves the run (Ctrl-C). On the coordinator the run ends for all. Also ends `open`.
  void stop(const EndMessage& end);
  /// Says goodbye on all links. Returns once the other ends have read their queued frames, or after a second. After a
  /// successful run the coordinator waits up to 30 s for a member that still sends. Idempotent.
  void close() { service_.close(); }

 private:
  using Event = ClusterService::Event;

  // LinkEvents, on the threads of links and senders
  void on_link_up(LinkId link, std::optional<ProcessId> dialled, const std::string& peer) override;
  void on_link_down(LinkId link, ProcessId process, const std::string& reason) override;
  void on_service_frame(LinkId link, Frame&& frame) override;
  void on_reader_frame(LinkId link, Frame&& frame) override;
  void on_link_wanted(ProcessId process) override;
  void on_hello(LinkId link, ProcessId process);
  void assign_peer(LinkId link, ProcessId process);
  void before_service(const Frame& frame);
  void take_welcome(LinkId link, const Frame& frame);

  StreamTransport* stream() const noexcept { return service_.stream(); }
  Observers::Sources observer_sources();
  void add_sections();
  Status open_member();
  Result<std::string> listen_somewhere();

  ClusterConfig config_;
  JobSource& job_;
  const Clock& clock_;
  Log& log_;
  RunView view_;
  ProcessState state_;
  Dialler dialler_;
  JoinRequest join_;
  ClusterService service_;
};

}  // namespace actorhost
