#include "host/net/send_batch.hpp"

#include <algorithm>
#include <cstring>

namespace actorhost {

namespace {

constexpr size_t kFirstCapacity = 256;  // a node may have a link to each of thousands of nodes
constexpr size_t kKeptCapacity = size_t{2} << 20;

}  // namespace

void SendBatch::add(const Frame& frame) {
  const size_t body = frame.body.size();
  const size_t padding = padding_bytes(frame.meta.size(), body);
  const bool copy_body = body < kCopiedBody;
  const size_t head = kHeaderBytes + frame.meta.size() + padding;
  std::byte* to = extend(head + (copy_body ? body : 0));
  encode_header(frame, to);
  if (!frame.meta.empty()) std::memcpy(to + kHeaderBytes, frame.meta.data(), frame.meta.size());
  if (padding != 0) std::memset(to + kHeaderBytes + frame.meta.size(), 0, padding);
  if (!copy_body) {
    bodies_.push_back({used_, frame.body});
  } else if (body != 0) {
    std::memcpy(to + head, frame.body.data(), body);
  }
  total_ += head + body;
  ++frames_;
}

std::byte* SendBatch::extend(size_t bytes) {
  if (used_ + bytes > capacity_) {
    const size_t wanted = std::max({kFirstCapacity, 2 * capacity_, used_ + bytes});
    auto larger = std::make_unique_for_overwrite<std::byte[]>(wanted);
    if (used_ != 0) std::memcpy(larger.get(), copied_.get(), used_);
    copied_ = std::move(larger);
    capacity_ = wanted;
  }
  std::byte* start = copied_.get() + used_;
  used_ += bytes;
  return start;
}

size_t SendBatch::pieces(std::array<Piece, kMaxPieces>& pieces) const {
  size_t count = 0;
  size_t copied = copied_written_;
  size_t inside = body_written_;
  for (size_t i = next_body_; count < kMaxPieces; ++i) {
    const size_t until = i < bodies_.size() ? bodies_[i].at : used_;
    if (until > copied) pieces[count++] = {copied_.get() + copied, until - copied};
    copied = until;
    if (i == bodies_.size() || count == kMaxPieces) break;
    const Blob& body = bodies_[i].bytes;
    // A write does not change the bytes; NNG uses one type for both directions.
    pieces[count++] = {const_cast<std::byte*>(body.data()) + inside, body.size() - inside};
    inside = 0;
  }
  return count;
}

void SendBatch::advance(size_t bytes) {
  written_ += bytes;
  while (bytes != 0) {
    const bool body_left = next_body_ < bodies_.size();
    const size_t until = body_left ? bodies_[next_body_].at : used_;
    const size_t copied = std::min(bytes, until - copied_written_);
    copied_written_ += copied;
    bytes -= copied;
    if (!body_left || bytes == 0) continue;
    const size_t part = std::min(bytes, bodies_[next_body_].bytes.size() - body_written_);
    body_written_ += part;
    bytes -= part;
    if (body_written_ != bodies_[next_body_].bytes.size()) continue;
    bodies_[next_body_].bytes = Blob();
    ++next_body_;
    body_written_ = 0;
  }
}

void SendBatch::clear() {
  if (capacity_ > kKeptCapacity) {
    copied_.reset();
    capacity_ = 0;
  }
  bodies_.clear();
  used_ = total_ = written_ = copied_written_ = next_body_ = body_written_ = 0;
  frames_ = 0;
}

}  // namespace actorhost
