#include "host/net/receive_buffers.hpp"

#include <algorithm>
#include <utility>

namespace actorhost {

void ReceiveBuffers::expect(const void* owner, Kind kind, uint32_t tag, std::string_view meta, Blob room) {
  if (room.size() < kMinBytes) return;
  std::lock_guard lock(mutex_);
  buffers_.push_back({owner, kind, tag, SmallBytes(meta), std::move(room)});
}

void ReceiveBuffers::forget(const void* owner) {
  std::vector<Buffer> dropped;
  std::lock_guard lock(mutex_);
  const auto others =
      std::partition(buffers_.begin(), buffers_.end(), [&](const Buffer& p) { return p.owner != owner; });
  dropped.assign(std::move_iterator(others), std::move_iterator(buffers_.end()));
  buffers_.erase(others, buffers_.end());
}

size_t ReceiveBuffers::size() const {
  std::lock_guard lock(mutex_);
  return buffers_.size();
}

Blob ReceiveBuffers::take(const Frame& head, size_t bytes) {
  std::lock_guard lock(mutex_);
  const auto found = std::find_if(buffers_.begin(), buffers_.end(), [&](const Buffer& buffer) {
    return buffer.tag == head.tag && buffer.kind == head.kind && head.meta.view().starts_with(buffer.meta.view());
  });
  if (found == buffers_.end() || found->room.size() != bytes) return {};
  Blob room = std::move(found->room);
  buffers_.erase(found);
  return room;
}

}  // namespace actorhost
