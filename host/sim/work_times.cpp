#include "host/sim/work_times.hpp"

#include <algorithm>
#include <array>
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
  if (scenario_.replay != nullptr) {
    if (current_.size() <= node) current_.resize(node + 1);
    current_[node] = &replayed(node, step, now);
    return current_[node]->work;
  }
  StepRng rng(seed_, node, step);
  double seconds = scenario_.work.draw(rng);
  if (!scenario_.speed.zero()) seconds *= speed(node);
  if (straggles(node, now)) seconds *= scenario_.stragglers.factor;
  return seconds;
}

const Replay::Step& WorkTimes::replayed(uint32_t node, uint32_t step, double now) const {
  const Replay& replay = *scenario_.replay;
  const std::vector<Replay::Step>& steps = replay.nodes[node % replay.nodes.size()].steps;
  StepRng rng(seed_, node, step);
  if (replay.period == 0) return step < steps.size() ? steps[step] : steps[rng.below(steps.size())];
  const double time = std::fmod(replay.offset + now, replay.period);
  const auto next = std::upper_bound(steps.begin(), steps.end(), time,
                                     [](double t, const Replay::Step& other) { return t < other.begins; });
  // From the step in progress, next - 1: 2 or 1 before it, 1 or 2 after it.
  const auto distance = std::array{-3, -2, 0, 1}[rng.below(4)];
  const auto size = static_cast<std::ptrdiff_t>(steps.size());
  const auto place = (next - steps.begin() + distance) % size;
  return steps[static_cast<size_t>(place < 0 ? place + size : place)];
}

}  // namespace actorhost
