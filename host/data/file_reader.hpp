#pragma once
// Reading files whole or as a stream, whatever they are compressed with: gzip, Zstandard, xz and bzip2 are told by
// their first bytes, never by the name; everything else is taken as it is. Concatenated members are read through.
// Checksums of the compressed formats are verified. Any thread; calls block on the disk.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "host/base/blob.hpp"
#include "host/base/result.hpp"
#include "host/data/byte_source.hpp"

namespace actorhost {

struct ReadOptions {
  /// More bytes than this (after decompression) are an error: some hundred bytes of input can unpack to terabytes.
  uint64_t max_bytes = uint64_t{64} << 30;
};

/// The content as a stream. Errors are Code::io (the file system) or Code::bad_data (damaged or cut compressed data,
/// max_bytes passed); they name the file and the offset in the content.
Result<std::unique_ptr<ByteSource>> open_source(const std::filesystem::path& path, const ReadOptions& options = {});

/// The content of what another source gives; `name` stands in messages.
Result<std::unique_ptr<ByteSource>> open_source(std::unique_ptr<ByteSource> packed, const std::string& name,
                                                const ReadOptions& options = {});

/// Whether a file that begins like this (16 bytes or more, unless it is shorter) is compressed.
bool is_compressed(std::string_view start) noexcept;

/// The whole content. A plain file is read in one go into memory of its size.
Result<Blob> read_file(const std::filesystem::path& path, const ReadOptions& options = {});

}  // namespace actorhost
