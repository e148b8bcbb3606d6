#pragma once
// Decides which worker delays the others: it waits least, and the others wait most. Passive.

#include <optional>
#include <vector>

#include "host/wire/address.hpp"

namespace actorhost {

struct WaitShare {
  NodeId id = 0;
  // seconds of waits for other workers, between two snapshots or since the start
  double waited = 0;
  double seconds = 0;  // length of that time
  uint64_t step = 0;   // completed steps: fewer steps break ties
};

/// The worker with the smallest share of waiting, if there are at least two workers, the others wait for a tenth of
/// their time and for 50 ms or more on average, and the worker waits less than half as much as they do. Chance decides
/// in less time.
std::optional<NodeId> straggler_of(const std::vector<WaitShare>& workers);

}  // namespace actorhost
