#pragma once
// Maps addresses to the mailboxes of this process; the local half of every transport. Thread-safe. A delivery holds the
// lock shared until the frame is in the mailbox, so nothing touches the mailbox after `remove`. Writers of the
// directory have priority; otherwise steady traffic could block `remove` forever.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "host/base/result.hpp"
#include "host/net/address_map.hpp"
#include "host/net/mailbox.hpp"
#include "host/net/rw_lock.hpp"
#include "host/wire/frame.hpp"

namespace actorhost {

class Directory {
 public:
  Directory() = default;
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  /// Code::bad_argument if the address is taken, Code::interrupted after close.
  Status add(Address address, Mailbox& inbox);
  void remove(Address address);
  bool has(Address address) const;
  /// Puts the frame into its receiver's mailbox; nothing if the address is not attached here. Control frames may exceed
  /// the bounds. Never blocks.
  std::optional<Mailbox::Put> deliver(Frame&& frame) const;
  /// Like `deliver` for consecutive frames to one address, either all control frames or none: delivers as many as fit,
  /// with one lock. `taken`: their number; the others are unchanged.
  std::optional<Mailbox::Put> deliver_run(std::span<Frame> run, size_t& taken) const;
  /// ReceiveBuffers::take of the receiver's mailbox.
  Blob room_for(const Frame& head, size_t bytes) const;
  /// Mailbox::when_room of that address; calls the callback at once if the address is not attached here. The callback
  /// runs under the lock or on the reader's thread.
  void when_room(Address address, std::function<void()> callback) const;
  /// Closes and removes all mailboxes; afterwards nothing can be added.
  void close();
  bool closed() const;

 private:
  static constexpr uint64_t filter_bit(Address address) noexcept {
    return uint64_t{1} << ((address ^ address >> 28) % 64);
  }

  mutable RwLock lock_;
  AddressMap<Mailbox> inboxes_;
  // a Bloom filter of all addresses ever attached: most frames to other processes need no lock
  std::atomic<uint64_t> attached_filter_{0};
  bool closed_ = false;
};

/// The status of try_send for an outcome of `deliver`.
Status delivery_status(std::optional<Mailbox::Put> put, Address dst, bool closed);

}  // namespace actorhost
