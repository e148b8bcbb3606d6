#pragma once
// A part of a checkpoint: rows in their memory format, in compressed blocks with checksums. A complete part is on disk
// (fsync). Reading returns the written rows, or an error with the file and the offset. A sink or source belongs to the
// thread that works on the task; calls block on the disk.
//
//   file  = head block* end                               numbers are little-endian
//   head  = "AHROWS1\n" id:u64 part:u64 check:u64         id: XXH3 of the checkpoint's id, so that parts of different
//                                                         checkpoints cannot be confused
//   block = stored:u64 raw:u64 rows:u64 check:u64 bytes   stored > 0 bytes, as pack_block writes them
//   end   = 0:u64 blocks:u64 rows:u64 check:u64           the last bytes of the file
//   check = XXH3 of the block's bytes after it (nothing in head and end), seeded with XXH3 of its offset in the file
//           and the bytes before it

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "host/base/fd.hpp"
#include "host/mapreduce/rows/bucket_blocks.hpp"
#include "host/mapreduce/tasks/file_sink.hpp"

namespace actorhost {

/// The attempts at parts that the hidden folder of a save held at one moment. Scans the folder once for all parts.
class EarlierParts {
 public:
  explicit EarlierParts(const SaveFolder& save);
  /// A complete attempt at the part.
  std::optional<SavedPart> complete(uint32_t part) const;

 private:
  std::filesystem::path folder_;
  std::string id_;                                        // of the save
  std::unordered_multimap<uint32_t, std::string> names_;  // of the files, by part
};

class RowFileSink final : public PartSink {
 public:
  /// As FileSink::open. Buffers are counted in `budget`. A complete attempt of `earlier` is the part: then the sink is
  /// `ready`.
  static Result<std::unique_ptr<RowFileSink>> open(const SaveFolder& save, uint32_t part, MemoryBudget* budget,
                                                   const EarlierParts* earlier = nullptr);
  ~RowFileSink() override;

  Status put(const RowValue& first, const RowValue* second) override;
  Status finish() override;
  SavedPart saved() const override { return {name_, rows_, at_}; }
  bool ready() const noexcept override { return ready_; }

 protected:
  bool takes_blocks() const noexcept override { return true; }
  Status put_block(RowBlock&& block) override;

 private:
  RowFileSink(std::filesystem::path path, MemoryBudget* budget);
  Status write(const RowBlock& block);

  std::filesystem::path path_;  // "/dev/null" when the part is discarded or complete
  std::string name_;            // of the file, when it is complete
  Fd file_;
  BucketBlocks blocks_;
  uint64_t at_ = 0;       // bytes written
  uint64_t written_ = 0;  // blocks
  uint64_t rows_ = 0;
  bool ready_ = false;
};

/// The rows of part number `part` of the checkpoint `id` in `folder`. Code::io when there is no such file.
/// Code::bad_data, here or during reading, when the file is damaged, truncated or from another checkpoint.
Result<std::unique_ptr<BlockSource>> open_row_file(const std::filesystem::path& folder, const std::string& id,
                                                   uint32_t part);

}  // namespace actorhost
