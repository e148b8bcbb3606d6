#pragma once
// ByteSources that decompress another one, for file_reader.cpp; each belongs to the thread that reads it.

#include <cstdint>
#include <filesystem>
#include <memory>

#include "host/data/byte_source.hpp"

namespace actorhost {

/// No deflate stream expands further than so many times.
inline constexpr uint64_t kDeflateLimit = 1032;

/// gzip through zlib: libarchive's filter does not compare checksums.
std::unique_ptr<ByteSource> gzip_source(std::unique_ptr<ByteSource> packed, const std::filesystem::path& path);

/// Zstandard, xz and bzip2 through libarchive.
Result<std::unique_ptr<ByteSource>> archive_source(std::unique_ptr<ByteSource> packed,
                                                   const std::filesystem::path& path);

}  // namespace actorhost
