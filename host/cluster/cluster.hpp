#pragma once
// A process's part in the run: its transport, its service thread, and on the coordinator the class Coordinator. Nodes
// use it through Node (node.hpp). The host runtime starts it, waits for the start and receives ClusterEvents. Public
// functions are thread-safe unless noted otherwise. Callbacks run on the service thread and must not block.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/log.hpp"
#include "host/base/non_copyable.hpp"
#include "host/cluster/aside_thread.hpp"
#include "host/cluster/cluster_member.hpp"
#include "host/cluster/coordinator/coordinator.hpp"
#include "host/cluster/dialler.hpp"
#include "host/cluster/failure_detector.hpp"
#include "host/cluster/job.hpp"
#include "host/cluster/join_request.hpp"
#include "host/cluster/look/chunk_scheduler.hpp"
#include "host/cluster/look/observer_links.hpp"
#include "host/cluster/outbox.hpp"
#include "host/cluster/peer_links.hpp"
#include "host/cluster/run_view.hpp"
#include "host/net/local_transport.hpp"
#include "host/net/stream_transport.hpp"

namespace actorhost {

struct ClusterConfig {
  enum class Place {
    alone,        // one process, no sockets
    coordinator,  // the coordinator: listens at `url`
    member,       // joins the coordinator at `url`
  };
  Place place = Place::alone;
  std::string url;  // tcp://, tls+tcp:// or ipc://
  // member: further addresses of the coordinator or of other members
  std::vector<std::string> other_urls = {};
  bool once = false;  // member: tries each address once
  // member: where it accepts connections of other members; port 0: any port; empty: nowhere
  std::string listen_url;
  // member: addresses that other members know, tried before `listen_url`; another program may hold them
  std::vector<std::string> listen_first = {};
  JoinMessage self;  // this process's request to join
  // place alone or coordinator; members use `times` too
  CoordinatorConfig coordinator;
  StreamOptions stream;
  double start_timeout = 60;
  double waited = 0;                              // seconds of start_timeout spent before `open`
  std::map<std::string, std::string> about = {};  // further facts about the run, for observers
};

class ClusterEvents : public Interface {
 public:
  /// The membership or the end has changed: waiting nodes should check again.
  virtual void cluster_changed() = 0;
  /// Process 0 only. True: shards that can serve action `action` are attached to the transport. False: the shards of an
  /// earlier action have yet to end; called again after `Cluster::servers_ended`.
  virtual Result<bool> start_servers(uint32_t action) = 0;
};

class Cluster final : private LinkEvents,
                      private CoordinatorOutput,
                      private PeerLinkOutput,
                      private MemberLinks,
                      private ClusterMemberOutput {
 public:
  Cluster(ClusterConfig config, JobSource& job, const Clock& clock, Log& log, ClusterEvents& events);
  ~Cluster() override;

  /// Listens, or dials and joins. On return a member has its number, the script and the coordinator's settings. Blocks
  /// for up to the start timeout. Code::io (address in use), unreachable, refused, timeout.
  Status open();
  /// Blocks until the run has started with this process in it, or returns the error.
  Status wait_for_start() { return view_.wait_for_start(); }

  Transport& transport() noexcept { return *transport_; }
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
  /// The coordinator's settings and arguments, which apply to every process.
  const std::map<std::string, std::string>& settings() const noexcept { return config_.coordinator.settings; }
  const std::vector<std::string>& args() const noexcept { return config_.coordinator.args; }
  const std::string& run_id() const noexcept { return config_.coordinator.run_id; }
  /// The coordinator's address: "tcp://127.0.0.1:17871"; empty if alone.
  std::string url() const { return view_.url(); }
  /// Where this process listens, with the port that the system chose.
  const std::string& bound_url() const noexcept { return config_.self.url; }

  /// The chunks that observers send to this process's nodes.
  ChunkScheduler& chunks() noexcept { return chunks_; }

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
  /// Coordinator only: from now on, clients with the token may observe the run at `url`.
  Status open_control(const std::string& url, std::string token);

  /// Process 0 only, before nodes run: records the spans of all nodes in this trace.
  void record(std::unique_ptr<ChromeTrace> trace) {
    post([this, shared = std::shared_ptr(std::move(trace))] { observer_links_.record(shared); });
  }
  /// Adds spans of a node of this process to that trace.
  void report_spans(Address node, SpansMessage message);

  /// This process leaves the run (Ctrl-C). On the coordinator the run ends for all. Also ends `open`.
  void stop(const EndMessage& end);
  /// Says goodbye on all links. Returns once the other ends have read their queued frames, or after a second.
  /// Idempotent.
  void close();

 private:
  struct Event {
    enum class Type { frame, reader_frame, up, down, hello, wanted, call } type;
    LinkId link = 0;
    ProcessId process = kNoProcess;
    std::string text = {};
    Frame frame = {};
    std::function<void()> call = {};
  };
  enum class Helper { dial, proof };  // the work of a thread for another process

  // LinkEvents, on the threads of links and senders
  void on_link_up(LinkId link, bool dialled, const std::string& peer) override;
  void on_link_down(LinkId link, ProcessId process, const std::string& reason) override;
  void on_service_frame(LinkId link, Frame&& frame) override;
  void on_reader_frame(LinkId link, Frame&& frame) override;
  void on_link_wanted(ProcessId process) override;
  void on_hello(LinkId link, ProcessId process);
  void assign_peer(LinkId link, ProcessId process);
  void before_service(const Frame& frame);
  void take_welcome(LinkId link, const Frame& frame);

  // CoordinatorOutput, on the service thread
  void send(Frame&& frame) override;
  void send_on(LinkId link, Frame&& frame) override;
  void assign(LinkId link, ProcessId process) override;
  void finish_link(LinkId link) override;
  void finish_link(LinkId link, double seconds);
  std::string peer_of(LinkId link) const override;
  void drop(ProcessId process) override;
  void prepare(const Membership& table) override;
  void publish(MembershipPtr membership) override;
  Result<bool> start_servers(uint32_t action) override;
  void ended(const EndMessage& end) override;
  void suspects(const std::set<ProcessId>& processes) override;
  void leased(double until) override;
  void prove_dead(ProcessId process, const std::string& url) override;
  void aside(const std::function<void()>& work, const std::function<void()>& then) override;
  void lost(const std::string& host, const std::vector<NodeId>& workers, const std::string& reason) override;

  // PeerLinkOutput, on the service thread
  void dial(ProcessId process, const std::string& url) override;
  void request_dial(ProcessId process) override;
  void report_broken(ProcessId process, const std::string& reason) override;
  void close_link(LinkId link, const std::string& reason) override;

  // MemberLinks, on the service thread
  void heartbeat(LinkId link) override;
  void redirect(LinkId link) override;
  double last_received(ProcessId process) const override { return stream_->last_received(process); }
  void cut_off(ProcessId process) override;

  // ClusterMemberOutput, on the service thread
  void adopt(MembershipPtr membership) override;
  void handle_request(const Frame& request) override;
  void coordinator_lost() override { chunks_.cancel_all(); }
  void changed() override { events_.cluster_changed(); }
  void take_over(Takeover&& takeover) override;
  void finish(const EndMessage& end) override;
  double stall_seconds() const override { return stalls_.stall_seconds(clock_.now()); }

  Status open_coordinator();
  Status open_member();
  void post(Event event);
  void post(std::function<void()> call);
  void run_helper(Helper helper, ProcessId process, const std::function<std::function<void()>()>& work);
  void serve();
  void finish_all_links();
  void handle(Event& event);
  void handle_frame(LinkId link, Frame&& frame);
  void console_frame(const Frame& frame);
  void on_down(LinkId link, const std::string& reason);
  void to_coordinator(Frame&& frame);
  void set_routes(const Membership& before, const Membership& table);
  void tick();
  Observers::Sources observer_sources();
  void add_sections();
  ProcessId member_of(LinkId link) const;
  void take_reader_frame(LinkId link, const Frame& frame);
  void send_report(const Frame& request);
  Result<std::string> listen_somewhere();
  void on_attach(LinkId link, const Frame& frame);
  void accept_attach(LinkId link, const AttachMessage& attach);
  void peer_linked(ProcessId process);

  ClusterConfig config_;
  JobSource& job_;
  const Clock& clock_;
  Log& log_;
  ClusterEvents& events_;
  ChunkScheduler chunks_;
  RunView view_;
  std::unique_ptr<Transport> transport_;
  StreamTransport* stream_ = nullptr;  // transport_, if there are sockets
  std::unique_ptr<Coordinator> coordinator_;
  ProcessState state_;
  // wakes the service thread; without sockets it receives the nodes' frames to the coordinator
  Mailbox inbox_;
  std::mutex queue_mutex_;
  std::deque<Event> queue_;  // guarded by queue_mutex_
  Dialler dialler_;
  JoinRequest join_;

  // owned by the service thread
  std::map<LinkId, std::string> live_;        // remote address of each link that is up
  std::map<ProcessId, LinkId> member_links_;  // coordinator: the link of each member
  PeerLinks peers_{*this};
  ClusterMember member_;  // also a coordinator's, with its lease and reports
  Outbox outbox_;
  StallDetector stalls_;
  ObserverLinks observer_links_;
  std::map<std::pair<Helper, ProcessId>, std::thread> helpers_;
  AsideThread aside_;
  std::thread thread_;
};

}  // namespace actorhost
