#pragma once
// Decodes the bytes of one connection into frames: a state machine without sockets. It provides the memory for the next
// read. So all of a large body, except the bytes that arrive with its head, is read directly into its block or receive
// buffer (receive_buffers.hpp). Used by one thread at a time; no call blocks.

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "host/base/result.hpp"
#include "host/net/byte_stream.hpp"
#include "host/wire/frame.hpp"

namespace actorhost {

class FrameReader {
 public:
  static constexpr size_t kBufferBytes = size_t{256} << 10;  // once a read has filled the first buffer
  static constexpr size_t kFirstBufferBytes = 1024;          // most links only have a few short frames

  /// Returns the memory for a large body of `bytes` bytes; an empty blob selects a new block.
  using RoomFor = std::function<Blob(const Frame& head, size_t bytes)>;

  explicit FrameReader(const FrameLimits& limits, RoomFor room_for = {});

  /// Describes the memory for the next read as `pieces`, to be filled in order; returns the number of pieces.
  size_t room(std::array<Piece, 2>& pieces) noexcept;
  /// Decodes the first `bytes` bytes of that memory, and appends complete frames to `out`. Code::bad_data: the bytes
  /// are no valid frame; Code::full: no memory for a frame. After an error `out` has the frames before it, and the
  /// caller must not call the reader again.
  Status received(size_t bytes, std::vector<Frame>& out);

 private:
  size_t buffered() const noexcept { return end_ - begin_; }
  void take_body(size_t& bytes, std::vector<Frame>& out);
  /// True when it decoded a complete frame.
  Result<bool> take_frame(std::vector<Frame>& out);
  Result<Blob> body_of(const Frame& head, size_t bytes) const;
  void make_space(size_t head_bytes);

  const FrameLimits limits_;
  const RoomFor room_for_;
  std::unique_ptr<std::byte[]> buffer_;
  size_t capacity_ = kFirstBufferBytes;
  size_t least_capacity_ = kFirstBufferBytes;
  size_t begin_ = 0;
  size_t end_ = 0;
  bool after_large_ = false;  // the newest frame has a large body
  bool in_body_ = false;
  Frame current_;  // while in_body_: the frame without the end of its body
  size_t body_have_ = 0;
};

}  // namespace actorhost
