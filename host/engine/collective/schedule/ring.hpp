#pragma once
// Ring: each rank sends to the next rank and receives from the previous rank. Best for large buffers: every link
// carries the same number of bytes, and no link carries more than necessary.
//
//   reduce_scatter  n-1 steps, each rank sends S (n-1)/n bytes; rank r ends with the complete block r
//   allreduce       reduce_scatter, then the blocks circulate once more: 2(n-1) steps, 2 S (n-1)/n bytes
//
// Blocks are cut into pieces, so a rank forwards the first piece while it still receives the others.

#include "host/engine/collective/schedule/schedule.hpp"

namespace actorhost::ring {

/// Leaves block `rank` of the result at each rank.
Schedule reduce_scatter(const Place& place);
Schedule allreduce(const Place& place);

}  // namespace actorhost::ring
