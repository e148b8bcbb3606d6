// Lookups, the size estimate, and samples.

#include "tests/host/overlay/overlay_world.hpp"
#include "tests/test.hpp"

namespace {

/// The distance of the draw counts from uniform: chi-square, in standard deviations from its mean.
double unevenness(const std::map<NodeId, double>& counts, const std::vector<NodeId>& nodes) {
  double draws = 0;
  for (const auto& [node, count] : counts) draws += count;
  const double wanted = draws / static_cast<double>(nodes.size());
  double chi = 0;
  for (const NodeId node : nodes) {
    const auto at = counts.find(node);
    const double count = at == counts.end() ? 0 : at->second;
    chi += (count - wanted) * (count - wanted) / wanted;
  }
  const auto freedom = static_cast<double>(nodes.size() - 1);
  return (chi - freedom) / std::sqrt(2 * freedom);
}

}  // namespace

TEST_CASE("every node finds the owner of a key in few hops") {
  const uint64_t seed = 41;
  INFO("seed " << seed);
  for (const NodeId n : {1, 2, 5, 64, 300}) {
    INFO(n << " nodes");
    OverlayWorld world(seed);
    world.grow(n, 0.02 * n);
    for (int i = 0; i < 200; ++i) {
      const RingId key = world.net.rng().next();
      const auto found = required(world.find(world.some_node(), key));
      CHECK(found->owner.node == world.owner_of(key));
      CHECK(found->hops <= 2 * std::log2(n) + 1);
    }
    // The ids themselves, and the first key after an id.
    const auto ring = world.ring();
    for (size_t i = 0; i < ring.size(); i += 7) {
      CHECK(world.find(world.some_node(), ring[i].id)->owner == ring[i]);
      CHECK(world.find(world.some_node(), ring[i].id + 1)->owner == ring[(i + 1) % ring.size()]);
    }
  }
}

TEST_CASE("lookups succeed under message loss and right after failures") {
  const uint64_t seed = 42;
  INFO("seed " << seed);
  SimLink link{uniform_latency(1e-3, 20e-3)};
  link.loss = 0.05;
  OverlayWorld world(seed, link);
  world.grow(150, 3);
  for (NodeId i = 4; i < 150; i += 10) world.kill(i);
  int right = 0;
  for (int i = 0; i < 100; ++i) {
    const RingId key = world.net.rng().next();
    const auto found = world.find(world.some_node(), key);
    if (found.ok() && found->owner.node == world.owner_of(key)) ++right;
  }
  CHECK(right >= 99);
}

TEST_CASE("a lookup ends when the node leaves or no peer replies") {
  OverlayWorld world(43);
  world.grow(40, 1);
  std::string result;
  RingId far = world.at(3).self().id + (RingId{1} << 63);
  world.at(3).find(far, world.now(), [&](const Result<Located>& r) { result = r.ok() ? "found" : r.error().message; });
  world.at(3).leave(world.now());
  CHECK(result == "this node has left the overlay");
  world.kill(3);
  for (NodeId i = 0; i < 40; ++i) {
    if (i != 3 && i != 5) world.net.cut(5, i);
  }
  const double start = world.now();
  const auto found = world.find(5, world.at(5).self().id + (RingId{1} << 63));
  CHECK(world.now() - start <= 10.1);
  // A lone node owns every key; before it detects that it is alone, the lookup fails.
  if (!found.ok()) CHECK((found.error().code == Code::timeout || found.error().code == Code::unreachable));
}

TEST_CASE("the size estimate is exact where the lists cover the ring, and within its error elsewhere", "[deep]") {
  const uint64_t seed = 44;
  INFO("seed " << seed);
  for (const NodeId n : {1, 2, 5, 20, 33}) {
    OverlayWorld world(seed);
    world.grow(n, 1);
    for (const NodeId i : world.nodes()) {
      CHECK(world.at(i).size_estimate(world.now()).nodes == n);
      CHECK(world.at(i).size_estimate(world.now()).error == 0);
    }
  }
  OverlayWorld world(seed);
  world.grow(400, 6);
  world.run(20);
  int near = 0;
  int within = 0;
  for (const NodeId i : world.nodes()) {
    const SizeEstimate estimate = world.at(i).size_estimate(world.now());
    near += std::abs(estimate.nodes / 400 - 1) < 0.15 ? 1 : 0;
    within += std::abs(estimate.nodes - 400) < 2 * estimate.error + 1e-9 ? 1 : 0;
  }
  CHECK(near >= 380);
  CHECK(within >= 360);
}

TEST_CASE("samples are uniform without repetition, also right after a fifth of the nodes has changed", "[deep]") {
  const uint64_t seed = 45;
  INFO("seed " << seed);
  OverlayWorld world(seed);
  world.grow(200, 2);
  world.run(5);
  for (const bool changed : {false, true}) {
    INFO((changed ? "changed" : "settled"));
    if (changed) {
      for (NodeId i = 0; i < 40; ++i) {
        world.leave(i * 5 + 1);
        world.add(1000 + i, {i * 5});
        world.run(0.05);
      }
    }
    std::map<NodeId, double> counts;
    for (int i = 0; i < 1500; ++i) {
      const auto sampled = world.sample(world.some_node(), 10);
      std::set<NodeId> different;
      for (const Sampled& one : sampled) different.insert(one.peer.node);
      CHECK(different.size() == 10);
      for (const NodeId node : different) counts[node] += 1;
    }
    CHECK(std::abs(unevenness(counts, world.nodes())) < 4);
  }
}

TEST_CASE("a sample returns the published states, and all nodes if that many are requested") {
  for (const NodeId n : {1, 2, 5, 20, 60}) {
    INFO(n << " nodes");
    OverlayWorld world(46);
    world.grow(n, 1);
    for (const NodeId i : world.nodes()) world.at(i).set_state("state " + std::to_string(i));
    for (const uint32_t count : {uint32_t{0}, uint32_t{1}, n / 2, n, n + 7}) {
      const auto sampled = world.sample(world.some_node(), count);
      CHECK(sampled.size() == std::min<size_t>(count, n));
      std::set<NodeId> different;
      for (const Sampled& one : sampled) {
        different.insert(one.peer.node);
        CHECK(one.state == "state " + std::to_string(one.peer.node));
      }
      CHECK(different.size() == sampled.size());
    }
  }
}

TEST_CASE("a sample arrives in time although some nodes do not reply") {
  OverlayWorld world(47);
  world.grow(100, 1);
  for (NodeId i = 0; i < 100; i += 3) world.kill(i);
  const double start = world.now();
  const auto sampled = world.sample(1, 30);
  CHECK(world.now() - start <= 5.01);
  CHECK(sampled.size() >= 20);
  for (const Sampled& one : sampled) CHECK(one.peer.node % 3 != 0);
}
