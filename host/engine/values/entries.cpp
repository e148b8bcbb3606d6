#include "host/engine/values/entries.hpp"

#include <algorithm>
#include <cstring>

namespace actorhost {

namespace {

enum class Tag : uint8_t { nil = 0, whole = 1, part = 2, lua = 3, fetch = 4, filtered = 5 };

constexpr size_t kMetaFlush = size_t{256} << 10;   // a frame is closed when its meta exceeds this
constexpr size_t kByReference = size_t{16} << 10;  // a payload of at least this size is not copied into a shared body
constexpr size_t kDecoded = 8 * kChunkBytes;       // limit for the decoded bytes of a frame's filtered chunks
constexpr size_t kReserve = 256;
constexpr size_t kSmallestEntry = 4 + 1 + 1;  // key of one byte, nil

constexpr size_t align_body(size_t n) noexcept { return (n + kBodyAlignment - 1) / kBodyAlignment * kBodyAlignment; }

Error bad(const char* what) { return {Code::bad_data, what}; }

class EntryReader {
 public:
  EntryReader(Unpacker& in, const Blob& body) : in_(in), body_(body) {}

  Status value(ParamValue& out) {
    switch (in_.get<Tag>()) {
      case Tag::nil: out = std::monostate{}; return {};
      case Tag::whole: return tensor(out, false);
      case Tag::part: return tensor(out, true);
      case Tag::fetch: out = ParamFetch{}; return {};
      case Tag::lua: return lua(out);
      case Tag::filtered: return filtered(out);
    }
    return bad("unknown kind of value");
  }
  const FilterBytes& bytes() const noexcept { return bytes_; }

 private:
  Status layout(TensorLayout& out) {
    FieldUnpacker{in_}(out);
    return in_.ok() ? Status() : Status(bad("an impossible type or shape of a tensor"));
  }

  /// The layout of a tensor for updates.
  Status float_layout(TensorLayout& out) {
    AH_TRY(layout(out));
    return is_floating(out.dtype) ? Status() : Status(bad("a tensor whose elements are not floats"));
  }

  Status tensor(ParamValue& out, bool part) {
    ParamTensor t;
    AH_TRY(float_layout(t));
    t.count = t.elements();
    if (part) AH_TRY(range(t));
    AH_TRY(payload(t.bytes(), t.data));
    out = std::move(t);
    return {};
  }

  Status range(ParamTensor& out) {
    const uint64_t elements = out.count;
    out.first = in_.get<uint64_t>();
    out.count = in_.get<uint64_t>();
    if (out.first > elements || out.count > elements - out.first) return bad("a part outside of its tensor");
    return {};
  }

  // A few bytes may encode many elements, so the decoded size is checked before memory is allocated.
  Status filtered(ParamValue& out) {
    ParamTensor t;
    AH_TRY(float_layout(t));
    t.count = t.elements();
    AH_TRY(range(t));
    const auto size = in_.get<uint64_t>();
    if (!in_.ok() || t.count > chunk_elements(t.dtype)) return bad("a filtered part larger than a chunk");
    decoded_ += t.bytes();
    if (decoded_ > kDecoded) return bad("more filtered parts than a frame may have");
    Blob bytes;
    AH_TRY(payload(size, bytes));
    t.data = Blob::allocate(t.bytes());
    AH_TRY(decode_filtered(bytes.view(), t.dtype, t.count, t.data.data()));
    bytes_.before += t.bytes() - size;
    out = std::move(t);
    return {};
  }

  Status lua(ParamValue& out) {
    LuaValue value;
    const auto size = in_.get<uint64_t>();
    AH_TRY(payload(size, value.encoded));
    const uint32_t n = in_.count(2);
    for (uint32_t i = 0; i < n; ++i) {
      Tensor t;
      AH_TRY(layout(t));
      AH_TRY(payload(t.bytes(), t.data));
      value.tensors.push_back(std::move(t));
    }
    out = std::move(value);
    return {};
  }

