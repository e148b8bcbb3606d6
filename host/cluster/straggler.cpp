#include "host/cluster/straggler.hpp"

#include <algorithm>
#include <tuple>

namespace actorhost {

namespace {

double share_of(const WaitShare& worker) { return worker.seconds > 0 ? worker.waited / worker.seconds : 0; }

}  // namespace

std::optional<NodeId> straggler_of(const std::vector<WaitShare>& workers) {
  if (workers.size() < 2) return std::nullopt;
  const auto least = std::min_element(workers.begin(), workers.end(), [](const WaitShare& a, const WaitShare& b) {
    return std::tuple(share_of(a), a.step, a.id) < std::tuple(share_of(b), b.step, b.id);
  });
  double others = 0;
  for (const WaitShare& worker : workers) others += worker.id == least->id ? 0 : share_of(worker);
  others /= static_cast<double>(workers.size() - 1);
  if (others < 0.1 || share_of(*least) * 2 > others) return std::nullopt;
  return least->id;
}

}  // namespace actorhost
