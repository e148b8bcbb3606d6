#pragma once
// Recursive doubling: in step k ranks that differ in bit k exchange everything that they have. Fewest steps, most
// bytes: for small buffers.
//
//   allreduce  lg n steps, S lg n bytes sent by each rank. Where n is no power of two, the surplus ranks give a partner
//              their input before and get the result after: 2 more steps, S more bytes for these and their partners.

#include "host/engine/collective/schedule.hpp"

namespace actorhost::recursive_doubling {

Schedule allreduce(const Place& place);

}  // namespace actorhost::recursive_doubling
