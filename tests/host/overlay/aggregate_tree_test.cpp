// The minimum of all clocks, as known to each node of the overlay.

#include "tests/host/overlay/barrier_world.hpp"
#include "tests/test.hpp"

namespace {

/// Nodes 0 .. n-1, started with random contacts at once or one after another, all running steps.
void start(BarrierWorld& world, Rng& rng, NodeId n) {
  world.add(0, {});
  for (NodeId node = 1; node < n; ++node) {
    world.add(node, {static_cast<NodeId>(rng.below(node))});
    if (rng.below(2) == 0) world.run(0.2 * rng.uniform());
  }
  for (int k = 0; k < 150 && world.included() < n; ++k) world.run(0.1);
  REQUIRE(world.included() == n);
  REQUIRE(world.settle(1));
  (void)world.longest_wait();
}

/// Whether all nodes are in one ring: a joining node without live contacts forms its own ring with the nodes that join
/// through it.
bool all_joined(BarrierWorld& world) {
  const std::vector<NodeId> nodes = world.world.nodes();
  return std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) { return world.world.at(node).joined(); });
}

void check_progress(BarrierWorld& world) {
  world.run(8);
  CHECK(world.wrong() == "");
  REQUIRE(all_joined(world));
  REQUIRE(world.settle(5));
  const uint64_t before = world.least_clock();
  world.run(2);
  CHECK(world.least_clock() > before);
  CHECK(world.wrong() == "");
}

/// Failures, leaves and joins at random moments, some of them at the same time.
void churn(BarrierWorld& world, Rng& rng, NodeId next, int events) {
  for (int k = 0; k < events; ++k) {
    world.run(rng.below(3) == 0 ? 0.02 * rng.uniform() : rng.exponential(0.5));
    const NodeId some = world.world.some_node();
    const uint64_t event = rng.below(3);
    if (world.world.size() <= 2 || event == 0) {
      world.add(next++, {world.contact(), world.contact(), world.contact()});
    } else {
      event == 1 ? world.kill(some) : world.leave(some);
    }
  }
}

SimLink link_of(Rng& rng, double loss) {
  const double seconds = 1e-3 * (1 + 20 * rng.uniform());
  SimLink link{uniform_latency(0.2 * seconds, seconds)};
  link.loss = loss;
  return link;
}

void part_halves(OverlayWorld& world, bool heal) {
  for (const NodeId a : world.nodes()) {
    for (const NodeId b : world.nodes()) {
      if (a % 2 != 0 || b % 2 == 0) continue;
      heal ? world.net.heal(a, b) : world.net.cut(a, b);
    }
  }
}

}  // namespace

TEST_CASE("every node learns the minimum clock, the count and the sum, for each number of nodes") {
  for (const NodeId n : {1, 2, 3, 5, 8, 64}) {
    INFO(n << " nodes");
    OverlayWorld world(61);
    world.grow(n, 0.02 * n);
    for (NodeId i = 0; i < n; ++i) world.set_clock(i, 0, 100);
    world.run(5);
    for (NodeId i = 0; i < n; ++i) world.set_clock(i, 10 + i, 100);
    world.run(5);
    for (const NodeId i : world.nodes()) {
      const Aggregate known = world.at(i).aggregate(world.now());
      CHECK(known.included);
      CHECK(known.least == 10);
      CHECK(known.count == n);
      CHECK(known.sum == 100 * n);
      CHECK(known.slowest == 0);
    }
  }
}

TEST_CASE("every node learns the slowest node, also if the minimum stays and another node has it") {
  for (const NodeId n : {2, 3, 5, 8, 64}) {
    INFO(n << " nodes");
    OverlayWorld world(62);
    world.grow(n, 0.02 * n);
    for (NodeId i = 0; i < n; ++i) world.set_clock(i, 10, 1);
    world.run(5);
    for (const NodeId slowest : {n - 1, NodeId{0}}) {
      const uint64_t least = slowest != 0 ? 10 : 11;
      for (NodeId i = 0; i < n; ++i) {
        if (i != slowest) world.set_clock(i, least + 1, 1);
      }
      world.run(5);
      for (const NodeId i : world.nodes()) {
        CHECK(world.at(i).aggregate(world.now()).least == least);
        CHECK(world.at(i).aggregate(world.now()).slowest == slowest);
      }
      world.set_clock(slowest, least + 1, 1);
      world.run(5);
    }
  }
}

