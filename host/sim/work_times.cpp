#include "host/sim/work_times.hpp"

#include <cmath>

namespace actorhost {

WorkTimes::WorkTimes(const Scenario& scenario)
    : scenario_(scenario),
      seed_(sim_seed(scenario.seed, SimStream::work)),
      plain_(scenario.replay == nullptr && scenario.speed.zero() && scenario.stragglers.share == 0) {
  if (scenario.stragglers.share > 0 && scenario.stragglers.change == 0) choose_fixed();
}

// Chooses exactly `share` of the nodes, rounded; each set of nodes has the same probability.
void WorkTimes::choose_fixed() {
  const uint32_t n = scenario_.nodes;
  const auto slow = static_cast<uint32_t>(std::lround(scenario_.stragglers.share * n));
  std::vector<uint32_t> ids(n);
  for (uint32_t i = 0; i < n; ++i) ids[i] = i;
  std::vector<uint32_t> chosen(slow);
  Rng(sim_seed(scenario_.seed, SimStream::straggler)).sample(ids, slow, chosen.data());
  straggles_.assign(n, 0);
  for (const uint32_t id : chosen) straggles_[id] = 1;
}

bool WorkTimes::straggles(uint32_t node, double now) {
  const Stragglers& slow = scenario_.stragglers;
  if (slow.share == 0) return false;
  if (slow.change == 0 && node < straggles_.size()) return straggles_[node] != 0;
  // For a node that joins later, or stragglers that change: a random draw decides.
  const auto period = slow.change > 0 ? static_cast<uint64_t>(std::min(now / slow.change, 1e15)) : 0;
  return StepRng(sim_seed(scenario_.seed, SimStream::straggler), node, period).uniform() < slow.share;
}

double WorkTimes::speed(uint32_t node) {
  while (speeds_.size() <= node) {
    StepRng rng(sim_seed(scenario_.seed, SimStream::speed), speeds_.size(), 0);
    double speed = 0;
    while (!(speed > 0)) speed = scenario_.speed.draw(rng);  // steps without duration would never end
    speeds_.push_back(speed);
  }
  return speeds_[node];
}

double WorkTimes::work_by_node(uint32_t node, uint32_t step, double now) {
  if (scenario_.replay != nullptr) return replayed(node, step).work;
  StepRng rng(seed_, node, step);
  double seconds = scenario_.work.draw(rng);
  if (!scenario_.speed.zero()) seconds *= speed(node);
  if (straggles(node, now)) seconds *= scenario_.stragglers.factor;
  return seconds;
}

const Replay::Step& WorkTimes::replayed(uint32_t node, uint32_t step) const {
  const std::vector<Replay::Step>& steps = scenario_.replay->nodes[node % scenario_.replay->nodes.size()].steps;
  if (step < steps.size()) return steps[step];
  return steps[StepRng(seed_, node, step).below(steps.size())];
}

double WorkTimes::network(uint32_t node, uint32_t step) const { return replayed(node, step).network; }

}  // namespace actorhost
