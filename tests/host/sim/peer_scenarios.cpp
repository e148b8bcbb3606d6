#include "tests/host/sim/peer_scenarios.hpp"

#include <initializer_list>

namespace actorhost {

Scenario troubled(uint64_t seed) {
  Rng rng(seed, 7);
  const auto one_of = [&rng](std::initializer_list<const char*> texts) {
    return duration(texts.begin()[rng.below(texts.size())]);
  };
  Scenario out = peer_scenario(1 + static_cast<uint32_t>(rng.below(40)), 150, "1", seed);
  out.work = one_of({"exp(1)", "1", "0.1+exp(0.3)", "gamma(0.5,1)"});
  out.delay = one_of({"0", "0.01", "exp(0.2)", "uniform(0,2)", "uniform(0,0.1)"});
  out.loss = 0.3 * static_cast<double>(rng.below(3));
  out.retry = 0.05 + rng.uniform();
  if (rng.below(2) != 0) {
    const double joins = rng.uniform();
    out.churn = {joins, rng.uniform()};
  }
  if (rng.below(2) != 0) {
    const double repair = 3.0 * static_cast<double>(rng.below(2));
    out.failures = {30, repair, 0.2 + 4 * rng.uniform()};
  }
  if (rng.below(4) == 0) out.stragglers = {0.2, 3, rng.below(2) == 0 ? 0.0 : 10.0};
  if (rng.below(4) == 0) out.speed = duration("uniform(0.5,2)");
  out.trace = true;
  return out;
}

int32_t widest_spread(const SimResult& result) {
  std::map<uint32_t, int32_t> clocks;
  int32_t widest = 0;
  for (const SimTraceEvent& event : result.trace) {
    switch (event.kind) {
      case SimTraceEvent::Kind::join:
      case SimTraceEvent::Kind::apply: clocks[event.node] = event.step; break;
      case SimTraceEvent::Kind::leave: clocks.erase(event.node); break;
      case SimTraceEvent::Kind::start:
        for (const auto& [node, step] : clocks) widest = std::max(widest, event.step - step);
        break;
      case SimTraceEvent::Kind::release:
      case SimTraceEvent::Kind::finish: break;
    }
  }
  return widest;
}

}  // namespace actorhost
