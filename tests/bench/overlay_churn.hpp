#pragma once
// The churn of overlay_bench: nodes come and go, messages are lost, the ring is cut in two and heals.

#include <cstdint>

#include "host/wire/address.hpp"

namespace actorhost::test {

/// Prints one line for each phase of each seed. `nodes` at the beginning.
void bench_churn(NodeId nodes, uint64_t seeds);

}  // namespace actorhost::test
