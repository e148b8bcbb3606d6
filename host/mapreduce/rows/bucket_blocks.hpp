#pragma once
// Writes rows into blocks, with a list of blocks for each bucket. Buffers begin small and grow, since there may be many
// thousand buckets of few rows. A full buffer goes to the sink, which stores it (a BlockStore's attempt) or writes it
// to disk. One thread at a time.

#include <cstdint>
#include <functional>
#include <vector>

#include "host/base/result.hpp"
#include "host/mapreduce/rows/block.hpp"
#include "host/mapreduce/rows/memory_budget.hpp"

namespace actorhost {

/// Takes one block of a bucket.
using BlockSink = std::function<Status(uint32_t bucket, RowBlock block)>;

class BucketBlocks {
 public:
  /// Blocks have about kBlockBytes, or less so that all buffers together stay within `memory`.
  BucketBlocks(uint32_t buckets, size_t memory, MemoryBudget* budget, BlockSink sink);

  uint32_t buckets() const noexcept { return static_cast<uint32_t>(open_.size()); }

  /// Returns room for a row of `size` bytes. The caller writes the row at once and then calls `added`. Returns nullptr
  /// when the sink failed, now or earlier; `status()` has the error.
  char* room(uint32_t bucket, size_t size) {
    Open& open = open_[bucket];
    if (open.capacity - open.size < size) [[unlikely]] {
      if (!make_room(bucket, size)) return nullptr;
    }
    return open.data + open.size;
  }
  void added(uint32_t bucket, size_t size, uint64_t rows = 1) noexcept {
    open_[bucket].size += size;
    open_[bucket].rows += rows;
  }
  /// Sends a whole block without copying it, after the bucket's earlier rows.
  bool pass(uint32_t bucket, RowBlock block);

  const Status& status() const noexcept { return status_; }
  /// Sends the remaining rows. Returns the sink's error when the sink has failed.
  Status finish();

 private:
  struct Open {
    char* data = nullptr;  // of the blob
    size_t size = 0;
    size_t capacity = 0;
    uint64_t rows = 0;
    Blob blob;
  };

  bool make_room(uint32_t bucket, size_t size);
  void grow(Open& open, size_t capacity);
  bool send(uint32_t bucket);

  const size_t target_;
  const size_t first_;
  BlockSink sink_;
  std::vector<Open> open_;
  Reservation memory_;
  Status status_;
};

}  // namespace actorhost
