#pragma once
// The service thread of a process in a run, with the objects that it owns: the Coordinator or the ClusterMember of the
// process, its links to other processes and to observers, and the queue of events. Carries out the outputs of the
// passive machines. `Cluster` owns it.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/log.hpp"
#include "host/base/non_copyable.hpp"
#include "host/base/tasks.hpp"
#include "host/cluster/aside_thread.hpp"
#include "host/cluster/cluster_member.hpp"
#include "host/cluster/coordinator/coordinator.hpp"
#include "host/cluster/dialler.hpp"
#include "host/cluster/failure_detector.hpp"
#include "host/cluster/job.hpp"
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

class ClusterService final : private CoordinatorOutput, private PeerLinkOutput, private ClusterMemberOutput {
 public:
  struct Event {
    enum class Type { frame, reader_frame, up, down, hello, wanted, call } type;
    LinkId link = 0;
    ProcessId process = kNoProcess;
    std::string text = {};
    Frame frame = {};
    std::function<void()> call = {};
  };

  ClusterService(ClusterConfig& config, JobSource& job, const Clock& clock, Log& log, ClusterEvents& events,
                 RunView& view, Dialler& dialler, Observers::Sources sources);

  /// Makes the transport. Before all other calls.
  void open(LinkEvents& events);
  /// Starts the thread of the run's first coordinator, which listens first.
  Status coordinate();
  /// Starts the thread of a member, which has joined.
  void follow();
  /// As Cluster::close.
  void close();

  // Thread-safe.

  /// Drops a frame that ObserverLinks::may_queue refuses.
  void post(Event event);
  void post(std::function<void()> call) { post({Event::Type::call, 0, kNoProcess, {}, {}, std::move(call)}); }
  Transport& transport() noexcept { return *transport_; }
  /// The transport, if it has sockets.
  StreamTransport* stream() const noexcept {
    return config_.place == ClusterConfig::Place::alone ? nullptr : static_cast<StreamTransport*>(transport_.get());
  }
  ChunkScheduler& chunks() noexcept { return chunks_; }
  /// Redirects a process that takes this process for the coordinator.
  void redirect(LinkId link) override;
  void prepare(const Membership& table) override;

  // For posted calls; the thread-safe functions of these objects may be called on any thread.

  /// nullptr on a member.
  Coordinator* coordinator() noexcept { return coordinator_.get(); }
  /// Also a coordinator's, with its lease and reports.
  ClusterMember& member() noexcept { return member_; }
  const ClusterMember& member() const noexcept { return member_; }
  ObserverLinks& observer_links() noexcept { return observer_links_; }
  void to_coordinator(Frame&& frame);
  /// Requests a process's report for observers; false: there is no route to it.
  bool request_report(ProcessId process, uint32_t number, const std::vector<std::string>& sections);
  void changed() override { events_.cluster_changed(); }

 private:
  enum class Helper { dial, proof, reader };  // the work of a thread: for another process, or reading modules

  // CoordinatorOutput, on the service thread
  void send(Frame&& frame) override;
  void send_on(LinkId link, Frame&& frame) override;
  void assign(LinkId link, ProcessId process) override {
    member_links_[process] = link;
    stream()->assign(link, process);
  }
  void finish_link(LinkId link) override;
  void finish_link(LinkId link, double seconds);
  std::string peer_of(LinkId link) const override;
  void drop(ProcessId process) override;
  void publish(MembershipPtr membership) override;
  Result<bool> start_servers(uint32_t action) override;
  void ended(const EndMessage& end) override { finish(end); }
  void suspects(const std::set<ProcessId>& processes) override {
    view_.set_suspected(processes);
    events_.cluster_changed();
  }
  void leased(double until) override {
    if (member_.lease().set(until, clock_.now())) events_.cluster_changed();
  }
  void prove_dead(ProcessId process, const std::string& url) override;
  void aside(const std::function<void()>& work, const std::function<void()>& then) override;
  void lost(const std::string& host, const std::vector<NodeId>& workers, const std::string& reason) override {
    observer_links_.observers().on_lost(host, workers, reason);
  }

  // PeerLinkOutput, on the service thread
  void dial(ProcessId process, const std::string& url) override;
  void request_dial(ProcessId process) override {
    to_coordinator(make_frame(cluster_kind::want_link, service_address(view_.process()), kNoAddress, process));
  }
  void report_broken(ProcessId process, const std::string& reason) override;
  void close_link(LinkId link, const std::string& reason) override { stream()->close_link(link, reason); }

  // MemberLinks, on the service thread
  void heartbeat(LinkId link) override {
    (void)stream()->send_on(link, make_frame(Kind::heartbeat, kNoAddress, kNoAddress, 0));
  }
  double last_received(ProcessId process) const override { return stream()->last_received(process); }
  void cut_off(ProcessId process) override {
    view_.cut_off(process);
    stream()->forget(process);  // no link may lead to the process again
  }

  // ClusterMemberOutput, on the service thread
  void adopt(MembershipPtr membership) override;
  void handle_request(const Frame& request) override;
  void coordinator_lost() override { chunks_.cancel_all(); }
  void take_over(Takeover&& takeover) override;
  void finish(const EndMessage& end) override {
    if (view_.set_end(end)) events_.cluster_changed();
  }
  double stall_seconds() const override { return stalls_.stall_seconds(clock_.now()); }

  void run_helper(Helper helper, ProcessId process, const std::function<std::function<void()>()>& work);
  void serve();
  void finish_all_links();
  void handle(Event& event);
  void handle_frame(LinkId link, Frame&& frame);
  void console_frame(const Frame& frame);
  void on_down(LinkId link, const std::string& reason);
  void set_routes(const Membership& before, const Membership& table);
  void tick();
  ProcessId member_of(LinkId link) const;
  void take_reader_frame(LinkId link, const Frame& frame);
  void send_report(const Frame& request);
  void on_attach(LinkId link, const Frame& frame);
  void accept_attach(LinkId link, const AttachMessage& attach);
  void peer_linked(ProcessId process);

  ClusterConfig& config_;
  JobSource& job_;
  const Clock& clock_;
  Log& log_;
  ClusterEvents& events_;
  RunView& view_;
  Dialler& dialler_;
  ChunkScheduler chunks_;
  std::unique_ptr<Transport> transport_;
  struct Queue {
    Mailbox inbox;  // wakes the thread; without sockets it receives the nodes' frames to the coordinator
    std::mutex mutex;
    std::deque<Event> events;  // guarded by mutex
  };
  Queue queue_;
  std::unique_ptr<Coordinator> coordinator_;
  std::map<LinkId, std::string> live_;        // remote address of each link that is up
  std::map<ProcessId, LinkId> member_links_;  // coordinator: the link of each member
  PeerLinks peers_{*this};
  ClusterMember member_;
  Outbox outbox_;
  StallDetector stalls_;
  ObserverLinks observer_links_;
  std::map<std::pair<Helper, ProcessId>, AsideThread> helpers_;
  Task thread_;
};

}  // namespace actorhost
