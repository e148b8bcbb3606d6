#pragma once
// The one rule that says which worker holds the others up: it waits least and is waited for most. Passive.

#include <optional>
#include <vector>

#include "host/base/clock.hpp"
#include "host/wire/address.hpp"

namespace actorhost {

struct WaitShare {
  NodeId id = 0;
  double waited = 0;   // seconds that it has waited for others, of those between two looks or since the start
  double seconds = 0;  // of which
  uint64_t step = 0;   // how far it is: fewer steps break ties
};

/// The worker whose share of waiting is the least, if there are at least two, the others wait for a tenth of their time
/// and for 50 ms or more on average, and it waits less than half as much as they do. In less time chance decides.
std::optional<NodeId> straggler_of(const std::vector<WaitShare>& workers);

}  // namespace actorhost
