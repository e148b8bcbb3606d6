#pragma once
// A process's part in the run: its transport, its service thread, and on process 0 the Head. Nodes talk to it through
// Node (node.hpp); the host runtime starts it, waits for the start and hears of changes. Everything public may be
// called from any thread unless said otherwise; callbacks come on the service thread and must not block.

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/log.hpp"
#include "host/cluster/head.hpp"
#include "host/cluster/job.hpp"
#include "host/net/local_transport.hpp"
#include "host/net/stream_transport.hpp"

namespace actorhost {

struct ClusterConfig {
  enum class Place {
    alone,   // one process, no sockets
    head,    // listens at `url`
    member,  // joins the head at `url`
  };
  Place place = Place::alone;
  std::string url;         // tcp://, tls+tcp:// or ipc://
  std::string listen_url;  // member: where it takes connections of other members; port 0 for any
  JoinMessage self;        // what this process brings
  HeadConfig head;         // place alone or head
  StreamOptions stream;
  double start_timeout = 60;
};

class ClusterEvents {
 public:
  ClusterEvents() = default;
  ClusterEvents(const ClusterEvents&) = delete;
  ClusterEvents& operator=(const ClusterEvents&) = delete;
  virtual ~ClusterEvents() = default;
  /// The membership or the end has changed: nodes that wait should look.
  virtual void cluster_changed() = 0;
  /// Process 0 only: shards that can serve action `action` must be attached to the transport on return.
  virtual Status start_servers(uint32_t action) = 0;
};

class Cluster final : private LinkEvents, private HeadOutput {
 public:
  Cluster(ClusterConfig config, JobSource& job, const Clock& clock, Log& log, ClusterEvents& events);
  ~Cluster() override;

  /// Listens, or dials and joins: on return a member has its number, the script and the head's settings. Blocks for up
  /// to the start timeout. Code::io (address in use), unreachable, refused, timeout.
  Status open();
  /// Waits until the run has started (epoch 1 or later); the error when it cannot.
  Status wait_for_start();

  Transport& transport() noexcept { return *transport_; }
  ProcessId process() const noexcept { return process_; }
  bool is_head() const noexcept { return process_ == 0; }
  /// The newest table; epoch 0 before the start.
  MembershipPtr membership() const;
  /// Ids of this process's workers, in order.
  std::vector<NodeId> local_workers() const;
  /// How the run ended, once it has.
  std::optional<EndMessage> end() const;
  /// The head's settings and arguments, which hold everywhere.
  const std::map<std::string, std::string>& settings() const noexcept { return settings_; }
  const std::vector<std::string>& args() const noexcept { return args_; }
  const std::string& run_id() const noexcept { return run_id_; }
  /// Where the head listens or was reached: "tcp://127.0.0.1:17871"; empty when alone.
  const std::string& url() const noexcept { return config_.url; }
  const std::string& bound_url() const noexcept { return bound_url_; }

  /// A node's script raised: the run ends everywhere with this.
  void report_error(Address node, const EndMessage& error);
  /// A worker's script has ended after entering `actions` actions.
  void report_ended(NodeId node, uint32_t actions);
  /// This process stops taking part (Ctrl-C): on the head the run ends for everybody.
  void stop(const EndMessage& end);
  /// Says goodbye, writes what is queued, closes. Idempotent.
  void close();

 private:
  struct Event {
    enum class What { frame, up, down, wanted, call } what;
    LinkId link = 0;
    ProcessId process = kNoProcess;
    std::string text = {};
    Frame frame = {};
    std::function<void()> call = {};
  };

  // LinkEvents, on NNG's threads
  void on_link_up(LinkId link, bool dialled, const std::string& peer) override;
  void on_link_down(LinkId link, ProcessId process, const std::string& reason) override;
  void on_service_frame(LinkId link, Frame&& frame) override;
  void on_link_wanted(ProcessId process) override;

  // HeadOutput, on the service thread
  void send(Frame&& frame) override;
  void send_on(LinkId link, Frame&& frame) override;
  void assign(LinkId link, ProcessId process) override;
  void finish_link(LinkId link) override;
  std::string peer_of(LinkId link) const override;
  void drop(ProcessId process) override;
  void publish(MembershipPtr membership) override;
  Status start_servers(uint32_t action) override;
  void ended(const EndMessage& end) override;

  Status open_head();
  Status open_member();
  Status dial_head(double deadline);
  void post(Event event);
  void serve();
  void handle(Event& event);
  void handle_frame(LinkId link, Frame&& frame);
  void member_frame(LinkId link, Frame&& frame);
  void on_welcome(const Frame& frame);
  void adopt(MembershipPtr membership);
  void finish(const EndMessage& end);
  void tick();
  void flush_outbox();
  void connect_to(ProcessId process);

  ClusterConfig config_;
  JobSource& job_;
  const Clock& clock_;
  Log& log_;
  ClusterEvents& events_;
  std::unique_ptr<Transport> transport_;
  StreamTransport* stream_ = nullptr;  // transport_, when there are sockets
  std::unique_ptr<Head> head_;
  Mailbox inbox_;
  std::string bound_url_;

  mutable std::mutex mutex_;  // guards what follows up to the next blank line
  std::condition_variable changed_;
  std::deque<Event> queue_;
  MembershipPtr membership_ = std::make_shared<const Membership>();
  std::optional<EndMessage> end_;
  bool welcomed_ = false;
  bool quit_ = false;

  ProcessId process_ = kNoProcess;
  std::map<std::string, std::string> settings_;
  std::vector<std::string> args_;
  std::string run_id_;

  // the service thread's own
  LinkId head_link_ = 0;
  std::map<LinkId, std::string> peers_;  // remote address of each live link
  std::map<ProcessId, LinkId> links_;
  std::deque<std::pair<LinkId, Frame>> outbox_;  // control frames that found their way full
  double last_tick_ = 0;
  std::vector<std::thread> dialers_;
  std::thread thread_;
};

}  // namespace actorhost
