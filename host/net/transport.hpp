#pragma once
// Sends frames from one address to another. LocalTransport (mailboxes of one process), StreamTransport (byte streams
// between processes: shared memory, ipc, tcp, tls+tcp) and the tests' SimTransport (virtual time, seeded latency, loss,
// reordering, partitions) implement it and pass the same suite, tests/host/net/transport_contract.hpp.
//
// Contract of all transports:
//  * Frames from one address to another arrive whole, in the order of sending, at most once; without a lost link
//    exactly once. (SimTransport can be configured to break this.)
//  * Stronger: frames from one *process* to another enter their mailboxes in the order of sending, whatever their
//    addresses. The parameter server's visibility depends on this order.
//  * try_send never blocks. If the receiver or link is full, it returns Code::full and the caller keeps the frame.
//  * Control frames (the cluster's kinds) are few and may exceed the bounds of a receiver, so that they reach a node
//    with a full mailbox.
//  * Sending to an address that is neither attached nor routed returns Code::peer_lost.
//  * `close` is safe at any time, even under traffic. It closes the attached mailboxes, which ends the waits of their
//    readers. Afterwards no callback runs, the transport touches no mailbox, and sending returns Code::interrupted.

#include <functional>

#include "host/base/clock.hpp"
#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"
#include "host/base/spin_wait.hpp"
#include "host/net/mailbox.hpp"
#include "host/wire/frame.hpp"

namespace actorhost {

constexpr bool is_control(Kind kind) noexcept { return within(kind, kinds_of(Kind::cluster_first)); }

class Transport : public Interface {
 public:
  using Writes = std::vector<std::function<void()>>;

  /// Delivers frames for `self` to `inbox` from now on. The mailbox outlives the attachment. Thread-safe.
  virtual Status attach(Address self, Mailbox& inbox) = 0;
  /// The transport does not touch the mailbox after this returns. Thread-safe.
  virtual void detach(Address self) = 0;

  /// Sends to frame.dst without blocking; moves from the frame only on success. Thread-safe.
  virtual Status try_send(Frame&& frame) = 0;
  /// Like try_send, for consecutive frames: appends the necessary write to `writes`, which the caller must call soon.
  /// Frames for the same link leave together until then. Thread-safe.
  virtual Status try_send_together(Frame&& frame, Writes& writes);
  /// Calls the callback once, possibly at once, when a refused frame to `dst` may be sent again or can never be sent.
  /// The callback runs on any thread, must not block and must not call the transport. Thread-safe.
  virtual void when_room(Address dst, std::function<void()> callback) = 0;
  /// Like try_send, but blocks up to `seconds` while the receiver is full (Code::timeout). Must not run on a
  /// transport's thread. A node uses Port::send instead, which reads the node's mailbox meanwhile.
  virtual Status send(Frame&& frame, double seconds);

  /// Mailbox::pop_all for the owner of `inbox` and of `spin`. Before it sleeps, the caller's thread may read the frames
  /// that arrive for any address of this process.
  virtual bool pop_all(Mailbox& inbox, SpinWait& spin, std::vector<Frame>& out, double seconds);

  /// Closes all links and detaches all addresses. Idempotent.
  virtual void close() = 0;
};

}  // namespace actorhost
