#pragma once
// The unit of transfer between nodes: a frame is one message. PROTOCOL.md has worked examples of the bytes.
//
//   frame  = header meta [ padding body ]
//   header = magic:u16 version:u8 flags:u8 kind:u16 reserved:u16 src:u32 dst:u32 tag:u32 meta_bytes:u32 body_bytes:u64
//
// All numbers are little-endian; the header has 32 bytes. The body starts at the next multiple of 64 bytes from the
// frame's first byte; without a body there is no padding. `meta` has the fields of the message; it is small and is
// copied. `body` is raw tensor bytes or an encoded value; within a process it is passed by reference. Plain values and
// pure functions.

#include <array>
#include <cstddef>
#include <cstdint>

#include "host/base/blob.hpp"
#include "host/base/result.hpp"
#include "host/wire/address.hpp"
#include "host/wire/small_bytes.hpp"

namespace actorhost {

inline constexpr uint16_t kFrameMagic = 0x4841;  // the bytes 'A' 'H'
inline constexpr uint8_t kWireVersion = 8;
inline constexpr size_t kHeaderBytes = 32;
inline constexpr size_t kBodyAlignment = 64;

/// The type of message in a frame. Each layer has a range of kinds and names its kinds in its own header. This enum
/// names the kinds of the transport, and the first kind of each other range.
enum class Kind : uint16_t {
  heartbeat = 0x0001,
  link_hello = 0x0002,  // first frame on a connection between two hosts of a run
  farewell = 0x0003,    // last frame; the receiver closes the connection
  cluster_first = 0x0100,
  collective_first = 0x0200,
  param_first = 0x0300,
  mapreduce_first = 0x0400,
  lock_first = 0x0500,
  event_first = 0x0600,
  overlay_first = 0x0700,
  peer_first = 0x0800,
  test = 0x7f00,
};

struct KindRange {
  Kind first;
  Kind last;
  const char* layer;  // its name in the table of PROTOCOL.md; a test compares the tables
};

/// All ranges of kinds and their layers. A frame with a kind outside all ranges closes its connection.
inline constexpr std::array kKindRanges = {
    KindRange{Kind::heartbeat, Kind::farewell, "transport"},
    KindRange{Kind::cluster_first, Kind{0x01ff}, "cluster"},         // host/cluster/cluster_messages.hpp
    KindRange{Kind::collective_first, Kind{0x02ff}, "collectives"},  // host/engine/collective, host/engine/average
    KindRange{Kind::param_first, Kind{0x03ff}, "parameter server"},  // host/engine/param/param_messages.hpp
    KindRange{Kind::mapreduce_first, Kind{0x04ff}, "map-reduce"},    // host/mapreduce/tasks/mapreduce_messages.hpp
    KindRange{Kind::lock_first, Kind{0x05ff}, "locks"},              // host/engine/share/lock_messages.hpp
    KindRange{Kind::event_first, Kind{0x06ff}, "events"},            // host/engine/share/event_messages.hpp
    KindRange{Kind::overlay_first, Kind{0x07ff}, "overlay"},         // host/overlay/overlay_messages.hpp
    KindRange{Kind::peer_first, Kind{0x08ff}, "peers"},              // host/engine/peer/peer_messages.hpp
    KindRange{Kind::test, Kind{0x7fff}, "tests and benchmarks"},
};

constexpr bool within(Kind kind, const KindRange& range) noexcept { return kind >= range.first && kind <= range.last; }

/// Whether a connection may carry frames of this kind.
constexpr bool known_kind(Kind kind) noexcept {
  for (const KindRange& range : kKindRanges) {
    if (within(kind, range)) return true;
  }
  return false;
}

/// The range that begins with `first`; an error of the compiler if there is none.
consteval KindRange kinds_of(Kind first) {
  for (const KindRange& range : kKindRanges) {
    if (range.first == first) return range;
  }
  throw "no range of kKindRanges begins there";
}

struct Frame {
  Kind kind = Kind::test;
  uint8_t flags = 0;
  Address src = kNoAddress;
  Address dst = kNoAddress;
  uint32_t tag = 0;  // a number with a meaning that the layer defines: request number, action, step
  SmallBytes meta;
  Blob body;

  /// The bytes that count against the bounds of queues.
  size_t cost() const noexcept { return kHeaderBytes + meta.size() + body.size(); }
};

struct FrameHeader {
  Kind kind;
  uint8_t flags;
  Address src;
  Address dst;
  uint32_t tag;
  uint32_t meta_bytes;
  uint64_t body_bytes;
};

struct FrameLimits {
  uint32_t meta_bytes = 4U << 20;
  uint64_t body_bytes = 1ULL << 30;
};

/// Bytes between the end of meta and the start of the body; 0 without a body.
constexpr size_t padding_bytes(size_t meta_bytes, uint64_t body_bytes) noexcept {
  if (body_bytes == 0) return 0;
  return (kBodyAlignment - (kHeaderBytes + meta_bytes) % kBodyAlignment) % kBodyAlignment;
}

/// Writes the 32 header bytes of `frame`.
void encode_header(const Frame& frame, std::byte* out) noexcept;

/// Reads 32 header bytes. Code::bad_data on a wrong magic or version, a nonzero reserved field, or a size over the
/// limits.
Result<FrameHeader> decode_header(const std::byte* bytes, const FrameLimits& limits);

}  // namespace actorhost
