#pragma once
// Ids that a later coordinator assigns. Each coordinator has its own range, so that the sides of a partitioned run
// assign different ids. The process number gives the range. For late processes its hash gives the range, so their
// ranges may collide. Pure functions.

#include <algorithm>
#include <cstdint>

#include "host/base/random.hpp"
#include "host/wire/address.hpp"

namespace actorhost {

inline constexpr uint32_t kLaterIds = 1U << 28;
inline constexpr uint32_t kLaterRange = 1U << 17;  // number of ids of each coordinator

/// The first id of a coordinator's range.
inline uint32_t first_later_id(ProcessId coordinator) {
  constexpr uint32_t kRanges = kLaterIds / kLaterRange;
  constexpr uint32_t kOwnRanges = kRanges / 2;
  const uint32_t hashed = kOwnRanges + static_cast<uint32_t>(StepRng(0, coordinator, 0).next() % kOwnRanges);
  return kLaterIds + (coordinator < kOwnRanges ? coordinator : hashed) * kLaterRange;
}

/// The first id of a range above all its known ids, the keys of a map.
template <typename Ids>
uint32_t first_free_id(uint32_t first, const Ids& known) {
  const auto beyond = known.lower_bound(first + kLaterRange);
  if (beyond == known.begin()) return first;
  return std::max(first, std::prev(beyond)->first + 1);
}

}  // namespace actorhost
