#pragma once
// Writes a file sequentially, plain or compressed; open_source reads the result. One thread; calls block on the disk.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"
#include "host/data/file/byte_sink.hpp"

namespace actorhost {

enum class FilePacking : uint8_t { none, gzip, zstd, xz, bzip2 };

/// By the suffix of a name: ".gz", ".zst", ".xz", ".bz2"; none for other names.
FilePacking packing_of_name(std::string_view name) noexcept;
/// ".gz", ...; "" for none.
std::string_view extension_of(FilePacking packing) noexcept;

class PackedWriter : private NonCopyable {
 public:
  /// Creates or truncates the file.
  static Result<std::unique_ptr<PackedWriter>> open(const std::filesystem::path& path, FilePacking packing);
  /// Writes into `sink`; `name` appears in messages.
  static Result<std::unique_ptr<PackedWriter>> open(std::unique_ptr<ByteSink> sink, const std::string& name,
                                                    FilePacking packing);
  /// Without `close` the file is truncated at an arbitrary place.
  virtual ~PackedWriter() = default;

  /// Code::io with the path if a write fails; the file is unusable then.
  virtual Status write(std::string_view bytes) = 0;
  /// Completes the file. Call once.
  virtual Status close() = 0;
  /// Bytes of the file so far; the complete size after `close`.
  virtual uint64_t file_bytes() const noexcept = 0;
};

}  // namespace actorhost
