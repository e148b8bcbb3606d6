#include "host/cluster/look/straggler.hpp"

#include <algorithm>
#include <tuple>

namespace actorhost {

namespace {

constexpr double kLeastShare = 0.1;
constexpr double kLeastSeconds = 0.05;

double share_of(const WaitShare& worker) { return worker.seconds > 0 ? worker.waited / worker.seconds : 0; }

}  // namespace

std::optional<NodeId> straggler_of(const std::vector<WaitShare>& workers) {
  if (workers.size() < 2) return std::nullopt;
  const auto least = std::min_element(workers.begin(), workers.end(), [](const WaitShare& a, const WaitShare& b) {
    return std::tuple(share_of(a), a.step, a.id) < std::tuple(share_of(b), b.step, b.id);
  });
  double share = 0;
  double seconds = 0;
  for (const WaitShare& worker : workers) {
    if (worker.id == least->id) continue;
    share += share_of(worker);
    seconds += worker.waited;
  }
  const auto others = static_cast<double>(workers.size() - 1);
  if (share < kLeastShare * others || seconds < kLeastSeconds * others) return std::nullopt;
  if (share_of(*least) * 2 * others > share) return std::nullopt;
  return least->id;
}

}  // namespace actorhost
