#pragma once
// Sends frames between processes over byte streams, one connection per pair of processes, and delivers frames for
// mailboxes of this process directly. Both ends of a connection prove the token before they decode frames
// (handshake.hpp); processes of one machine then use shared memory. Small frames queue during a write and leave
// together; large bodies are not copied. A connection is not read while the mailbox of its next frame is full, so its
// sender has to wait.
//
// Thread-safe. Each link has a reader thread and each listener an accepting thread. Events run on these threads, on the
// caller's, or on the thread of a node that waits (link_polls.hpp). They must not block, dial or call `close`, since
// they delay the reading of the link.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "host/base/log.hpp"
#include "host/base/non_copyable.hpp"
#include "host/base/tasks.hpp"
#include "host/net/byte_stream.hpp"
#include "host/net/directory.hpp"
#include "host/net/link.hpp"
#include "host/net/link_polls.hpp"
#include "host/net/link_table.hpp"
#include "host/net/nng_streams.hpp"
#include "host/net/transport.hpp"

namespace actorhost {

struct StreamOptions {
  std::string token = {};    // shared secret, possibly empty; both ends prove it. A dialler may use a reading token
  TlsFiles tls = {};         // for tls+tcp:// addresses
  bool share_memory = true;  // with processes of this machine and user
  StreamNetwork* network = &nng_network();  // outlives the transport
  FrameLimits limits = {};
  double handshake_seconds = 5;  // time to prove the token before the connection is closed
  size_t max_unproved = 256;     // connections in handshake at a time; further connections are closed at once
  size_t max_queued_bytes = size_t{64} << 20;  // per link; above this, senders wait
  size_t max_parked_bytes = size_t{64} << 20;  // per process without a link
};

class LinkEvents : public Interface {
 public:
  /// A connection has proved its token. `dialled`: the process of `dial`, or nullopt if the other end has dialled.
  /// `peer`: the remote address as text.
  virtual void on_link_up(LinkId link, std::optional<ProcessId> dialled, const std::string& peer) = 0;
  /// A link has ended ("closed by the peer", "malformed frame: ..."). It delivers no frame afterwards.
  virtual void on_link_down(LinkId link, ProcessId process, const std::string& reason) = 0;
  /// A frame for kNoAddress or for this process's service address, or any frame on a link without a process.
  virtual void on_service_frame(LinkId link, Frame&& frame) = 0;
  /// A frame on a link whose other end has proved the reading token only. Such a link delivers no frame to
  /// `on_service_frame` or a mailbox, and must not be assigned to a process.
  virtual void on_reader_frame(LinkId /*link*/, Frame&& /*frame*/) {}
  /// Frames for `process` are parked and it has no link: dial the process or request that it dials.
  virtual void on_link_wanted(ProcessId process) = 0;
};

class StreamTransport final : public Transport {
 public:
  StreamTransport(StreamOptions options, Log& log, LinkEvents& events)
      : options_(std::move(options)), log_(log), events_(events), table_(options_.max_parked_bytes) {}
  ~StreamTransport() override { close(); }

  /// Accepts connections at `url` (tcp://HOST:PORT, tls+tcp://HOST:PORT, ipc://PATH; with port 0 the system chooses)
  /// and returns the bound address. Code::io with "address in use" if it is taken.
  Result<std::string> listen(const std::string& url);
  /// Connects and proves the token in both directions, once. Code::unreachable: no process listens there, or the other
  /// end closed the connection before a reply, for example because it has `max_unproved` connections in handshake; a
  /// retry may help. Code::refused: the reply was wrong (another token, or not an actorhost). Code::timeout. Blocks up
  /// to `seconds`; `on_link_up` has run before it returns, with `process`, the expected process at the other end.
  Result<LinkId> dial(const std::string& url, double seconds, ProcessId process = kNoProcess);
  /// The state of the port at `url`. Tries several times, since an ending process may still accept connections, and the
  /// request of one attempt may be lost. Blocks up to about `seconds`.
  PortState probe(const std::string& url, double seconds);

  /// Makes `link` the connection to `process` and sends its parked frames. A process retains its first live link; a
  /// second link is closed. If both ends dial at once, each could retain a different link, so the caller must let only
  /// one of the two processes assign (PeerLinks).
  void assign(LinkId link, ProcessId process);
  /// Sets the id of this process. Frames sent here for its own service address reach on_service_frame with link 0, on
  /// the sender's thread.
  void set_self(ProcessId process) { self_ = process; }
  /// Routes frames for `address` to `process` (kNoProcess: sending returns peer_lost).
  void set_route(Address address, ProcessId process) { table_.set_route(address, process); }
  /// Drops a process: closes its link and drops its parked frames; sending to it returns peer_lost.
  void forget(ProcessId process);
  /// Refuses frames for `process` from now on; its link may still deliver frames. Thread-safe.
  void refuse(ProcessId process) { table_.refuse(process); }

