#include "tests/host/overlay/barrier_world.hpp"

#include <algorithm>

namespace actorhost::test {

BarrierWorld::BarrierWorld(uint64_t seed, SimLink link, double work)
    : world(seed, std::move(link)), work_(work), rng_(seed, 3) {}

void BarrierWorld::add(NodeId node, const std::vector<NodeId>& contacts) {
  Engine& engine = engines_[node] = Engine{};
  engine.life = ++lives_;
  engine.ready = world.now();
  world.add(node, contacts).on_aggregate([this, node](const Aggregate& known) { on_aggregate(node, known); });
  world.set_clock(node, 0, 0);
  on_aggregate(node, world.at(node).aggregate(world.now()));
}

void BarrierWorld::leave(NodeId node) {
  engines_.erase(node);
  world.leave(node);
}

void BarrierWorld::kill(NodeId node) {
  engines_.erase(node);
  world.kill(node);
  last_death_ = world.now();
}

void BarrierWorld::suspend(NodeId node) {
  engines_.at(node).stopped = true;
  world.suspend(node);
}

void BarrierWorld::resume(NodeId node) {
  Engine& engine = engines_.at(node);
  engine.stopped = false;
  world.at(node).tick(world.now());
  world.resume(node);
  if (std::exchange(engine.late, false)) finish(node, engine.life);
}

void BarrierWorld::on_aggregate(NodeId node, const Aggregate& known) {
  const auto at = engines_.find(node);
  if (at == engines_.end() || !known.included) return;
  Engine& engine = at->second;
  engine.clock = std::max(engine.clock, known.least);
  if (engine.working || known.least < engine.clock) return;
  engine.working = true;
  if (engine.begun) longest_wait_ = std::max(longest_wait_, world.now() - std::max(engine.ready, last_death_));
  engine.begun = true;
  world.net.at(world.now() + work_ * rng_.uniform(), [this, node, life = engine.life] { finish(node, life); });
}

void BarrierWorld::finish(NodeId node, uint64_t life) {
  const auto at = engines_.find(node);
  if (at == engines_.end() || at->second.life != life) return;
  Engine& engine = at->second;
  engine.late = engine.stopped;
  if (engine.stopped) return;
  engine.working = false;
  engine.ready = world.now();
  ++engine.clock;
  ++steps_;
  world.set_clock(node, engine.clock, engine.clock);
  on_aggregate(node, world.at(node).aggregate(world.now()));
}

void BarrierWorld::check() {
  struct Extremes {
    uint64_t clock = kNoClock, least = 0;
    NodeId slow = 0, believer = 0;
  };
  std::map<int, Extremes> sides;
  for (const auto& [node, engine] : engines_) {
    const Aggregate known = world.at(node).aggregate(world.now());
    if (!known.included) continue;
    Extremes& side = sides[side_(node)];
    if (engine.clock < side.clock) side.clock = engine.clock, side.slow = node;
    if (known.least > side.least) side.least = known.least, side.believer = node;
  }
  for (const auto& [number, side] : sides) {
    if (side.least <= side.clock || !wrong_.empty() || number < 0) continue;
    wrong_ = "at " + std::to_string(world.now()) + " s node " + std::to_string(side.believer) + " believes in " +
             std::to_string(side.least) + ", node " + std::to_string(side.slow) + " is at " +
             std::to_string(side.clock);
  }
}

void BarrierWorld::run(double seconds) {
  const double end = world.now() + seconds;
  while (world.net.next_event_time() <= end) {
    world.net.step();
    check();
  }
  world.run(end - world.now());
}

bool BarrierWorld::settle(double seconds) {
  const double end = world.now() + seconds;
  while (world.now() < end) {
    const bool all = std::all_of(engines_.begin(), engines_.end(), [&](const auto& item) {
      const Overlay& overlay = world.at(item.first);
      return !overlay.joined() || (item.second.begun && overlay.aggregate(world.now()).included);
    });
    if (all) return true;
    run(0.05);
  }
  return false;
}

TreeTraffic BarrierWorld::traffic() const {
  TreeTraffic all;
  for (const NodeId node : world.nodes()) {
    const TreeTraffic& one = world.at(node).traffic();
    all.reports += one.reports;
    all.results += one.results;
  }
  return all;
}

size_t BarrierWorld::included() const {
  size_t count = 0;
  for (const NodeId node : world.nodes()) {
    count += world.at(node).aggregate(world.now()).included ? 1 : 0;
  }
  return count;
}

uint32_t BarrierWorld::depth() const {
  const std::vector<Peer> ring = world.ring();
  std::map<RingId, uint32_t> depths;  // of all previous nodes
  for (size_t i = 0; i < ring.size(); ++i) {
    const RingId id = ring[i].id;
    uint32_t& depth = depths[id];
    if (i == 0) continue;
    int bits = 0;
    const auto first = [&] { return depths.lower_bound(bits >= 64 ? 0 : id >> bits << bits)->first; };
    while (first() == id) ++bits;
    depth = depths.at(first()) + 1;
  }
  uint32_t most = 0;
  for (const auto& [id, depth] : depths) most = std::max(most, depth);
  return most;
}

uint64_t BarrierWorld::least_clock() const {
  uint64_t least = kNoClock;
  for (const auto& [node, engine] : engines_) {
    if (world.at(node).joined()) least = std::min(least, engine.clock);
  }
  return least;
}

NodeId BarrierWorld::contact() {
  NodeId node = world.some_node();
  for (int tries = 0; tries < 100 && !world.at(node).joined(); ++tries) node = world.some_node();
  return node;
}

}  // namespace actorhost::test
