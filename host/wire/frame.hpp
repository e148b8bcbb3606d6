#pragma once
// The one unit that travels between nodes, and its fixed header. PROTOCOL.md gives the grammar with worked examples.
//
//   frame  = header meta [ padding body ]
//   header = magic:u16 version:u8 flags:u8 kind:u16 reserved:u16 src:u32 dst:u32 tag:u32 meta_bytes:u32 body_bytes:u64
//
// All little-endian, 32 bytes. The body starts at the next multiple of 64 bytes from the frame's first byte; without a
// body there is no padding. `meta` is small and is copied; `body` is raw tensor bytes or one encoded value and is
// passed by reference as long as it stays in the process.

#include <array>
#include <cstddef>
#include <cstdint>

#include "host/base/blob.hpp"
#include "host/base/result.hpp"
#include "host/wire/address.hpp"
#include "host/wire/small_bytes.hpp"

namespace actorhost {

inline constexpr uint16_t kFrameMagic = 0x4841;  // the bytes 'A' 'H'
inline constexpr uint8_t kWireVersion = 1;
inline constexpr size_t kHeaderBytes = 32;
inline constexpr size_t kBodyAlignment = 64;

/// What a frame means. Each layer owns a range; a receiver that does not know a kind closes the pipe.
enum class Kind : uint16_t {
  // 0x00xx: transport
  heartbeat = 0x0001,
  link_hello = 0x0002,  // first frame on a connection between two hosts that already belong to the run
  farewell = 0x0003,    // nothing comes after this; the receiver closes the connection
  // 0x01xx: cluster (host/cluster/messages.hpp)
  cluster_first = 0x0100,
  cluster_last = 0x01ff,
  // 0x02xx: collectives
  collective_first = 0x0200,
  collective_last = 0x02ff,
  // 0x03xx: parameter server (host/engine/param_messages.hpp)
  param_first = 0x0300,
  param_last = 0x03ff,
  // 0x7fxx: tests and benchmarks
  test = 0x7f00,
};

/// Whether a frame of this kind may come over a connection at all.
constexpr bool known_kind(Kind kind) noexcept {
  const auto within = [kind](Kind first, Kind last) { return kind >= first && kind <= last; };
  return within(Kind::heartbeat, Kind::farewell) || within(Kind::cluster_first, Kind::cluster_last) ||
         within(Kind::collective_first, Kind::collective_last) || within(Kind::param_first, Kind::param_last) ||
         (static_cast<unsigned>(kind) & 0xff00U) == static_cast<unsigned>(Kind::test);
}

struct Frame {
  Kind kind = Kind::test;
  uint8_t flags = 0;
  Address src = kNoAddress;
  Address dst = kNoAddress;
  uint32_t tag = 0;  // the layer's own: request number, action, step
  SmallBytes meta;
  Blob body;

  /// What the frame costs a queue, in bytes.
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

/// Bytes between the end of meta and the start of the body; 0 when there is no body.
constexpr size_t padding_bytes(size_t meta_bytes, uint64_t body_bytes) noexcept {
  if (body_bytes == 0) return 0;
  return (kBodyAlignment - (kHeaderBytes + meta_bytes) % kBodyAlignment) % kBodyAlignment;
}

/// Writes the 32 header bytes of `frame`.
void encode_header(const Frame& frame, std::byte* out) noexcept;

/// Reads 32 header bytes. Fails with bad_data on a wrong magic or version, a set reserved field, or a size over the
/// limits.
Result<FrameHeader> decode_header(const std::byte* bytes, const FrameLimits& limits);

}  // namespace actorhost
