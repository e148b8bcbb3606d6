#pragma once
// Binomial tree: the number of ranks that have the buffer doubles with each step. For small buffers, and for many
// ranks.
//
//   broadcast  ceil(lg n) steps; the root sends S ceil(lg n) bytes, no rank more
//   reduce     the same in the other direction; each rank but the root sends S bytes once

#include "host/engine/collective/schedule.hpp"

namespace actorhost::tree {

Schedule broadcast(const Place& place, uint32_t root);
/// The result is at the root; what the others have is undefined.
Schedule reduce(const Place& place, uint32_t root);

}  // namespace actorhost::tree
