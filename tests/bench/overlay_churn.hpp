#pragma once
// The churn of overlay_bench: nodes join and depart, messages are lost, and the ring is cut in two and heals.

#include <cstdint>

#include "host/wire/address.hpp"

namespace actorhost::test {

/// Prints one line for each phase of each seed. Each run starts with `nodes` nodes.
void bench_churn(NodeId nodes, uint64_t seeds);

}  // namespace actorhost::test
