#pragma once
// Many rows in one piece of memory: the unit of storage, transfer and spilling. Immutable once made; thread-safe.

#include <cstdint>
#include <vector>

#include "host/base/blob.hpp"

namespace actorhost {

/// The size that writers aim at: large enough that the cost of a block is small beside its rows, small enough that many
/// blocks fit in memory.
inline constexpr size_t kBlockBytes = size_t{256} << 10;

struct RowBlock {
  Blob bytes;
  uint64_t rows = 0;
};

using RowBlocks = std::vector<RowBlock>;

}  // namespace actorhost
