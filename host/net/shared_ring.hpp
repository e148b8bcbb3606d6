#pragma once
// One direction of a connection through memory that two processes share: a ring of bytes with one writer and one
// reader. The other process may store anything in the shared memory. So each end keeps its own position, checks each
// value that it loads, and reports the ring as damaged when a value is impossible. It never accesses a byte outside the
// ring.
//
// The ring begins small and grows, up to its memory, when a write is larger and the ring is empty.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "host/base/non_copyable.hpp"
#include "host/net/bell.hpp"
#include "host/net/byte_stream.hpp"

namespace actorhost {

/// The shared state of a ring, in shared memory.
struct RingState {
  static constexpr size_t kLine = 64;  // of the cache

  alignas(kLine) std::atomic<uint64_t> written{0};  // number of bytes ever written
  std::atomic<uint64_t> size{0};                    // used part of the memory, a power of two
  alignas(kLine) std::atomic<uint64_t> read{0};     // number of bytes ever read
  alignas(kLine) Bell has_bytes;
  alignas(kLine) Bell has_room;
};

inline constexpr size_t kFirstRingBytes = size_t{16} << 10;

/// The writing end. One thread at a time; `bell` is thread-safe.
class RingWriter : private NonCopyable {
 public:
  /// `memory` has `most` bytes, a power of two, and outlives the writer. The ring is empty.
  RingWriter(RingState& state, std::byte* memory, size_t most);

  /// Writes as many bytes as fit. IoEnd::would_block if none fits; IoEnd::failed if the ring is damaged.
  IoResult write(const Piece* pieces, size_t count);
  /// Whether `write` would return something else than would_block.
  bool has_room() const noexcept { return unread() != size_; }
  uint64_t unread() const noexcept { return position_ - state_.read.load(std::memory_order_acquire); }
  /// Rings when half of the ring is free.
  Bell& bell() noexcept { return state_.has_room; }
  /// The bell of the reader at the other end.
  Bell& reader_bell() noexcept { return state_.has_bytes; }

 private:
  bool load_read() noexcept;
  void grow(size_t wanted) noexcept;

  RingState& state_;
  std::byte* const memory_;
  const size_t most_;
  size_t size_ = kFirstRingBytes;
  uint64_t position_ = 0;  // number of bytes ever written
  uint64_t read_ = 0;      // the newest known value of state_.read
};

/// The reading end. One thread at a time; `has_bytes` and `bell` are thread-safe.
class RingReader : private NonCopyable {
 public:
  /// As RingWriter. May begin after the writer has written.
  RingReader(RingState& state, const std::byte* memory, size_t most) : state_(state), memory_(memory), most_(most) {}

  /// Reads as many bytes as there are. IoEnd::would_block if there is none; IoEnd::failed if the ring is damaged.
  IoResult read(const Piece* pieces, size_t count);
  /// Whether `read` would return something else than would_block.
  bool has_bytes() const noexcept {
    return state_.written.load(std::memory_order_acquire) != position_.load(std::memory_order_relaxed);
  }
  /// Rings when there are bytes.
  Bell& bell() const noexcept { return state_.has_bytes; }

 private:
  bool load_written(uint64_t position) noexcept;

  RingState& state_;
  const std::byte* const memory_;
  const size_t most_;
  size_t size_ = 0;
  std::atomic<uint64_t> position_{0};  // number of bytes ever read
  uint64_t written_ = 0;               // the newest known value of state_.written
};

}  // namespace actorhost
