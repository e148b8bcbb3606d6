#pragma once
// Reads whole files or streams and decompresses them. gzip, Zstandard, xz and bzip2 are recognised by their first
// bytes, never by the name; other content is passed through. Concatenated members are read to the last. Checksums of
// the compressed formats are verified. Any thread; calls block on the disk.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "host/base/blob.hpp"
#include "host/base/result.hpp"
#include "host/data/file/byte_source.hpp"

namespace actorhost {

struct ReadOptions {
  /// The limit of bytes after decompression: some hundred bytes of input can expand to terabytes.
  uint64_t max_bytes = uint64_t{64} << 30;
};

/// The content as a stream. `path` may be a URL of url_source.hpp, here and in read_file. Errors are Code::io (file
/// system) or Code::bad_data (damaged or truncated compressed data, content above max_bytes); they name the file and
/// the offset in the content.
Result<std::unique_ptr<ByteSource>> open_source(const std::filesystem::path& path, const ReadOptions& options = {});

/// The decompressed content of another source; `name` appears in messages.
Result<std::unique_ptr<ByteSource>> open_source(std::unique_ptr<ByteSource> packed, const std::string& name,
                                                const ReadOptions& options = {});

/// Whether a file with this start is compressed. `start` holds 16 bytes or the whole file.
bool is_compressed(std::string_view start) noexcept;

/// The whole content. For a plain file, reads once into memory of the file's size.
Result<Blob> read_file(const std::filesystem::path& path, const ReadOptions& options = {});

}  // namespace actorhost
