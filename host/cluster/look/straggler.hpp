#pragma once
// Decides which worker delays the others: it waits least, and the others wait most. Passive.

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "host/wire/address.hpp"

namespace actorhost {

struct WaitShare {
  NodeId id = 0;
  // seconds of waits for other workers, between two snapshots or since the start
  double waited = 0;
  double seconds = 0;  // length of that time
  uint64_t step = 0;   // completed steps: fewer steps break ties

  double share() const noexcept { return seconds > 0 ? waited / seconds : 0; }
};

/// The worker with the smallest share of waiting, if there are at least two workers, the others wait for a tenth of
/// their time and for 50 ms or more on average, and the worker waits less than half as much as they do. Chance decides
/// in less time.
inline std::optional<NodeId> straggler_of(const std::vector<WaitShare>& workers) {
  constexpr double kLeastShare = 0.1;
  constexpr double kLeastSeconds = 0.05;
  if (workers.size() < 2) return std::nullopt;
  const auto least = std::min_element(workers.begin(), workers.end(), [](const WaitShare& a, const WaitShare& b) {
    return std::tuple(a.share(), a.step, a.id) < std::tuple(b.share(), b.step, b.id);
  });
  double share = 0;
  double seconds = 0;
  for (const WaitShare& worker : workers) {
    if (worker.id == least->id) continue;
    share += worker.share();
    seconds += worker.waited;
  }
  const auto others = static_cast<double>(workers.size() - 1);
  if (share < kLeastShare * others || seconds < kLeastSeconds * others) return std::nullopt;
  if (least->share() * 2 * others > share) return std::nullopt;
  return least->id;
}

}  // namespace actorhost
