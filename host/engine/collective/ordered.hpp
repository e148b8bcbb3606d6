#pragma once
// Each rank sends block j of its input straight to rank j, which combines the blocks in rank order. So the result has
// the bits of ((x0 op x1) op x2) ... whatever the timing, as a loop over the ranks would give. For {reproducible=true},
// and for alltoall's traffic pattern in general. It moves the bytes of the ring, in n-1 messages at once instead of one
// after the other.
//
//   reduce_scatter  1 step, S (n-1)/n bytes sent by each rank
//   allreduce       2 steps, 2 S (n-1)/n bytes
//   reduce          2 steps, S (n-1)/n bytes and S/n to the root

#include "host/engine/collective/schedule.hpp"

namespace actorhost::ordered {

Schedule reduce_scatter(const Place& place);
Schedule allreduce(const Place& place);
Schedule reduce(const Place& place, uint32_t root);

}  // namespace actorhost::ordered
