#pragma once
// Maps the addresses of this process to their mailboxes. Each transport owns a directory and delivers frames through
// it. Thread-safe. A delivery holds a shared lock until the frame is in the mailbox, so after `remove` no delivery
// touches the mailbox. `add` and `remove` have priority over deliveries, so steady traffic cannot block them forever.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"
#include "host/net/address_map.hpp"
#include "host/net/mailbox.hpp"
#include "host/net/rw_lock.hpp"
#include "host/wire/frame.hpp"

namespace actorhost {

class Directory : private NonCopyable {
 public:
  /// Code::bad_argument if the address is already attached, Code::interrupted after `close`.
  Status add(Address address, Mailbox& inbox);
  void remove(Address address);
  bool has(Address address) const;
  /// Puts the frame into its receiver's mailbox. Returns no value if the address is not attached here. Control frames
  /// may exceed the mailbox's bounds. Does not wait for room.
  std::optional<Mailbox::Put> deliver(Frame&& frame) const;
  /// Delivers frames to one address under one lock. Either all of the frames are control frames, or none is. Delivers
  /// the first frames, as many as fit, and sets `taken` to their number; the other frames are unchanged. `unbounded`:
  /// all frames fit.
  std::optional<Mailbox::Put> deliver_run(std::span<Frame> run, bool unbounded, size_t& taken) const;
  /// Number of attached workers and servers.
  uint32_t nodes() const noexcept { return nodes_.load(std::memory_order_relaxed); }
  /// ReceiveBuffers::take of the receiver's mailbox.
  Blob room_for(const Frame& head, size_t bytes) const;
  /// Mailbox::when_room of the receiver's mailbox. Calls the callback at once if the address is not attached here. The
  /// callback runs on any thread, possibly with the directory locked, so it must not call the directory.
  void when_room(Address address, std::function<void()> callback) const;
  /// Closes and removes all mailboxes. Later calls of `add` fail.
  void close();
  bool closed() const;

 private:
  static constexpr uint64_t filter_bit(Address address) noexcept {
    return uint64_t{1} << ((address ^ address >> 28) % 64);
  }

  mutable RwLock lock_;
  AddressMap<Mailbox> inboxes_;
  // a Bloom filter of all addresses ever attached, so that most frames to other processes need no lock
  std::atomic<uint64_t> attached_filter_{0};
  std::atomic<uint32_t> nodes_{0};
  bool closed_ = false;
};

/// Converts the outcome of `deliver` into the status of Transport::try_send. `closed`: the transport is closed.
Status delivery_status(std::optional<Mailbox::Put> put, Address dst, bool closed);

}  // namespace actorhost
