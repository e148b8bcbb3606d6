#include "host/mapreduce/rows/bucket_blocks.hpp"

#include <algorithm>
#include <cstring>

namespace actorhost {

namespace {

constexpr size_t kLeastBytes = size_t{4} << 10;
/// Up to this number of buckets a buffer starts at its full size, since growing costs copies.
constexpr uint32_t kFewBuckets = 16;

size_t target_bytes(uint32_t buckets, size_t memory) {
  return std::clamp(memory / std::max(buckets, 1U), kLeastBytes, kBlockBytes);
}

}  // namespace

BucketBlocks::BucketBlocks(uint32_t buckets, size_t memory, MemoryBudget* budget, BlockSink sink)
    : target_(target_bytes(buckets, memory)),
      first_(buckets <= kFewBuckets ? target_ : kLeastBytes),
      sink_(std::move(sink)),
      open_(buckets),
      memory_(budget) {}

bool BucketBlocks::make_room(uint32_t bucket, size_t size) {
  if (!status_.ok()) return false;
  Open& open = open_[bucket];
  size_t next = open.capacity == 0 ? first_ : std::min(4 * open.capacity, target_);
  if (open.size != 0 && open.size + size > target_) {
    if (!send(bucket)) return false;
    next = target_;  // a buffer that was full once will be full again
  }
  grow(open, std::max(next, open.size + size));
  return true;
}

void BucketBlocks::grow(Open& open, size_t capacity) {
  Blob larger = Blob::allocate(capacity);
  if (open.size != 0) std::memcpy(larger.data(), open.data, open.size);
  memory_.resize(memory_.bytes() - open.capacity + capacity);
  open.blob = std::move(larger);
  open.data = open.blob.chars();
  open.capacity = capacity;
}

bool BucketBlocks::send(uint32_t bucket) {
  Open open = std::exchange(open_[bucket], {});
  memory_.shrink(open.capacity);
  // A slice retains the whole buffer in memory, so a much smaller block is copied.
  Blob bytes = open.size < open.capacity - open.capacity / 4 ? Blob::copy_of(open.data, open.size)
                                                             : open.blob.slice(0, open.size);
  open.blob = {};
  status_ = sink_(bucket, {std::move(bytes), open.rows});
  return status_.ok();
}

bool BucketBlocks::pass(uint32_t bucket, RowBlock block) {
  if (!status_.ok()) return false;
  if (open_[bucket].size != 0 && !send(bucket)) return false;
  status_ = sink_(bucket, std::move(block));
  return status_.ok();
}

Status BucketBlocks::finish() {
  for (uint32_t bucket = 0; bucket < open_.size() && status_.ok(); ++bucket) {
    if (open_[bucket].size != 0) send(bucket);
  }
  open_.assign(open_.size(), {});
  memory_.release();
  return status_;
}

}  // namespace actorhost
