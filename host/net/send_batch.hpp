#pragma once
// Encodes frames as the bytes of one or few writes: copies headers, metadata and small bodies consecutively, and refers
// to large bodies. Filled by one thread, then written by one thread; no locks.

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "host/net/byte_stream.hpp"
#include "host/wire/frame.hpp"

namespace actorhost {

class SendBatch {
 public:
  /// Below this size a copy is cheaper than a separate piece of the write.
  static constexpr size_t kCopiedBody = size_t{16} << 10;

  /// Refers to a large body until `clear`.
  void add(const Frame& frame);

  /// The next bytes to write, in at most kMaxPieces pieces.
  size_t pieces(std::array<Piece, kMaxPieces>& pieces) const;
  /// Marks the next `bytes` as written.
  void advance(size_t bytes);

  bool done() const noexcept { return written_ == total_; }
  bool empty() const noexcept { return total_ == 0; }
  size_t bytes() const noexcept { return total_; }
  size_t copied_bytes() const noexcept { return used_; }
  uint64_t frames() const noexcept { return frames_; }
  void clear();

 private:
  struct Body {
    size_t at;  // number of copied bytes before it
    Blob bytes;
  };

  std::byte* extend(size_t bytes);

  std::unique_ptr<std::byte[]> copied_;
  size_t capacity_ = 0;
  size_t used_ = 0;
  std::vector<Body> bodies_;
  size_t total_ = 0;
  uint64_t frames_ = 0;
  size_t written_ = 0;
  size_t copied_written_ = 0;
  size_t next_body_ = 0;
  size_t body_written_ = 0;  // of bodies_[next_body_]
};

}  // namespace actorhost
