#include "host/wire/frame.hpp"

#include <cstring>

namespace actorhost {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the wire format is written by plain copies");

namespace {

struct RawHeader {
  uint16_t magic;
  uint8_t version;
  uint8_t flags;
  uint16_t kind;
  uint16_t reserved;
  uint32_t src;
  uint32_t dst;
  uint32_t tag;
  uint32_t meta_bytes;
  uint64_t body_bytes;
};
static_assert(sizeof(RawHeader) == kHeaderBytes);

Error bad(std::string what) { return {Code::bad_data, std::move(what)}; }

}  // namespace

void encode_header(const Frame& frame, std::byte* out) noexcept {
  const RawHeader raw{
      kFrameMagic, kWireVersion, frame.flags, static_cast<uint16_t>(frame.kind),        0,
      frame.src,   frame.dst,    frame.tag,   static_cast<uint32_t>(frame.meta.size()), frame.body.size()};
  std::memcpy(out, &raw, sizeof raw);
}

Result<FrameHeader> decode_header(const std::byte* bytes, const FrameLimits& limits) {
  RawHeader raw;
  std::memcpy(&raw, bytes, sizeof raw);
  if (raw.magic != kFrameMagic) return bad("not an actorhost frame (wrong magic)");
  if (raw.version != kWireVersion) {
    return bad("frame version " + std::to_string(raw.version) + ", this host speaks " + std::to_string(kWireVersion));
  }
  if (raw.reserved != 0) return bad("reserved header field is set");
  if (raw.meta_bytes > limits.meta_bytes) {
    return bad("frame metadata of " + std::to_string(raw.meta_bytes) + " bytes, the limit is " +
               std::to_string(limits.meta_bytes));
  }
  if (raw.body_bytes > limits.body_bytes) {
    return bad("frame body of " + std::to_string(raw.body_bytes) + " bytes, the limit is " +
               std::to_string(limits.body_bytes));
  }
  return FrameHeader{static_cast<Kind>(raw.kind), raw.flags, raw.src, raw.dst, raw.tag, raw.meta_bytes, raw.body_bytes};
}

}  // namespace actorhost
