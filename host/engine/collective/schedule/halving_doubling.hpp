#pragma once
// Recursive halving and doubling (Rabenseifner): pairs of ranks with numbers that differ in one bit exchange halves of
// their common span until each rank holds one block of the result. The doubling phase repeats these exchanges in
// reverse. The algorithm sends as many bytes as the ring in fewer steps: for buffers of medium size.
//
//   allreduce  2 lg n steps, each rank sends 2 S (n-1)/n bytes where n is a power of two. Otherwise each surplus rank
//              first sends its input to a partner and receives the result at the end: 2 more steps, S more bytes for
//              the surplus ranks and their partners.

#include "host/engine/collective/schedule/schedule.hpp"

namespace actorhost::halving_doubling {

Schedule allreduce(const Place& place);

}  // namespace actorhost::halving_doubling
