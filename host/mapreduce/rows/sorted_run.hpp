#pragma once
// A run: a sequence of rows on disk in some order. Tables and sorters that exceed their share of memory write runs and
// merge them later. Disk space is freed as soon as a block is read. One thread at a time.

#include <cstdint>
#include <cstring>
#include <deque>
#include <string_view>
#include <utility>

#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"
#include "host/mapreduce/rows/bucket_blocks.hpp"
#include "host/mapreduce/rows/row.hpp"
#include "host/mapreduce/rows/spill_file.hpp"

namespace actorhost {

/// The unread blocks of a run. The destructor drops them.
class SortedRun {
 public:
  explicit SortedRun(SpillFile& file) : file_(&file) {}
  SortedRun(SortedRun&& other) noexcept : file_(other.file_), blocks_(std::exchange(other.blocks_, {})) {}
  SortedRun& operator=(SortedRun&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(blocks_, other.blocks_);
    return *this;
  }
  ~SortedRun() {
    for (const auto& block : blocks_) file_->drop(block);
  }

  Status append(const RowBlock& block) {
    AH_LET(auto ref, file_->append(block));
    blocks_.push_back(ref);
    return {};
  }
  bool empty() const noexcept { return blocks_.empty(); }
  /// Reads and drops the next block; the run must not be empty.
  Result<RowBlock> take() {
    auto block = file_->read(blocks_.front());
    if (block) {
      file_->drop(blocks_.front());
      blocks_.pop_front();
    }
    return block;
  }

 private:
  SpillFile* file_;
  std::deque<SpillRef> blocks_;
};

/// The size of the blocks of runs, and how many runs are merged at once, for the given memory.
struct RunSizes {
  size_t block_bytes;
  size_t fan_in;
  static RunSizes of(size_t memory);
};

/// Writes rows, which the caller puts in order, as a run.
class RunWriter : private NonCopyable {
 public:
  RunWriter(SpillFile& file, size_t block_bytes)
      : run_(file),
        blocks_(1, block_bytes, nullptr, [this](uint32_t, const RowBlock& block) { return run_.append(block); }) {}

  bool add(std::string_view row) {
    char* at = room(row.size());
    if (at == nullptr) return false;
    std::memcpy(at, row.data(), row.size());
    added(row.size());
    return true;
  }
  char* room(size_t size) { return blocks_.room(0, size); }
  void added(size_t size) noexcept { blocks_.added(0, size); }
  Result<SortedRun> finish() {
    AH_TRY(blocks_.finish());
    return std::move(run_);
  }

 private:
  SortedRun run_;
  BucketBlocks blocks_;
};

/// Reads the rows of a run in order.
class RunReader {
 public:
  explicit RunReader(SortedRun run) : run_(std::move(run)) {}

  /// Returns false at the end and when a block cannot be read. The row is valid until the next call.
  bool next(RowReader::Row& row) { return reader_.next(row) || next_block(row); }
  const Status& status() const noexcept { return status_; }

 private:
  bool next_block(RowReader::Row& row);

  SortedRun run_;
  RowBlock block_;
  RowReader reader_;
  Status status_;
};

}  // namespace actorhost