TEST_CASE("the minimum does not pass a voter that is partitioned, also if it returns", "[deep]") {
  for (const NodeId n : {2, 3, 5, 8}) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      INFO(n << " nodes, seed " << seed);
      OverlayWorld world(seed);
      world.grow(n, 0.02 * n);
      uint64_t all = 0;
      for (NodeId i = 0; i < n; ++i) all += node_hash(i);
      for (NodeId i = 0; i < n; ++i) {
        world.at(i).set_voters(true, all);
        world.set_clock(i, 10, 1);
      }
      world.run(5);
      Rng rng(seed);
      const auto slow = static_cast<NodeId>(rng.below(n));
      const auto other = static_cast<NodeId>(rng.below(n));
      const bool pair = other != slow && rng.below(2) == 0;
      for (NodeId i = 0; i < n; ++i) {
        if (i != slow && (!pair || i == other)) world.net.cut(slow, i);
      }
      for (NodeId i = 0; i < n; ++i) {
        if (i != slow) world.set_clock(i, 11, 1);
      }
      const auto most = [&] {
        uint64_t known = 0;
        for (const NodeId i : world.nodes()) known = std::max(known, world.at(i).aggregate(world.now()).least);
        return known;
      };
      world.run(2.4 + 3 * rng.uniform());
      CHECK(most() == 10);
      for (NodeId i = 0; i < n; ++i) world.net.heal(slow, i);
      world.run(40);
      CHECK(most() == 10);
      world.set_clock(slow, 11, 1);
      world.run(3);
      for (const NodeId i : world.nodes()) {
        CHECK(world.at(i).aggregate(world.now()).included);
        CHECK(world.at(i).aggregate(world.now()).least == 11);
      }
      for (NodeId i = 0; i < n; ++i) world.at(i).set_voters(i != slow, all - node_hash(slow));
      world.set_clock(slow, std::nullopt, 1);
      for (NodeId i = 0; i < n; ++i) {
        if (i != slow) world.set_clock(i, 12, 1);
      }
      world.run(3);
      CHECK(most() == 12);
    }
  }
}

TEST_CASE("voters of a run start together at step 0, whenever each of them joins", "[deep]") {
  constexpr uint64_t kPresent = 10;
  for (const NodeId n : {2, 3, 5, 8}) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      INFO(n << " nodes, seed " << seed);
      OverlayWorld world(seed);
      Rng rng(seed);
      std::vector<double> starts(n), seen(n);
      std::vector<uint64_t> clocks(n);
      std::vector<NodeId> all(n);
      std::iota(all.begin(), all.end(), 0);
      NodeId first = 0;
      for (NodeId i = 0; i < n; ++i) {
        starts[i] = 0.05 * rng.uniform();
        seen[i] = starts[i] + 0.005 * rng.uniform();
        if (ring_id(seed, i, 0) < ring_id(seed, first, 0)) first = i;
      }
      for (int k = 0; k < 3000; ++k) {
        world.run(0.002);
        uint64_t voters = 0;
        for (NodeId i = 0; i < n; ++i) voters += world.now() >= seen[i] ? node_hash(i) : 0;
        for (NodeId i = 0; i < n; ++i) {
          if (world.now() < starts[i]) continue;
          if (clocks[i] == 0) {
            world.add(i, all);
            if (i == first) world.at(i).bootstrap_tree();
            clocks[i] = kPresent;
          }
          world.at(i).set_voters(world.now() >= seen[i], voters);
          const Aggregate known = world.at(i).aggregate(world.now());
          if (known.included && known.count >= n && known.least >= clocks[i]) {
            CHECK(known.least == clocks[i]);
            clocks[i] = known.least + 1;
          }
          world.set_clock(i, clocks[i], 1);
        }
      }
      for (NodeId i = 0; i < n; ++i) CHECK(clocks[i] > kPresent + 5);
    }
  }
}

