#include "host/engine/blob_pool.hpp"

#include <utility>

namespace actorhost {

Blob BlobPool::allocate(size_t size) {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i].size() != size || !blocks_[i].unique()) continue;
    Blob block = std::move(blocks_[i]);
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(i));
    bytes_ -= size;
    return block;
  }
  return Blob::allocate(size);
}

void BlobPool::recycle(Blob block) {
  if (block.size() < min_bytes_ || block.size() > max_bytes_) return;
  bytes_ += block.size();
  blocks_.push_back(std::move(block));
  size_t old = 0;
  while (bytes_ > max_bytes_) bytes_ -= blocks_[old++].size();
  blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(old));
}

}  // namespace actorhost
