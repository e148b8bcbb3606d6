#include "host/net/frame_reader.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "host/net/receive_buffers.hpp"

namespace actorhost {

namespace {

// After a body of this size another large body is likely, and only its head should pass through the buffer.
constexpr size_t kLargeBody = ReceiveBuffers::kMinBytes;
constexpr size_t kHeadRoom = 512;

}  // namespace

FrameReader::FrameReader(const FrameLimits& limits, RoomFor room_for)
    : limits_(limits),
      room_for_(std::move(room_for)),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(kFirstBufferBytes)) {}

size_t FrameReader::room(std::array<Piece, 2>& pieces) noexcept {
  size_t count = 0;
  if (in_body_) pieces[count++] = {current_.body.data() + body_have_, current_.body.size() - body_have_};
  const size_t space = capacity_ - end_;
  pieces[count++] = {buffer_.get() + end_, after_large_ ? std::min(space, kHeadRoom) : space};
  return count;
}

Status FrameReader::received(size_t bytes, std::vector<Frame>& out) {
  if (in_body_) take_body(bytes, out);
  end_ += bytes;
  if (end_ == capacity_) least_capacity_ = kBufferBytes;
  for (;;) {
    Result<bool> took = take_frame(out);
    if (!took.ok()) return took.error();
    if (!*took) break;
  }
  if (begin_ == end_) begin_ = end_ = 0;
  if (capacity_ < least_capacity_) make_space(0);
  return {};
}

void FrameReader::take_body(size_t& bytes, std::vector<Frame>& out) {
  const size_t part = std::min(bytes, current_.body.size() - body_have_);
  body_have_ += part;
  bytes -= part;
  if (body_have_ != current_.body.size()) return;
  in_body_ = false;
  out.push_back(std::move(current_));
}

Result<bool> FrameReader::take_frame(std::vector<Frame>& out) {
  if (buffered() < kHeaderBytes) {
    make_space(kHeaderBytes);
    return false;
  }
  const std::byte* start = buffer_.get() + begin_;
  auto header = decode_header(start, limits_);
  if (!header.ok()) return header.error();
  if (!known_kind(header->kind)) {
    return Error{Code::bad_data, "unknown kind of frame " + std::to_string(static_cast<unsigned>(header->kind))};
  }
  const size_t head = kHeaderBytes + header->meta_bytes + padding_bytes(header->meta_bytes, header->body_bytes);
  after_large_ = false;
  if (buffered() < head) {
    make_space(head);
    return false;
  }
  after_large_ = header->body_bytes >= kLargeBody;
  Frame frame;
  frame.kind = header->kind;
  frame.flags = header->flags;
  frame.src = header->src;
  frame.dst = header->dst;
  frame.tag = header->tag;
  frame.meta.assign(start + kHeaderBytes, header->meta_bytes);
  begin_ += head;
  if (header->body_bytes != 0) {
    AH_LET(frame.body, body_of(frame, header->body_bytes));
    const size_t have = std::min(buffered(), frame.body.size());
    std::memcpy(frame.body.data(), buffer_.get() + begin_, have);
    begin_ += have;
    if (have < frame.body.size()) {
      current_ = std::move(frame);
      body_have_ = have;
      in_body_ = true;
      begin_ = end_ = 0;
      return false;
    }
  }
  out.push_back(std::move(frame));
  return true;
}

Result<Blob> FrameReader::body_of(const Frame& head, size_t bytes) const {
  try {
    Blob room = room_for_ && bytes >= kLargeBody ? room_for_(head, bytes) : Blob();
    return room.empty() ? Blob::allocate(bytes) : room;
  } catch (const std::bad_alloc&) {
    return Error{Code::full, "there is no memory for a frame of " + std::to_string(bytes) + " bytes"};
  }
}

/// Makes space for an incomplete head after begin_, and for a large read.
void FrameReader::make_space(size_t head_bytes) {
  const size_t have = buffered();
  const size_t wanted = std::max(head_bytes, least_capacity_);
  if (wanted != capacity_) {
    auto other = std::make_unique_for_overwrite<std::byte[]>(std::max(wanted, have));
    std::memcpy(other.get(), buffer_.get() + begin_, have);
    buffer_ = std::move(other);
    capacity_ = std::max(wanted, have);
  } else if (begin_ != 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, have);
  }
  begin_ = 0;
  end_ = have;
}

}  // namespace actorhost