TEST_CASE("a late voter starts at the minimum of the others, also if they went on before it was included") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    OverlayWorld world(seed);
    world.grow(4, 0.1);
    uint64_t all = 0;
    for (NodeId i = 0; i <= 4; ++i) all += node_hash(i);
    for (NodeId i = 0; i < 4; ++i) {
      world.at(i).set_voters(true, all - node_hash(4));
      world.set_clock(i, 18, 1);
    }
    world.run(5);
    for (NodeId i = 0; i < 4; ++i) world.at(i).set_voters(true, all);  // node 4 votes before it takes part
    for (NodeId i = 0; i < 4; ++i) world.set_clock(i, 200 + i, 1);
    world.run(1);
    CHECK(world.at(1).aggregate(world.now()).least == 18);
    world.add(4, {0}).set_voters(true, all);
    world.set_clock(4, 1, 1);
    world.run(5);
    for (const NodeId i : world.nodes()) {
      CHECK(world.at(i).aggregate(world.now()).included);
      CHECK(world.at(i).aggregate(world.now()).least == 200);
    }
  }
}

TEST_CASE("no node believes in more than the minimum clock under failures, leaves, joins and message loss", "[deep]") {
  int whole = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    Rng rng(seed, 99);
    const double work = rng.below(2) == 0 ? 0.02 : 0.2;
    BarrierWorld world(seed, link_of(rng, seed % 2 == 0 ? 0.01 : 0), work);
    const auto n = static_cast<NodeId>(1 + rng.below(10));
    start(world, rng, n);
    churn(world, rng, n, 10);
    world.run(8);
    CHECK(world.wrong() == "");
    if (!all_joined(world)) continue;
    ++whole;
    check_progress(world);
  }
  CHECK(whole >= 250);
}

TEST_CASE("after any failure the others continue within three seconds", "[deep]") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    Rng rng(seed, 98);
    BarrierWorld world(seed, {uniform_latency(0.5e-3, 3e-3)}, 0.1);
    start(world, rng, static_cast<NodeId>(4 + rng.below(28)));
    for (int k = 0; k < 6 && world.world.size() > 2; ++k) {
      world.run(4 + rng.uniform());
      const NodeId root = world.world.owner_of(0);
      world.kill(k % 2 == 0 ? root : world.world.some_node());
    }
    world.run(5);
    CHECK(world.longest_wait() < 3);
    check_progress(world);
  }
}

TEST_CASE("a leave or join, even of the root, delays the others only briefly", "[deep]") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    Rng rng(seed, 97);
    BarrierWorld world(seed, {uniform_latency(0.5e-3, 3e-3)}, 0.1);
    const auto n = static_cast<NodeId>(4 + rng.below(28));
    start(world, rng, n);
    for (NodeId k = 0; k < 6 && world.world.size() > 2; ++k) {
      world.leave(k % 2 == 0 ? world.world.owner_of(0) : world.world.some_node());
      world.run(3 + rng.uniform());
      world.add(n + k, {world.world.some_node()});
      world.run(3 + rng.uniform());
    }
    CHECK(world.longest_wait() < 1.5);
    check_progress(world);
  }
}

TEST_CASE("a lost connection counts as a failure at once: the others stop waiting for a leaf") {
  BarrierWorld world(71, {uniform_latency(0.5e-3, 1.5e-3)}, 0.01);
  Rng rng(71);
  start(world, rng, 30);
  const std::vector<Peer> ring = world.world.ring();
  // The last node of the ring has no children.
  const NodeId last = ring.back().node;
  world.run(2);
  (void)world.longest_wait();
  world.kill(last);
  for (const NodeId node : world.world.nodes()) world.world.at(node).lose_process(last, world.world.now());
  world.run(5);
  CHECK(world.longest_wait() < 0.7);
  check_progress(world);
}

TEST_CASE("partitioned halves continue separately, and together after the partition heals", "[deep]") {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    Rng rng(seed, 96);
    BarrierWorld world(seed, link_of(rng, seed % 2 == 0 ? 0.01 : 0), 0.1);
    start(world, rng, static_cast<NodeId>(4 + rng.below(12)));
    world.set_sides([](NodeId node) { return static_cast<int>(node % 2); });
    part_halves(world.world, false);
    world.run(10 * rng.uniform());
    part_halves(world.world, true);
    world.set_sides([](NodeId) { return -1; });
    world.run(15);
    world.set_sides([](NodeId) { return 0; });
    check_progress(world);
  }
}

