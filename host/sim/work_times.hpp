#pragma once
// The duration of each step of each node: a function of seed, node and step (and of the time, if stragglers change). So
// every barrier runs with exactly the same work. One thread.

#include <cstdint>
#include <vector>

#include "host/base/random.hpp"
#include "host/sim/scenario.hpp"

namespace actorhost {

class WorkTimes {
 public:
  explicit WorkTimes(const Scenario& scenario);

  /// Seconds of work of the node's step number `step` (from 0), which begins at `now`.
  double work(uint32_t node, uint32_t step, double now) {
    if (plain_) {
      StepRng rng(seed_, node, step);
      return scenario_.work.draw(rng);
    }
    return work_by_node(node, step, now);
  }
  /// Replay only: seconds between the end of the node's last step of `work` and the begin of its next step that no
  /// barrier causes.
  double network(uint32_t node) const { return current_[node]->network; }
  bool straggles(uint32_t node, double now);

 private:
  double work_by_node(uint32_t node, uint32_t step, double now);
  const Replay::Step& replayed(uint32_t node, uint32_t step, double now) const;
  double speed(uint32_t node);
  void choose_fixed();

  const Scenario& scenario_;
  uint64_t seed_;
  bool plain_;
  std::vector<double> speeds_;                // by node
  std::vector<uint8_t> straggles_;            // by node, for fixed stragglers
  std::vector<const Replay::Step*> current_;  // by node, in a replay
};

/// Seeds of the random streams: one stream for each purpose, all made from one seed.
enum class SimStream : uint64_t { work = 1, speed, straggler, delay, churn, life, peers, admission };
inline uint64_t sim_seed(uint64_t seed, SimStream stream) noexcept {
  return StepRng::mix(StepRng::mix(seed + 0x9e3779b97f4a7c15ULL) + static_cast<uint64_t>(stream));
}

}  // namespace actorhost
