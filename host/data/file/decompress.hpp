#pragma once
// ByteSources that decompress another source, for file_reader.cpp. A source belongs to the thread that reads it.

#include <cstdint>
#include <filesystem>
#include <memory>

#include "host/data/file/byte_source.hpp"

namespace actorhost {

/// The maximum expansion factor of a deflate stream.
inline constexpr uint64_t kDeflateLimit = 1032;

/// gzip through zlib, because libarchive's filter does not verify checksums.
std::unique_ptr<ByteSource> gzip_source(std::unique_ptr<ByteSource> packed, const std::filesystem::path& path);

/// Zstandard, xz and bzip2 through libarchive.
Result<std::unique_ptr<ByteSource>> archive_source(std::unique_ptr<ByteSource> packed,
                                                   const std::filesystem::path& path);

}  // namespace actorhost
