#pragma once
// Each rank sends block j of its input directly to rank j, which combines the blocks in rank order. The result
// therefore has the bits of ((x0 op x1) op x2) ..., as a loop over the ranks computes it, whatever the timing. For
// {reproducible=true}. Traffic is that of an alltoall: as many bytes as the ring, in n-1 simultaneous messages instead
// of n-1 consecutive ones.
//
//   reduce_scatter  1 step, each rank sends S (n-1)/n bytes
//   allreduce       2 steps, 2 S (n-1)/n bytes
//   reduce          2 steps, S (n-1)/n bytes, then S/n bytes to the root

#include "host/engine/collective/schedule/schedule.hpp"

namespace actorhost::ordered {

Schedule reduce_scatter(const Place& place);
Schedule allreduce(const Place& place);
Schedule reduce(const Place& place, uint32_t root);

}  // namespace actorhost::ordered
