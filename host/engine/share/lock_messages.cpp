#include "host/engine/share/lock_messages.hpp"

#include <cstring>

namespace actorhost {

namespace {

constexpr size_t padded(size_t bytes) { return (bytes + kBodyAlignment - 1) / kBodyAlignment * kBodyAlignment; }

/// Joins bytes into one block; those of a single value are shared, not copied.
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

/// Cuts the next value of `size` bytes off a body that `joined` made; false when the body is too short.
bool cut_next(const Blob& body, size_t& at, uint64_t size, Blob& out) {
  if (size == 0) return true;
  const size_t from = padded(at);
  if (from > body.size() || size > body.size() - from) return false;
  out = body.slice(from, size);
  at = from + size;
  return true;
}

// A value, with its place in the ask where the message has it.
template <typename Item>
constexpr bool kPlaced = !std::is_same_v<Item, PackedValue>;

template <typename Item>
auto& value_of(Item& item) {
  if constexpr (kPlaced<std::remove_const_t<Item>>) {
    return item.second;
  } else {
    return item;
  }
}

template <typename Item>
Result<Frame> values_frame(Kind kind, Address to, uint32_t tag, const std::vector<Item>& items) {
  Packer meta;
  std::vector<const Blob*> bodies;
  meta.put(static_cast<uint32_t>(items.size()));
  for (const Item& item : items) {
    const PackedValue& value = value_of(item);
    if constexpr (kPlaced<Item>) meta.put(item.first);
    meta.put(value.head).put(static_cast<uint64_t>(value.body.size()));
    if (!value.body.empty()) bodies.push_back(&value.body);
  }
  return fitting(make_frame(kind, kNoAddress, to, tag, meta.bytes(), joined(bodies)), Code::unsupported,
                 "more values under one lock than one message can carry (1 GiB)");
}

template <typename Item>
Result<std::vector<Item>> read_values(const Frame& frame) {
  Unpacker in(frame.meta.view());
  std::vector<Item> items(in.count(kPlaced<Item> ? 16 : 12));
  size_t at = 0;
  for (Item& item : items) {
    PackedValue& value = value_of(item);
    if constexpr (kPlaced<Item>) item.first = in.get<uint32_t>();
    value.head = in.text();
    if (!cut_next(frame.body, at, in.get<uint64_t>(), value.body)) return Error{Code::bad_data, kBadFields};
  }
  if (!in.done()) return Error{Code::bad_data, kBadFields};
  return items;
}

}  // namespace

Result<Frame> LockAsk::frame(uint32_t tag, ProcessId to) const {
  return fitting(message_frame(lock_kind::ask, courier_address(to), tag, *this), Code::bad_argument,
                 "too many keys for one lock, or too long ones");
}

Result<Frame> release_frame(uint32_t tag, ProcessId to, const SharedWrites& writes) {
  return values_frame(lock_kind::release, courier_address(to), tag, writes);
}

Result<SharedWrites> read_release(const Frame& frame) { return read_values<SharedWrites::value_type>(frame); }

Result<Frame> granted_frame(const LockTable::Request& to, const std::vector<PackedValue>& values) {
  return values_frame(lock_kind::granted, to.node, to.id, values);
}

Result<std::vector<PackedValue>> read_granted(const Frame& frame) { return read_values<PackedValue>(frame); }

Frame LockWithdrawn::frame(const LockTable::Request& to) const {
  constexpr size_t kNamed = 16;
  if (blockers.size() > kNamed) return LockWithdrawn{{blockers.begin(), blockers.begin() + kNamed}}.frame(to);
  return message_frame(lock_kind::withdrawn, to.node, to.id, *this);
}

}  // namespace actorhost
