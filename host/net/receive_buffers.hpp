#pragma once
// Destinations for the bodies of frames that a mailbox's owner expects. The link reads the body of an expected frame
// directly into its destination instead of a new block. This saves a copy, and nothing else depends on it. A frame has
// a block of its own if it arrives before it is expected, comes from the same process, or has another size; so the
// receiver checks the address of the body. Thread-safe.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/non_copyable.hpp"
#include "host/wire/frame.hpp"

namespace actorhost {

class ReceiveBuffers : private NonCopyable {
 public:
  /// Smaller bodies always get their own blocks.
  static constexpr size_t kMinBytes = size_t{64} << 10;

  /// The link reads the body of the next frame with this kind and tag, and with a meta that begins with `meta`, into
  /// `room`, if the sizes are equal. The link may write to `room` until the frame has arrived, so the owner must not
  /// use the buffer before.
  void expect(const void* owner, Kind kind, uint32_t tag, std::string_view meta, Blob room) {
    if (room.size() < kMinBytes) return;
    std::lock_guard lock(mutex_);
    buffers_.push_back({owner, kind, tag, SmallBytes(meta), std::move(room)});
  }
  /// Withdraws all destinations of the owner. A read in progress continues; its block stays alive.
  void forget(const void* owner) {
    std::vector<Buffer> dropped;
    std::lock_guard lock(mutex_);
    const auto others =
        std::partition(buffers_.begin(), buffers_.end(), [&](const Buffer& p) { return p.owner != owner; });
    dropped.assign(std::move_iterator(others), std::move_iterator(buffers_.end()));
    buffers_.erase(others, buffers_.end());
  }
  /// Number of expected bodies.
  size_t size() const {
    std::lock_guard lock(mutex_);
    return buffers_.size();
  }
  /// Removes and returns the destination for the body of the frame with this head; empty if there is none.
  Blob take(const Frame& head, size_t bytes) {
    std::lock_guard lock(mutex_);
    const auto found = std::find_if(buffers_.begin(), buffers_.end(), [&](const Buffer& buffer) {
      return buffer.tag == head.tag && buffer.kind == head.kind && head.meta.view().starts_with(buffer.meta.view());
    });
    if (found == buffers_.end() || found->room.size() != bytes) return {};
    Blob room = std::move(found->room);
    buffers_.erase(found);
    return room;
  }

 private:
  struct Buffer {
    const void* owner;
    Kind kind;
    uint32_t tag;
    SmallBytes meta;
    Blob room;
  };

  mutable std::mutex mutex_;
  std::vector<Buffer> buffers_;  // few: the next pieces of the calls in progress
};

}  // namespace actorhost
