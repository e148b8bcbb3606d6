#include "host/net/shared_ring.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

namespace actorhost {

namespace {

static_assert(std::atomic<uint64_t>::is_always_lock_free);

// The other end sees a long write or read in parts of this size, and works on a part meanwhile.
constexpr size_t kPart = size_t{32} << 10;
constexpr IoResult kDamaged{IoEnd::failed, 0, "the other process has damaged the shared memory"};

}  // namespace

RingWriter::RingWriter(RingState& state, std::byte* memory, size_t most)
    : state_(state), memory_(memory), most_(most), size_(std::min(most, kFirstRingBytes)) {
  state_.size.store(size_, std::memory_order_relaxed);
}

/// False if the ring is damaged.
bool RingWriter::load_read() noexcept {
  read_ = state_.read.load(std::memory_order_acquire);
  return position_ - read_ <= size_;
}

/// Uses more of the memory for a write of `wanted` bytes. The ring is empty: the reader has no use for the old size.
void RingWriter::grow(size_t wanted) noexcept {
  size_ = std::min(most_, std::bit_ceil(wanted));
  state_.size.store(size_, std::memory_order_relaxed);  // the store of `written` publishes it
}

IoResult RingWriter::write(const Piece* pieces, size_t count) {
  size_t wanted = 0;
  for (const Piece& piece : std::span(pieces, count)) wanted += piece.size;
  if (!load_read()) return kDamaged;
  if (wanted > size_ && size_ < most_ && position_ == read_) grow(wanted);
  size_t total = 0;
  for (const Piece& piece : std::span(pieces, count)) {
    for (size_t done = 0; done < piece.size;) {
      if (position_ - read_ == size_ && !load_read()) return kDamaged;
      const size_t room = size_ - static_cast<size_t>(position_ - read_);
      if (room == 0) return total == 0 ? IoResult{IoEnd::would_block, 0, "no room"} : IoResult{IoEnd::done, total};
      const size_t at = static_cast<size_t>(position_) & (size_ - 1);
      const size_t part = std::min({piece.size - done, room, size_ - at, kPart});
      std::memcpy(memory_ + at, piece.data + done, part);
      done += part;
      total += part;
      position_ += part;
      state_.written.store(position_, std::memory_order_release);
      state_.has_bytes.ring_if_armed();
    }
  }
  return {IoEnd::done, total};
}

/// False if the ring is damaged. The writer changes the size of an empty ring only, so unread bytes have the loaded
/// size.
bool RingReader::load_written(uint64_t position) noexcept {
  written_ = state_.written.load(std::memory_order_acquire);
  if (written_ == position) return true;
  size_ = static_cast<size_t>(state_.size.load(std::memory_order_relaxed));
  return std::has_single_bit(size_) && size_ <= most_ && written_ - position <= size_;
}

IoResult RingReader::read(const Piece* pieces, size_t count) {
  size_t total = 0;
  uint64_t position = position_.load(std::memory_order_relaxed);
  for (const Piece& piece : std::span(pieces, count)) {
    for (size_t done = 0; done < piece.size;) {
      if (position == written_ && !load_written(position)) return kDamaged;
      const auto unread = static_cast<size_t>(written_ - position);
      if (unread == 0) return total == 0 ? IoResult{IoEnd::would_block, 0, "no bytes"} : IoResult{IoEnd::done, total};
      const size_t at = static_cast<size_t>(position) & (size_ - 1);
      const size_t part = std::min({piece.size - done, unread, size_ - at, kPart});
      std::memcpy(piece.data + done, memory_ + at, part);
      done += part;
      total += part;
      position += part;
      position_.store(position, std::memory_order_relaxed);
      state_.read.store(position, std::memory_order_release);
      if (unread - part <= size_ / 2) state_.has_room.ring_if_armed();
    }
  }
  return {IoEnd::done, total};
}

}  // namespace actorhost
