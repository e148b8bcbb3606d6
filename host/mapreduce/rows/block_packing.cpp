#include "host/mapreduce/rows/block_packing.hpp"

#include <lz4.h>

namespace actorhost {

namespace {

/// LZ4 expands one byte to at most this many.
constexpr uint64_t kMostRatio = 255;

}  // namespace

Blob pack_block(const Blob& raw) {
  if (raw.size() < 64 || raw.size() > LZ4_MAX_INPUT_SIZE) return raw;
  // Gives LZ4 only as much room as makes packing worthwhile: LZ4 fails when it needs more.
  const size_t room = raw.size() - raw.size() / 16;
  Blob out = Blob::allocate(room);
  const int size =
      LZ4_compress_default(raw.chars(), out.chars(), static_cast<int>(raw.size()), static_cast<int>(out.size()));
  return size > 0 ? out.slice(0, static_cast<size_t>(size)) : raw;
}

std::optional<Blob> unpack_block(const Blob& stored, uint64_t raw_bytes) {
  if (stored.size() == raw_bytes) return stored;
  if (raw_bytes > LZ4_MAX_INPUT_SIZE || stored.size() > raw_bytes || raw_bytes / kMostRatio > stored.size()) return {};
  Blob raw = Blob::allocate(raw_bytes);
  const int size =
      LZ4_decompress_safe(stored.chars(), raw.chars(), static_cast<int>(stored.size()), static_cast<int>(raw.size()));
  if (size < 0 || static_cast<size_t>(size) != raw.size()) return {};
  return raw;
}

}  // namespace actorhost
