#pragma once
// Blocks of rows on disk, in one temporary file for each process. The file has no name, so the system frees it however
// the process ends. A block stays at its offset until it is dropped; its SpillRef, in memory, has its checksum.
// Thread-safe; calls block for as long as the disk does.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"
#include "host/mapreduce/rows/block.hpp"

namespace actorhost {

/// The place of a block in the file. Stored bytes are one LZ4 block, or the plain rows when LZ4 makes them no smaller.
struct SpillRef {
  uint64_t offset = 0;
  uint64_t stored_bytes = 0;
  uint64_t raw_bytes = 0;
  uint64_t rows = 0;
  uint64_t checksum = 0;  // XXH3 of the stored bytes
};

class SpillFile : private NonCopyable {
 public:
  /// In `folder`, or in $TMPDIR or /tmp when `folder` is empty. The first write creates the file.
  explicit SpillFile(std::string folder = {});
  ~SpillFile();

  /// Code::full, with the folder and advice, when the disk is full or the folder is not writable.
  Result<SpillRef> append(const RowBlock& block);
  /// Code::bad_data when the bytes differ from the written bytes.
  Result<RowBlock> read(const SpillRef& ref) const;
  /// Frees the room on disk; the block cannot be read any more.
  void drop(const SpillRef& ref) noexcept;

  const std::string& folder() const noexcept { return folder_; }
  /// All bytes written since the file was made, before compression.
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
