#pragma once
// A file that is written from front to back, plain or compressed: what open_source reads. One thread; calls block on
// the disk.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include "host/base/result.hpp"

namespace actorhost {

enum class FilePacking : uint8_t { none, gzip, zstd, xz, bzip2 };

/// By the end of a name: ".gz", ".zst", ".xz", ".bz2"; none for others.
FilePacking packing_of_name(std::string_view name) noexcept;
/// ".gz", ...; "" for none.
std::string_view extension_of(FilePacking packing) noexcept;

class PackedWriter {
 public:
  /// Creates or truncates the file.
  static Result<std::unique_ptr<PackedWriter>> open(const std::filesystem::path& path, FilePacking packing);
  PackedWriter() = default;
  PackedWriter(const PackedWriter&) = delete;
  PackedWriter& operator=(const PackedWriter&) = delete;
  /// What was not closed is cut off somewhere.
  virtual ~PackedWriter() = default;

  /// Code::io with the path when the disk does not take it; the file is of no use then.
  virtual Status write(std::string_view bytes) = 0;
  /// All that was written is the file's content. Call once.
  virtual Status close() = 0;
  /// Of the file so far; all of them after `close`.
  virtual uint64_t file_bytes() const noexcept = 0;
};

}  // namespace actorhost
