#pragma once
// The input of decoders: a file, decompressed data, a member of an archive. A source belongs to the thread that reads
// it.

#include <cstddef>
#include <span>

#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"

namespace actorhost {

class ByteSource : public Interface {
 public:
  /// Reads up to `out.size()` bytes; 0 only at the end, or for an empty `out`. Blocks on the disk. An error names the
  /// file and the offset and ends the source.
  virtual Result<size_t> read(std::span<std::byte> out) = 0;
};

/// Reads until `out` is full or the source ends; returns the number of bytes read.
inline Result<size_t> read_fully(ByteSource& source, std::span<std::byte> out) {
  size_t got = 0;
  while (got < out.size()) {
    auto n = source.read(out.subspan(got));
    if (!n) return n;
    if (*n == 0) break;
    got += *n;
  }
  return got;
}

}  // namespace actorhost