  /// Sends on a link, whatever its process (service frames before the assignment). Never blocks.
  Status send_on(LinkId link, Frame&& frame);
  /// Memory of the frames queued on a link, in bytes; 0 when the link is over.
  size_t queued(LinkId link) const;
  void close_link(LinkId link, const std::string& reason);
  /// Like close_link, after the other end has read all queued frames, at the latest after `seconds`.
  void finish_link(LinkId link, double seconds);

  /// Time of the last received bytes from `process`, in seconds on the steady clock; now, while a full mailbox stops
  /// the link's reader; 0 without a link.
  double last_received(ProcessId process) const;

  struct Counters {
    uint64_t frames_sent = 0, frames_received = 0, bytes_sent = 0, bytes_received = 0, writes = 0;
    uint64_t refused = 0;  // connections without a valid proof
    uint64_t dropped = 0;  // frames that arrived for an unknown address
  };
  Counters counters() const;

  /// Traffic and queued bytes of the link to a process.
  struct LinkCounters {
    ProcessId process = kNoProcess;
    uint64_t frames_sent = 0, frames_received = 0, bytes_sent = 0, bytes_received = 0, queued = 0;
  };
  std::vector<LinkCounters> links() const;

  Status attach(Address self, Mailbox& inbox) override { return directory_.add(self, inbox); }
  void detach(Address self) override { directory_.remove(self); }
  Status try_send(Frame&& frame) override { return send_frame(std::move(frame), nullptr); }
  Status try_send_together(Frame&& frame, Writes& writes) override { return send_frame(std::move(frame), &writes); }
  void when_room(Address dst, std::function<void()> callback) override;
  bool pop_all(Mailbox& inbox, SpinWait& spin, std::vector<Frame>& out, double seconds) override;
  void close() override;

 private:
  struct Connection {
    std::shared_ptr<Link> link;
    Task thread;
  };
  struct Listening {
    std::unique_ptr<StreamListener> listener;
    Task thread;
  };

  void accept(StreamListener& listener);
  void admit(std::unique_ptr<Stream> stream);
  Result<LinkId> dial_link(const std::string& url, double deadline, ProcessId process);
  Result<std::unique_ptr<Stream>> connect(const std::string& url, double seconds);
  std::shared_ptr<Link> add_link(bool dialled, std::unique_ptr<Stream> stream);
  bool start_thread(const std::shared_ptr<Link>& link, bool proved);
  void serve(const std::shared_ptr<Link>& link, bool proved);
  /// What a reading thread does while a mailbox is full.
  enum class OnFull { wait, exceed };

  bool take(Link& link, std::vector<Frame>& frames, OnFull on_full);
  bool take_run(Link& link, std::span<Frame> run, OnFull on_full);
  void retire(Link& link);
  void reap();
  Status prove(Link& link, const std::string& name, double seconds);
  void refuse_connection(const std::string& reason);
  Status send_frame(Frame&& frame, Writes* writes);
  std::shared_ptr<Link> find(LinkId id) const;

  const StreamOptions options_;
  Log& log_;
  LinkEvents& events_;
  const SteadyClock clock_;
  Directory directory_;
  std::atomic<ProcessId> self_{kNoProcess};
  LinkTable table_;
  LinkPolls polls_{[this](Link& link, std::vector<Frame>& frames) { return take(link, frames, OnFull::exceed); }};
  std::atomic<size_t> unproved_{0};
  std::atomic<uint64_t> refused_{0};
  std::atomic<uint64_t> dropped_{0};
  std::atomic<bool> closing_{false};
  std::atomic<bool> told_{false};  // that a link shares no memory

  mutable std::mutex mutex_;  // guards the members below but for `closed_once_`
  WaitPoint changed_;
  LinkId last_link_ = 0;
  std::unordered_map<LinkId, Connection> connections_;
  std::vector<std::unique_ptr<Listening>> listening_;
  std::unordered_set<StreamDialer*> dialers_;
  size_t dials_ = 0;
  std::vector<Task> ended_;  // finished threads, to be joined
  Counters past_;            // of closed links
  std::once_flag closed_once_;
};

}  // namespace actorhost
