#pragma once
// Turns the bytes of one connection into frames: a state machine without sockets. It says where the next bytes go, so
// that a large body, but for its first bytes, is read straight into its block or into the room that its receiver has
// named (landings.hpp). Used by one thread at a time.

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "host/base/result.hpp"
#include "host/net/stream_io.hpp"
#include "host/wire/frame.hpp"

namespace actorhost {

class FrameReader {
 public:
  static constexpr size_t kBufferBytes = size_t{256} << 10;

  /// Where the large body of a frame shall go, which has so many bytes; an empty one: into a block of its own.
  using RoomFor = std::function<Blob(const Frame& head, size_t bytes)>;

  explicit FrameReader(const FrameLimits& limits, RoomFor room_for = {});

  /// Where the next bytes go, in order; returns how many pieces there are.
  size_t room(std::array<Piece, 2>& pieces) noexcept;
  /// `bytes` were written there. Appends the frames that are complete now. Code::bad_data on bytes that are no frame
  /// of ours, Code::full where there is no memory for one: those before it are in `out`, nothing after it will be.
  Status received(size_t bytes, std::vector<Frame>& out);

 private:
  size_t buffered() const noexcept { return end_ - begin_; }
  void take_body(size_t& bytes, std::vector<Frame>& out);
  /// True when it took a frame, or its start.
  Result<bool> take_frame(std::vector<Frame>& out);
  Result<Blob> body_of(const Frame& head, size_t bytes) const;
  void make_space(size_t head_bytes);

  const FrameLimits limits_;
  const RoomFor room_for_;
  std::unique_ptr<std::byte[]> buffer_;
  size_t capacity_ = kBufferBytes;
  size_t begin_ = 0;
  size_t end_ = 0;
  bool after_large_ = false;  // the last head was of a large body
  bool in_body_ = false;
  Frame current_;  // while in_body_: all but the end of its body
  size_t body_have_ = 0;
};

}  // namespace actorhost
