#pragma once
// Pipelined chain: rank after rank from the root, piece by piece, so that all links are busy at once. For large buffers
// and few ranks: with m pieces it takes m + n - 2 piece times where a tree takes m ceil(lg n).
//
//   broadcast  n-1 steps, each rank but the last sends S bytes
//   reduce     the same in the other direction

#include "host/engine/collective/schedule.hpp"

namespace actorhost::chain {

Schedule broadcast(const Place& place, uint32_t root);
/// The result is at the root; what the others have is undefined.
Schedule reduce(const Place& place, uint32_t root);

}  // namespace actorhost::chain
