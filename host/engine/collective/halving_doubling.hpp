#pragma once
// Recursive halving and doubling (Rabenseifner): ranks that differ in one bit exchange halves of what they still share,
// until each has one block of the result, then go the same way back. The bytes of the ring in fewer steps: for buffers
// of middle size.
//
//   allreduce  2 lg n steps, 2 S (n-1)/n bytes sent by each rank for n a power of two; otherwise the surplus ranks give
//              their input to a partner before and get the result after: 2 more steps, S more bytes for these and
//              their partners.

#include "host/engine/collective/schedule.hpp"

namespace actorhost::halving_doubling {

Schedule allreduce(const Place& place);

}  // namespace actorhost::halving_doubling
