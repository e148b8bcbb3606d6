#pragma once
// Pipelined chain: data moves from the root through all ranks, piece by piece, so all links are busy at once. For large
// buffers and few ranks: with m pieces a chain takes m + n - 2 piece times where a tree takes m ceil(lg n).
//
//   broadcast  n-1 steps, each rank except the last sends S bytes
//   reduce     the same in the other direction

#include "host/engine/collective/schedule/schedule.hpp"

namespace actorhost::chain {

Schedule broadcast(const Place& place, uint32_t root);
/// Leaves the result at the root; the buffers of the other ranks are undefined.
Schedule reduce(const Place& place, uint32_t root);

}  // namespace actorhost::chain
