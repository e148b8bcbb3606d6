#pragma once
// Frames between processes over NNG byte streams, one connection per pair of processes, and to mailboxes of
// this process without one. Before anything else is decoded both ends of a connection prove that they know
// the token (handshake.hpp). Small frames queue while a write is in flight and go out together; bodies go out
// by reference. A connection whose receiver's mailbox is full is not read until there is room (back-pressure
// by TCP).
//
// Threads: any thread may call. Each link has a thread that reads it and each listener one that accepts; events
// come on those (or on the caller's) and must not block, dial or call `close`: meanwhile the link is not read.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/base/log.hpp"
#include "host/net/link.hpp"
#include "host/net/stream_io.hpp"
#include "host/net/transport.hpp"

namespace actorhost {

struct StreamOptions {
  std::string token = {};  // shared secret; proved by both ends, also when empty. A dialler's may be a reading token
  TlsFiles tls = {};       // for tls+tcp:// addresses
  FrameLimits limits = {};
  double handshake_seconds = 5;                // a connection that has not proved its token by then is closed
  size_t max_unproved = 256;                   // connections in handshake at a time; further ones are closed at once
  size_t max_queued_bytes = size_t{64} << 20;  // per link; then senders wait
  size_t max_parked_bytes = size_t{64} << 20;  // per process without a link yet
};

class LinkEvents {
 public:
  LinkEvents() = default;
  LinkEvents(const LinkEvents&) = delete;
  LinkEvents& operator=(const LinkEvents&) = delete;
  virtual ~LinkEvents() = default;
  /// A connection has proved its token. `dialled` tells which end we are; `peer` is the remote address as
  /// text.
  virtual void on_link_up(LinkId link, bool dialled, const std::string& peer) = 0;
  /// A link that was up is gone ("closed by the peer", "malformed frame: ..."). After this no frame of it
  /// comes.
  virtual void on_link_down(LinkId link, ProcessId process, const std::string& reason) = 0;
  /// A frame whose dst is kNoAddress or this process's service address, or any frame on a link that is not
  /// assigned to a process yet.
  virtual void on_service_frame(LinkId link, Frame&& frame) = 0;
  /// A frame on a link whose other end has proved the reading token only. No frame of such a link comes by
  /// `on_service_frame` or reaches a mailbox, and the link must not be assigned to a process.
  virtual void on_reader_frame(LinkId /*link*/, Frame&& /*frame*/) {}
  /// There are frames for `process` and no link: dial it or ask it to dial; the frames are parked meanwhile.
  virtual void on_link_wanted(ProcessId process) = 0;
};

class StreamTransport final : public Transport {
 public:
  StreamTransport(StreamOptions options, Log& log, LinkEvents& events);
  ~StreamTransport() override;

  /// Starts to accept connections at `url` (tcp://HOST:PORT, tls+tcp://HOST:PORT, ipc://PATH; port 0 lets the
  /// system choose) and returns the address as it is bound. Code::io with "address in use" when it is taken.
  Result<std::string> listen(const std::string& url);
  /// Connects and proves the token, both ways; tries once. Code::unreachable (no process there, or gone before it had
  /// answered, as one that has `max_unproved` others to hear: trying again may help), Code::refused (it has answered:
  /// wrong token, or not an actorhost), Code::timeout. Blocks up to `seconds`; `on_link_up` has run before it returns.
  Result<LinkId> dial(const std::string& url, double seconds);
  /// True only when no process listens at `url` any more, as the machine there says. A process that is about to end may
  /// still be reached, so tries several times. Blocks up to about `seconds`.
  bool refused(const std::string& url, double seconds);

  /// From now on `link` is the connection to `process`; parked frames are sent. A process keeps its first
  /// live link: a second one is closed. If both ends dialled at once each might keep another one, so whoever assigns
  /// sees to it that only one of two processes does (PeerLinks).
  void assign(LinkId link, ProcessId process);
  /// Which process this one is: frames for its service address that are sent here come to on_service_frame, with link 0
  /// and on the sender's thread.
  void set_self(ProcessId process);
  /// Frames for `address` go to `process` (kNoProcess: to none; then sending says peer_lost).
  void set_route(Address address, ProcessId process);
  /// Gives up on a process: its link is closed, parked frames are dropped, sending to it says peer_lost.
  void forget(ProcessId process);
  /// Frames for `process` are refused from now on; its link may say its last words. Any thread.
  void refuse(ProcessId process);

  /// Sends on one link, whatever it is assigned to (service frames during rendezvous). Never waits.
  Status send_on(LinkId link, Frame&& frame);
  /// What waits to be written on a link, in bytes of memory; 0 when it is over.
  size_t queued(LinkId link) const;
  void close_link(LinkId link, const std::string& reason);
  /// The same once the other end has read what is queued, at the latest after `seconds`.
  void finish_link(LinkId link, double seconds);

  /// Seconds on the steady clock at which the last bytes from `process` came; a link that we do not read
  /// because a mailbox of ours is full counts as heard from now. 0 when there is no link.
  double heard_from(ProcessId process) const;

  struct Counters {
    uint64_t frames_sent = 0, frames_received = 0, bytes_sent = 0, bytes_received = 0, writes = 0;
    uint64_t refused = 0;  // connections that did not prove the token
    uint64_t dropped = 0;  // frames that arrived for an address which is not here
  };
  Counters counters() const;

  /// What has gone over the link to a process, and what waits to be sent.
  struct LinkCounters {
    ProcessId process = kNoProcess;
    uint64_t frames_sent = 0, frames_received = 0, bytes_sent = 0, bytes_received = 0, queued = 0;
  };
  std::vector<LinkCounters> links() const;

  Status attach(Address self, Mailbox& inbox) override;
  void detach(Address self) override;
  Status try_send(Frame&& frame) override;
  Status try_send_together(Frame&& frame, Writes& writes) override;
  void when_room(Address dst, std::function<void()> told) override;
  void close() override;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace actorhost
