#pragma once
// Blocks of rows on disk: one temporary file for each process, without a name, so that it is gone whatever ends the
// process. A block stays where it was written until it is dropped; its SpillRef, in memory, has its checksum. Any
// thread; calls block for as long as the disk does.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "host/base/result.hpp"
#include "host/mapreduce/rows/block.hpp"

namespace actorhost {

/// Where a block lies. Stored bytes are one LZ4 block, or the rows as they are when that makes them no smaller.
struct SpillRef {
  uint64_t offset = 0;
  uint64_t stored_bytes = 0;
  uint64_t raw_bytes = 0;
  uint64_t rows = 0;
  uint64_t checksum = 0;  // XXH3 of the stored bytes
};

class SpillFile {
 public:
  /// In `folder`, or in $TMPDIR or /tmp when that is empty. The file is made when it is first written to.
  explicit SpillFile(std::string folder = {});
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  /// Code::full with the folder and what to do when there is no room or the folder cannot be written.
  Result<SpillRef> append(const RowBlock& block);
  /// Code::bad_data when the bytes are no longer those that were written.
  Result<RowBlock> read(const SpillRef& ref) const;
  /// Gives the room on disk back; the block cannot be read any more.
  void drop(const SpillRef& ref) noexcept;

  const std::string& folder() const noexcept { return folder_; }
  /// What has gone into the file since it was made, before compression.
  uint64_t raw_bytes() const noexcept { return raw_bytes_.load(std::memory_order_relaxed); }

 private:
  Result<int> opened();
  Error failed(const std::string& what, int error) const;

  const std::string folder_;
  std::mutex opening_;
  std::atomic<int> file_{-1};
  std::atomic<uint64_t> end_{0};
  std::atomic<uint64_t> raw_bytes_{0};
};

}  // namespace actorhost
