#pragma once
// Binomial tree: the number of ranks that hold the buffer doubles with each step. For small buffers, and for many
// ranks.
//
//   broadcast  ceil(lg n) steps; the root sends S ceil(lg n) bytes, every other rank at most as many
//   reduce     the same in the other direction; each rank except the root sends S bytes once

#include "host/engine/collective/schedule/schedule.hpp"

namespace actorhost::tree {

Schedule broadcast(const Place& place, uint32_t root);
/// Leaves the result at the root; the buffers of the other ranks are undefined.
Schedule reduce(const Place& place, uint32_t root);

}  // namespace actorhost::tree
