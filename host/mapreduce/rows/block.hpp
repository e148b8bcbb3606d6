#pragma once
// Many rows in one piece of memory: what is stored, sent and spilled. Immutable once made; any thread.

#include <cstdint>
#include <vector>

#include "host/base/blob.hpp"

namespace actorhost {

/// What a writer aims at: large enough that a block costs nothing beside its rows, small enough that many fit.
inline constexpr size_t kBlockBytes = size_t{256} << 10;

struct RowBlock {
  Blob bytes;
  uint64_t rows = 0;
};

using RowBlocks = std::vector<RowBlock>;

}  // namespace actorhost
