#pragma once
// How frames get from one address to another. Two implementations, LocalTransport (one process, mailboxes) and
// StreamTransport (NNG byte streams between processes: ipc, tcp, tls+tcp), and the tests' SimTransport (virtual time,
// seeded latency, loss, reordering, partitions) pass one suite, tests/host/net/transport_contract.hpp.
//
// Contract, for all of them:
//  * Frames from one address to another arrive in the order in which they were sent, whole, at most once; without a
//    lost link exactly once. (SimTransport may be told to break this.)
//  * More: frames from one *process* to another are put into their mailboxes in the order in which they were sent,
//    whatever the addresses. The parameter server's visibility depends on it.
//  * try_send never waits. A full receiver or link says Code::full and leaves the frame to the caller.
//  * Control frames (the cluster's kinds) are few and may go past the bounds of a receiver, so that a node that is
//    behind with its data still hears them.
//  * Sending to an address that is neither attached nor routed is Code::peer_lost.
//  * Closing is safe at every moment, also under traffic. It closes the attached mailboxes (which ends the waits of
//    their readers); afterwards no callback runs, no mailbox is touched and sending is Code::interrupted.

#include <functional>

#include "host/base/clock.hpp"
#include "host/base/result.hpp"
#include "host/net/mailbox.hpp"
#include "host/wire/frame.hpp"

namespace actorhost {

constexpr bool is_control(Kind kind) noexcept { return within(kind, kinds_of(Kind::cluster_first)); }

class Transport {
 public:
  using Writes = std::vector<std::function<void()>>;

  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  /// Frames for `self` go into `inbox` from now on; the mailbox outlives the attachment. Any thread.
  virtual Status attach(Address self, Mailbox& inbox) = 0;
  /// After this returns `inbox` is not touched any more. Any thread.
  virtual void detach(Address self) = 0;

  /// Sends to frame.dst without waiting; the frame is moved from only on success. Any thread.
  virtual Status try_send(Frame&& frame) = 0;
  /// As try_send, for frames in a row: what the caller has to write is added to `writes`, which it has to call soon.
  /// Frames that go the same way until then leave together. Any thread.
  virtual Status try_send_together(Frame&& frame, Writes& writes);
  /// Calls `told` once when a frame to `dst` that was refused as full may be tried again, or when it never
  /// can be sent; possibly at once. `told` runs on any thread, must not block and must not call the
  /// transport. Any thread.
  virtual void when_room(Address dst, std::function<void()> told) = 0;
  /// As try_send, waiting for room for up to `seconds` (Code::timeout). Any thread but a transport's own; a
  /// node uses Port::send instead, which goes on reading its own mailbox meanwhile.
  virtual Status send(Frame&& frame, double seconds);

  /// Ends all links and detaches all addresses. Idempotent.
  virtual void close() = 0;
};

}  // namespace actorhost
