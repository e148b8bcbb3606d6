#pragma once
// Recursive doubling: in step k, ranks whose numbers differ in bit k exchange their whole buffers. Fewest steps, most
// bytes: for small buffers.
//
//   allreduce  lg n steps, each rank sends S lg n bytes. Where n is no power of two, each surplus rank first sends its
//              input to a partner and receives the result at the end: 2 more steps, S more bytes for the surplus ranks
//              and their partners.

#include "host/engine/collective/schedule/schedule.hpp"

namespace actorhost::recursive_doubling {

Schedule allreduce(const Place& place);

}  // namespace actorhost::recursive_doubling
