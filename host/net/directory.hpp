#pragma once
// Which mailbox of this process belongs to which address; the local half of every transport. Any thread may call. A
// delivery holds the lock shared until the frame is in the mailbox, so `remove` can promise that the mailbox is not
// touched afterwards. Threads that change the directory go first; else steady traffic could keep `remove` waiting for
// ever.

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

  /// Code::bad_argument when the address is taken, Code::interrupted after close.
  Status add(Address address, Mailbox& inbox);
  void remove(Address address);
  bool has(Address address) const;
  /// Puts the frame into its receiver's mailbox; nothing when that address is not here. Control frames may go
  /// past the bounds. Never waits.
  std::optional<Mailbox::Put> deliver(Frame&& frame) const;
  /// The same for frames in a row to one address, all control frames or none: as many as there is room for, under
  /// one lock. `taken` says how many; the rest are left as they were.
  std::optional<Mailbox::Put> deliver_run(std::span<Frame> run, size_t& taken) const;
  /// Landings::take of the receiver's mailbox.
  Blob room_for(const Frame& head, size_t bytes) const;
  /// Mailbox::when_room of that address, `told` at once when it is not here. `told` runs under the lock or on
  /// the reader.
  void when_room(Address address, std::function<void()> told) const;
  /// Closes all mailboxes and forgets them; nothing can be added any more.
  void close();
  bool closed() const;

 private:
  static constexpr uint64_t trace(Address address) noexcept { return uint64_t{1} << ((address ^ address >> 28) % 64); }

  mutable RwLock lock_;
  AddressMap<Mailbox> inboxes_;
  std::atomic<uint64_t> ever_{0};  // traces of all that were ever attached: most frames to others need no lock
  bool closed_ = false;
};

/// What try_send answers for an outcome of `deliver`.
Status delivery_status(std::optional<Mailbox::Put> put, Address dst, bool closed);

}  // namespace actorhost
