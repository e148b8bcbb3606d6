#include "host/engine/lock_messages.hpp"

#include <cstring>

#include "host/wire/packer.hpp"

namespace actorhost {

namespace {

constexpr size_t kMaxWhere = 512;  // a script's name may be long

constexpr size_t padded(size_t bytes) { return (bytes + kBodyAlignment - 1) / kBodyAlignment * kBodyAlignment; }

Error malformed(const char* what) { return {Code::bad_data, std::string("malformed ") + what + " message"}; }

/// All bytes in one block; a single value's are shared, not copied.
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

/// Cuts the next value of `size` bytes off a body that `joined` made; false when it is not in there.
bool cut_next(const Blob& body, size_t& at, uint64_t size, Blob& out) {
  if (size == 0) return true;
  const size_t from = padded(at);
  if (from > body.size() || size > body.size() - from) return false;
  out = body.slice(from, size);
  at = from + size;
  return true;
}

Frame make(Kind kind, Address dst, uint32_t tag, const Packer& meta = {}, Blob body = {}) {
  Frame frame;
  frame.kind = kind;
  frame.dst = dst;
  frame.tag = tag;
  frame.meta = SmallBytes(meta.bytes());
  frame.body = std::move(body);
  return frame;
}

/// The frame, unless it is more than one can carry.
Result<Frame> fitting(Frame frame, Code code, const char* what) {
  const FrameLimits limits;
  if (frame.meta.size() > limits.meta_bytes || frame.body.size() > limits.body_bytes) {
    return Error{code, what};
  }
  return frame;
}

}  // namespace

Result<Frame> LockAsk::frame(uint32_t tag, ProcessId to) const {
  Packer meta;
  meta.put(epoch).put(std::string_view(where).substr(0, kMaxWhere)).put(static_cast<uint32_t>(keys.size()));
  for (const std::string& key : keys) meta.put(key);
  meta.put(static_cast<uint32_t>(parts.size()));
  for (const Part& p : parts) meta.put(p.part.table).put(p.part.id).put(p.owner);
  meta.put(static_cast<uint8_t>(access));
  return fitting(make(lock_kind::ask, courier_address(to), tag, meta), Code::bad_argument,
                 "too many keys for one lock, or too long ones");
}

Result<LockAsk> LockAsk::read(const Frame& frame) {
  Unpacker in(frame.meta.view());
  LockAsk ask;
  ask.epoch = in.get<uint64_t>();
  ask.where = in.words();
  ask.keys.resize(in.count(4));
  for (std::string& key : ask.keys) key = in.text();
  ask.parts.resize(in.count(16));
  for (Part& p : ask.parts) {
    p.part.table = in.get<uint32_t>();
    p.part.id = in.get<int64_t>();
    p.owner = in.get<NodeId>();
  }
  const auto access = in.get<uint8_t>();
  if (!in.done() || access > static_cast<uint8_t>(SharedAccess::adding)) return malformed("lock");
  ask.access = static_cast<SharedAccess>(access);
  return ask;
}

Result<Frame> release_frame(uint32_t tag, ProcessId to, const SharedWrites& writes) {
  Packer meta;
  std::vector<const Blob*> bodies;
  meta.put(static_cast<uint32_t>(writes.size()));
  for (const auto& [part, value] : writes) {
    meta.put(part).put(value.head).put(static_cast<uint64_t>(value.body.size()));
    if (!value.body.empty()) bodies.push_back(&value.body);
  }
  return fitting(make(lock_kind::release, courier_address(to), tag, meta, joined(bodies)), Code::unsupported,
                 "more new values than one message can carry (1 GiB)");
}

Result<SharedWrites> read_release(const Frame& frame) {
  Unpacker in(frame.meta.view());
  SharedWrites writes(in.count(16));
  size_t at = 0;
  for (auto& [part, value] : writes) {
    part = in.get<uint32_t>();
    value.head = in.text();
    if (!cut_next(frame.body, at, in.get<uint64_t>(), value.body)) return malformed("release");
  }
  if (!in.done()) return malformed("release");
  return writes;
}

Result<Frame> granted_frame(const LockTable::Request& to, const std::vector<PackedValue>& values) {
  Packer meta;
  std::vector<const Blob*> bodies;
  meta.put(static_cast<uint32_t>(values.size()));
  for (const PackedValue& value : values) {
    meta.put(value.head).put(static_cast<uint64_t>(value.body.size()));
    if (!value.body.empty()) bodies.push_back(&value.body);
  }
  return fitting(make(lock_kind::granted, to.node, to.id, meta, joined(bodies)), Code::unsupported,
                 "more values under one lock than one message can carry (1 GiB)");
}

Result<std::vector<PackedValue>> read_granted(const Frame& frame) {
  Unpacker in(frame.meta.view());
  std::vector<PackedValue> values(in.count(12));
  size_t at = 0;
  for (PackedValue& value : values) {
    value.head = in.text();
    if (!cut_next(frame.body, at, in.get<uint64_t>(), value.body)) return malformed("grant");
  }
  if (!in.done()) return malformed("grant");
  return values;
}

Frame withdrawn_frame(const LockTable::Request& to, const std::vector<LockTable::Blocker>& blockers) {
  constexpr size_t kNamed = 16;  // more nobody reads
  Packer meta;
  meta.put(static_cast<uint32_t>(std::min(blockers.size(), kNamed)));
  for (size_t i = 0; i < blockers.size() && i < kNamed; ++i) {
    meta.put(blockers[i].node).put(static_cast<uint8_t>(blockers[i].holds)).put(blockers[i].where);
  }
  return make(lock_kind::withdrawn, to.node, to.id, meta);
}

Result<std::vector<LockTable::Blocker>> read_withdrawn(const Frame& frame) {
  Unpacker in(frame.meta.view());
  std::vector<LockTable::Blocker> blockers(in.count(9));
  for (LockTable::Blocker& blocker : blockers) {
    blocker.node = in.get<Address>();
    blocker.holds = in.get<uint8_t>() != 0;
    blocker.where = in.words();
  }
  if (!in.done()) return malformed("withdrawn");
  return blockers;
}

Frame refused_frame(const LockTable::Request& to, const Error& error) {
  Packer meta;
  meta.put(static_cast<uint8_t>(error.code)).put(error.message);
  return make(lock_kind::refused, to.node, to.id, meta);
}

Error read_refused(const Frame& frame) {
  Unpacker in(frame.meta.view());
  const auto code = in.get<uint8_t>();
  std::string message = in.words();
  if (!in.done() || code > static_cast<uint8_t>(Code::internal)) return malformed("refused");
  return {static_cast<Code>(code), std::move(message)};
}

}  // namespace actorhost
