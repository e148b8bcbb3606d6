#pragma once
// The slot of each counted worker (progress.hpp), by its id. Slots of low ids are in an array; higher ids, which later
// coordinators assign, are in a hash table. Owned by Progress.

#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "host/wire/address.hpp"

namespace actorhost {

using Slot = uint32_t;
inline constexpr Slot kNoSlot = std::numeric_limits<Slot>::max();

class SlotTable {
 public:
  Slot find(NodeId id) const noexcept {
    if (id < kArrayIds) return id < array_.size() ? array_[id] : kNoSlot;
    const auto at = map_.find(id);
    return at == map_.end() ? kNoSlot : at->second;
  }
  /// kNoSlot: the worker is not counted.
  void set(NodeId id, Slot slot) {
    if (id < kArrayIds) {
      if (id >= array_.size()) array_.resize(id + size_t{1}, kNoSlot);
      array_[id] = slot;
    } else if (slot == kNoSlot) {
      map_.erase(id);
    } else {
      map_[id] = slot;
    }
  }

 private:
  static constexpr NodeId kArrayIds = 1U << 24;

  std::vector<Slot> array_;
  std::unordered_map<NodeId, Slot> map_;
};

}  // namespace actorhost
