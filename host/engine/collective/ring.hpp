#pragma once
// Ring: each rank sends to the next and receives from the one before. Best for large buffers, since every link carries
// the same and none more than it has to.
//
//   reduce_scatter  n-1 steps, S (n-1)/n bytes sent by each rank; block r is whole at rank r
//   allreduce       that, and the blocks go round once more: 2(n-1) steps, 2 S (n-1)/n bytes
//
// Blocks are cut in pieces, so a rank passes on the first piece while the rest still comes in.

#include "host/engine/collective/schedule.hpp"

namespace actorhost::ring {

/// Leaves block `rank` of the result at each rank.
Schedule reduce_scatter(const Place& place);
Schedule allreduce(const Place& place);

}  // namespace actorhost::ring