TEST_CASE("a step of a thousand nodes costs two messages a node and at most twice the depth in hops", "[deep]") {
  BarrierWorld world(72, {constant_latency(1e-3)}, 1);
  world.add(0, {});
  for (NodeId node = 1; node < 1000; ++node) {
    world.add(node, {static_cast<NodeId>(world.world.net.rng().below(node))});
    if (node % 20 == 0) world.world.run(0.05);
  }
  world.world.run(6);
  CHECK(world.included() == 1000);
  world.set_work(0);
  world.world.run(1.5);
  const uint64_t steps = world.least_clock();
  const TreeTraffic before = world.traffic();
  world.world.run(1);
  const auto done = static_cast<double>(world.least_clock() - steps);
  const TreeTraffic after = world.traffic();
  const auto sent = static_cast<double>(after.reports + after.results - before.reports - before.results) / 1000;
  CHECK(sent <= 2 * (done + 1) + 4 + 1);  // two heartbeats, with a report and a result each
  CHECK(1000 / done <= 2 * world.depth() + 0.5);
  CHECK(world.depth() <= 20);
}

TEST_CASE("a suspended node is not included by its own view, and a late joiner starts at the minimum") {
  OverlayWorld world(73);
  world.grow(10, 1);
  for (const NodeId node : world.nodes()) world.set_clock(node, 5, 0);
  world.run(5);
  for (const NodeId node : world.nodes()) {
    CHECK(world.at(node).aggregate(world.now()).included);
    CHECK_FALSE(world.at(node).aggregate(world.now() + 2).included);
  }
  const NodeId late = 10;
  world.add(late, {3});
  world.set_clock(late, 0, 0);
  world.run(1);
  CHECK(world.at(late).aggregate(world.now()).included);
  for (const NodeId node : world.nodes()) CHECK(world.at(node).aggregate(world.now()).least == 5);
  // The others do not wait for a node that takes no part.
  for (const NodeId node : world.nodes())
    world.set_clock(node, node == late ? std::nullopt : std::optional<uint64_t>(7), 0);
  world.run(3);
  for (const NodeId node : world.nodes()) {
    CHECK(world.at(node).aggregate(world.now()).least == 7);
    CHECK(world.at(node).aggregate(world.now()).count == 10);
  }
}

TEST_CASE("a node suspended for seconds is included only when the others rely on it, and then the run continues") {
  const uint64_t seed = GENERATE(range(uint64_t{1}, uint64_t{25}));
  INFO("seed " << seed);
  Rng rng(seed, 9);
  BarrierWorld world(seed, link_of(rng, 0), 0.05);
  start(world, rng, static_cast<NodeId>(2 + rng.below(5)));
  for (int k = 0; k < 4; ++k) {
    const NodeId node = world.world.some_node();
    world.suspend(node);
    world.run(1 + 5 * rng.uniform());
    world.resume(node);
    world.run(3 * rng.uniform());
  }
  check_progress(world);
}

TEST_CASE("a node that joins without a root starts at the clock of the others", "[deep]") {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed, 95);
    OverlayWorld world(seed, link_of(rng, seed % 2 == 0 ? 0.01 : 0));
    const auto n = static_cast<NodeId>(2 + rng.below(6));
    const auto joiners = static_cast<NodeId>(1 + rng.below(4));
    INFO("seed " << seed << ", " << n << " nodes, " << joiners << " join");
    world.grow(n, 0.1);
    for (const NodeId node : world.nodes()) world.set_clock(node, 100, 0);
    world.run(3);
    const bool closes_connections = rng.below(2) == 0;
    const uint64_t deaths = 1 + rng.below(n - 1);
    for (uint64_t k = 0; k < deaths; ++k) {
      const NodeId root = world.owner_of(0);
      world.kill(root);
      for (const NodeId node : world.nodes()) {
        if (closes_connections) world.at(node).lose_process(root, world.now());
      }
    }
    for (NodeId k = 0; k < joiners; ++k) {
      if (rng.below(2) == 0) world.run((closes_connections ? 3 : 5) * rng.uniform());
      world.add(n + k, {world.some_node(), world.some_node()});
      world.set_clock(n + k, 0, 0);
    }
    world.run(12);
    for (const NodeId node : world.nodes()) {
      const Aggregate known = world.at(node).aggregate(world.now());
      CHECK(known.included);
      CHECK(known.count == world.size());
      CHECK(known.least == 100);
    }
  }
}
