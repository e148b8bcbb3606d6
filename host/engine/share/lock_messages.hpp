#pragma once
// What nodes and couriers say to each other about locks, kinds 0x05xx. A node numbers its requests in the tag; a
// courier gives each exactly one answer: granted, withdrawn or refused.
//
//   node -> courier
//     ask        LockAsk
//     withdraw   -                                    no longer wanted if it still waits
//     release    list(part:u32 head:text size:u64); body: their bytes   part: its place in the ask; the value takes
//                                                                       its place, or is added to it (access)
//   courier -> node
//     granted    list(head:text size:u64); body: their bytes            one for each part of the ask
//     withdrawn  LockWithdrawn
//     refused    ErrorMessage
//
// The bytes of several values stand behind each other in one body, each from a multiple of 64 bytes on.

#include <string>
#include <utility>
#include <vector>

#include "host/base/result.hpp"
#include "host/engine/share/lock_table.hpp"
#include "host/engine/share/shared_store.hpp"
#include "host/wire/message.hpp"

namespace actorhost {

namespace lock_kind {
inline constexpr auto ask = Kind{0x0500};
inline constexpr auto withdraw = Kind{0x0501};
inline constexpr auto release = Kind{0x0502};
inline constexpr auto granted = Kind{0x0510};
inline constexpr auto withdrawn = Kind{0x0511};
inline constexpr auto refused = Kind{0x0512};
}  // namespace lock_kind

/// Exclusive: a node that has parts is the only one that has them until it gives them back. Adding: several nodes may
/// have them; each gives back changes, which are tensors, and these are added to what the parts are then.
enum class SharedAccess : uint8_t { exclusive, adding };
constexpr SharedAccess last_of(SharedAccess) { return SharedAccess::adding; }

struct LockAsk {
  struct Part {
    SharedPart part;
    NodeId owner = 0;
    static void fields(auto& m, auto&& field) { field(m.part, m.owner); }
  };
  uint64_t epoch = 0;             // the newest that the node knows
  std::string where;              // its script line
  std::vector<std::string> keys;  // as they are compared
  std::vector<Part> parts;
  SharedAccess access = SharedAccess::exclusive;

  /// Code::bad_argument when it is more than a frame can carry.
  Result<Frame> frame(uint32_t tag, ProcessId to) const;
  static void fields(auto& m, auto&& field) { field(m.epoch, words(m.where), m.keys, m.parts, m.access); }
};

/// What a holder leaves behind: new values of parts, by their place in the ask.
using SharedWrites = std::vector<std::pair<uint32_t, PackedValue>>;
Result<Frame> release_frame(uint32_t tag, ProcessId to, const SharedWrites& writes);
Result<SharedWrites> read_release(const Frame& frame);

/// Code::unsupported when the values are more than a frame can carry.
Result<Frame> granted_frame(const LockTable::Request& to, const std::vector<PackedValue>& values);
Result<std::vector<PackedValue>> read_granted(const Frame& frame);

struct LockWithdrawn {
  std::vector<LockTable::Blocker> blockers;

  /// Of many blockers only the first ones, since messages show no more.
  Frame frame(const LockTable::Request& to) const;
  static void fields(auto& m, auto&& field) { field(m.blockers); }
};

}  // namespace actorhost