  Status payload(uint64_t size, Blob& out) {
    if (size == 0) return {};
    const size_t at = align_body(used_);
    if (at > body_.size() || size > body_.size() - at) return bad("a payload longer than the body");
    out = body_.slice(at, size);
    used_ = at + size;
    bytes_ += {size, size};
    return {};
  }

  Unpacker& in_;
  const Blob& body_;
  size_t used_ = 0;
  size_t decoded_ = 0;
  FilterBytes bytes_;
};

// Writes a list as metadata: `head`, the number of entries, the entries. Empty views may hold null, which memcpy must
// not get.
void write_list(SmallBytes& meta, std::string_view head, uint32_t count, std::string_view entries) {
  std::byte* to = meta.resize(head.size() + sizeof count + entries.size());
  if (!head.empty()) std::memcpy(to, head.data(), head.size());
  std::memcpy(to + head.size(), &count, sizeof count);
  if (!entries.empty()) std::memcpy(to + head.size() + sizeof count, entries.data(), entries.size());
}

}  // namespace

EntryPacker::EntryPacker(Kind kind, Address dst, uint32_t tag, std::string_view head, bool with_steps)
    : kind_(kind), dst_(dst), tag_(tag), with_steps_(with_steps), head_(head) {}

void EntryPacker::add(const ParamKey& key, const ParamValue& value, uint64_t step) {
  if (const auto* tensor = std::get_if<ParamTensor>(&value)) return add_tensor(key, *tensor, step);
  if (const auto* lua = std::get_if<LuaValue>(&value)) {
    size_t size = lua->encoded.size();
    for (const Tensor& t : lua->tensors) size += t.bytes();
    if (body_bytes_ + size > kChunkBytes) close_frame();
    begin_entry(key, step);
    put_lua(*lua);
  } else {
    begin_entry(key, step);
    entries_.put(std::holds_alternative<ParamFetch>(value) ? Tag::fetch : Tag::nil);
  }
  if (entries_.bytes().size() > kMetaFlush) close_frame();
}

void EntryPacker::add_tensor(const ParamKey& key, const ParamTensor& tensor, uint64_t step) {
  for_each_chunk(tensor, [&](const ParamTensor& chunk) { put_chunk(key, chunk, step); });
}

void EntryPacker::put_chunk(const ParamKey& key, const ParamTensor& chunk, uint64_t step) {
  const bool alone = chunk.bytes() >= kByReference;
  if ((alone && body_bytes_ != 0) || body_bytes_ + chunk.bytes() > kChunkBytes) close_frame();
  begin_entry(key, step);
  entries_.put(chunk.is_whole() ? Tag::whole : Tag::part);
  put_layout(chunk);
  if (!chunk.is_whole()) entries_.put(chunk.first).put(chunk.count);
  add_payload(chunk.data);
  if (alone || entries_.bytes().size() > kMetaFlush) close_frame();
}

void EntryPacker::add_filtered(const ParamKey& key, const ParamTensor& chunk, const Blob& filtered, uint64_t step) {
  const bool alone = filtered.size() >= kByReference;
  if ((alone && body_bytes_ != 0) || body_bytes_ + filtered.size() > kChunkBytes ||
      decoded_bytes_ + chunk.bytes() > kDecoded) {
    close_frame();
  }
  begin_entry(key, step);
  entries_.put(Tag::filtered);
  put_layout(chunk);
  entries_.put(chunk.first).put(chunk.count).put(static_cast<uint64_t>(filtered.size()));
  add_payload(filtered);
  decoded_bytes_ += chunk.bytes();
  if (alone || entries_.bytes().size() > kMetaFlush) close_frame();
}

void EntryPacker::begin_entry(const ParamKey& key, uint64_t step) {
  ++count_;
  entries_.put(key.canonical());
  if (with_steps_) entries_.put(step);
}

void EntryPacker::put_layout(const TensorLayout& tensor) { FieldPacker{entries_}(tensor); }

void EntryPacker::put_lua(const LuaValue& lua) {
  entries_.put(Tag::lua).put(static_cast<uint64_t>(lua.encoded.size())).put(static_cast<uint32_t>(lua.tensors.size()));
  add_payload(lua.encoded);
  for (const Tensor& t : lua.tensors) {
    put_layout(t);
    add_payload(t.data);
  }
}

void EntryPacker::add_payload(const Blob& bytes) {
  if (bytes.empty()) return;
  body_bytes_ = align_body(body_bytes_) + bytes.size();
  payloads_.push_back(bytes);
}

void EntryPacker::close_frame() {
  Frame frame;
  frame.kind = kind_;
  frame.flags = flags_;
  frame.dst = dst_;
  frame.tag = tag_;
  write_list(frame.meta, head_, count_, entries_.bytes());
  if (payloads_.size() == 1) {
    frame.body = std::move(payloads_[0]);
  } else if (!payloads_.empty()) {
    frame.body = Blob::allocate(body_bytes_);
    size_t used = 0;
    for (const Blob& payload : payloads_) {
      const size_t at = align_body(used);
      std::memset(frame.body.data() + used, 0, at - used);
      std::memcpy(frame.body.data() + at, payload.data(), payload.size());
      used = at + payload.size();
    }
  }
  frames_.push_back(std::move(frame));
  entries_ = Packer();
  count_ = 0;
  payloads_.clear();
  body_bytes_ = 0;
  decoded_bytes_ = 0;
}

void EntryPacker::finish(std::vector<Frame>& out) {
  if (count_ != 0 || frames_.empty()) close_frame();
  frames_.back().flags |= kLastFrame;
  for (Frame& frame : frames_) out.push_back(std::move(frame));
  frames_.clear();
}

Status read_entries(Unpacker& in, const Blob& body, bool with_steps, std::vector<ParamEntry>& out, FilterBytes* bytes) {
  const uint32_t n = in.count(kSmallestEntry + (with_steps ? sizeof(uint64_t) : 0));
  EntryReader reader(in, body);
  out.reserve(out.size() + std::min<size_t>(n, kReserve));  // the count is untrusted: no memory is reserved for more
  for (uint32_t i = 0; i < n; ++i) {
    AH_LET(auto key, ParamKey::from_canonical(in.text()));
    ParamEntry& entry = out.emplace_back();
    entry.key = std::move(key);
    if (with_steps) entry.step = in.get<uint64_t>();
    AH_TRY(reader.value(entry.value));
  }
  if (!in.done()) return bad("entries that don't fill the frame exactly");
  if (bytes != nullptr) *bytes += reader.bytes();
  return {};
}

Status read_keys(Unpacker& in, std::vector<ParamKey>& out) {
  const uint32_t n = in.count(sizeof(uint32_t) + 1);
  out.reserve(out.size() + std::min<size_t>(n, kReserve));  // the count is untrusted: no memory is reserved for more
  for (uint32_t i = 0; i < n; ++i) {
    AH_LET(auto key, ParamKey::from_canonical(in.text()));
    out.push_back(std::move(key));
  }
  if (!in.done()) return bad("keys that don't fill the frame exactly");
  return {};
}

void pack_keys(Kind kind, Address dst, uint32_t tag, std::string_view head, std::span<const ParamKey> keys,
               std::vector<Frame>& out) {
  size_t next = 0;
  do {
    Packer list;
    uint32_t n = 0;
    while (next < keys.size() && list.bytes().size() < kMetaFlush) {
      list.put(keys[next++].canonical());
      ++n;
    }
    Frame frame;
    frame.kind = kind;
    frame.flags = next == keys.size() ? kLastFrame : uint8_t{0};
    frame.dst = dst;
    frame.tag = tag;
    write_list(frame.meta, head, n, list.bytes());
    out.push_back(std::move(frame));
  } while (next < keys.size());
}

}  // namespace actorhost
