#include "host/engine/share/lock_messages.hpp"

#include <cstring>

namespace actorhost {

namespace {

constexpr size_t padded(size_t bytes) { return (bytes + kBodyAlignment - 1) / kBodyAlignment * kBodyAlignment; }

/// Joins bytes into one block. The bytes of a single value are shared, not copied.
Blob joined(const std::vector<const Blob*>& bodies) {
  if (bodies.size() == 1) return *bodies[0];
  size_t size = 0;
  for (const Blob* body : bodies) size = padded(size) + body->size();
  Blob out = Blob::allocate(size);
  size_t at = 0;
  for (const Blob* body : bodies) {
    const size_t from = padded(at);
    if (from > at) std::memset(out.data() + at, 0, std::min(from, size) - at);
    if (!body->empty()) std::memcpy(out.data() + from, body->data(), body->size());
    at = from + body->size();
  }
  return out;
}

/// Cuts the next value of `size` bytes off a body that `joined` made; false if the body is too short.
bool cut_next(const Blob& body, size_t& at, uint64_t size, Blob& out) {
  if (size == 0) return true;
  const size_t from = padded(at);
  if (from > body.size() || size > body.size() - from) return false;
  out = body.slice(from, size);
  at = from + size;
  return true;
}

}  // namespace

Result<Frame> LockRequest::frame(uint32_t tag, ProcessId to) const {
  return check_frame_size(message_frame(lock_kind::request, courier_address(to), tag, *this), Code::bad_argument,
                          "too many keys for one lock, or too long ones");
}

Result<Frame> release_frame(uint32_t tag, ProcessId to, const SharedWrites& writes) {
  Packer meta;
  std::vector<const Blob*> bodies;
  meta.put(static_cast<uint32_t>(writes.size()));
  for (const auto& [part, value] : writes) {
    meta.put(part).put(value.head).put(static_cast<uint64_t>(value.body.size()));
    if (!value.body.empty()) bodies.push_back(&value.body);
  }
  return check_frame_size(
      make_frame(lock_kind::release, kNoAddress, courier_address(to), tag, meta.bytes(), joined(bodies)),
      Code::unsupported, "more new values than one message can carry (1 GiB)");
}

Result<SharedWrites> read_release(const Frame& frame) {
  Unpacker in(frame.meta.view());
  SharedWrites writes(in.count(16));
  size_t at = 0;
  for (auto& [part, value] : writes) {
    part = in.get<uint32_t>();
    value.head = in.text();
    if (!cut_next(frame.body, at, in.get<uint64_t>(), value.body)) return Error{Code::bad_data, kBadFields};
  }
  if (!in.done()) return Error{Code::bad_data, kBadFields};
  return writes;
}

Result<Frame> granted_frame(const LockTable::RequestId& to, const std::vector<PackedValue>& values) {
  Packer meta;
  std::vector<const Blob*> bodies;
  meta.put(static_cast<uint32_t>(values.size()));
  for (const PackedValue& value : values) {
    meta.put(value.head).put(static_cast<uint64_t>(value.body.size()));
    if (!value.body.empty()) bodies.push_back(&value.body);
  }
  return check_frame_size(make_frame(lock_kind::granted, kNoAddress, to.node, to.id, meta.bytes(), joined(bodies)),
                          Code::unsupported, "more values under one lock than one message can carry (1 GiB)");
}

Result<std::vector<PackedValue>> read_granted(const Frame& frame) {
  Unpacker in(frame.meta.view());
  std::vector<PackedValue> values(in.count(12));
  size_t at = 0;
  for (PackedValue& value : values) {
    value.head = in.text();
    if (!cut_next(frame.body, at, in.get<uint64_t>(), value.body)) return Error{Code::bad_data, kBadFields};
  }
  if (!in.done()) return Error{Code::bad_data, kBadFields};
  return values;
}

Frame LockWithdrawn::frame(const LockTable::RequestId& to) const {
  constexpr size_t kNamed = 16;
  if (blockers.size() > kNamed) return LockWithdrawn{{blockers.begin(), blockers.begin() + kNamed}}.frame(to);
  return message_frame(lock_kind::withdrawn, to.node, to.id, *this);
}

}  // namespace actorhost
