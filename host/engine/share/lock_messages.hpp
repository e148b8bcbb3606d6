#pragma once
// Messages between nodes and couriers about locks, kinds 0x05xx. A node numbers its requests in the tag. A courier
// sends exactly one reply to each request: granted, withdrawn or refused.
//
//   node -> courier
//     request    LockRequest
//     withdraw   -                                    cancels the request if it still waits
//     release    list(part:u32 head:text size:u64); body: their bytes   part: index in the request; the value replaces
//                                                                       the part or is added to it (access)
//   courier -> node
//     granted    list(head:text size:u64); body: their bytes            one for each part of the request
//     withdrawn  LockWithdrawn
//     refused    ErrorMessage
//
// The bytes of several values are consecutive in one body, each starting at a multiple of 64 bytes.

#include <string>
#include <utility>
#include <vector>

#include "host/base/result.hpp"
#include "host/engine/share/lock_table.hpp"
#include "host/engine/share/shared_store.hpp"
#include "host/wire/message.hpp"

namespace actorhost {

namespace lock_kind {
inline constexpr auto request = Kind{0x0500};
inline constexpr auto withdraw = Kind{0x0501};
inline constexpr auto release = Kind{0x0502};
inline constexpr auto granted = Kind{0x0510};
inline constexpr auto withdrawn = Kind{0x0511};
inline constexpr auto refused = Kind{0x0512};
}  // namespace lock_kind

/// Exclusive: one node at a time holds the parts, until it releases them. Adding: several nodes may hold them; each
/// releases changes, which are tensors and are added to the current parts.
enum class SharedAccess : uint8_t { exclusive, adding };
constexpr SharedAccess last_of(SharedAccess) { return SharedAccess::adding; }

struct LockRequest {
  struct Part {
    SharedPart part;
    NodeId owner = 0;
    static void fields(auto& m, auto&& field) { field(m.part, m.owner); }
  };
  uint64_t epoch = 0;             // the newest epoch that the node knows
  std::string where;              // its script line
  std::vector<std::string> keys;  // compared as bytes
  std::vector<Part> parts;
  SharedAccess access = SharedAccess::exclusive;

  /// Code::bad_argument if the request is larger than a frame can carry.
  Result<Frame> frame(uint32_t tag, ProcessId to) const;
  static void fields(auto& m, auto&& field) { field(m.epoch, words(m.where), m.keys, m.parts, m.access); }
};

/// New values of parts that a holder releases, by the index of the part in the request.
using SharedWrites = std::vector<std::pair<uint32_t, PackedValue>>;
Result<Frame> release_frame(uint32_t tag, ProcessId to, const SharedWrites& writes);
Result<SharedWrites> read_release(const Frame& frame);

/// Code::unsupported if the values are larger than a frame can carry.
Result<Frame> granted_frame(const LockTable::RequestId& to, const std::vector<PackedValue>& values);
Result<std::vector<PackedValue>> read_granted(const Frame& frame);

struct LockWithdrawn {
  std::vector<LockTable::Blocker> blockers;

  /// A long list of blockers is cut, because error messages name only the first ones.
  Frame frame(const LockTable::RequestId& to) const;
  static void fields(auto& m, auto&& field) { field(m.blockers); }
};

}  // namespace actorhost
