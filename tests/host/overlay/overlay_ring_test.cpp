// Nodes that start, merge, fail and leave form one ring.

#include "tests/host/overlay/overlay_world.hpp"
#include "tests/test.hpp"

namespace {

/// Runs until all neighbour lists are correct; returns the seconds taken, or 1e9.
double settle(OverlayWorld& world, double limit) {
  const double start = world.now();
  while (world.now() - start < limit) {
    if (world.wrong_lists() == 0) return world.now() - start;
    world.run(0.25);
  }
  return 1e9;
}

void cut_in_two(OverlayWorld& world, bool heal) {
  for (const NodeId a : world.nodes()) {
    for (const NodeId b : world.nodes()) {
      if (a % 2 != 0 || b % 2 == 0) continue;
      heal ? world.net.heal(a, b) : world.net.cut(a, b);
    }
  }
}

}  // namespace

TEST_CASE("nodes that start one after another or at once form one ring of any size") {
  const uint64_t seed = 31;
  INFO("seed " << seed);
  for (const NodeId n : {1, 2, 3, 5, 8, 17, 33, 64, 150}) {
    INFO(n << " nodes");
    OverlayWorld slow(seed + n);
    slow.grow(n, 0.05 * n);
    CHECK(settle(slow, 5) < 5);
    OverlayWorld quick(seed + n);
    for (NodeId i = 0; i < n; ++i) quick.add(i, {0});
    CHECK(settle(quick, 5) < 5);
  }
}

TEST_CASE("nodes that start at once with different contacts form one ring, also with some dead contacts") {
  for (const uint64_t seed : {1, 2, 3}) {
    INFO("seed " << seed);
    const NodeId n = 200;
    OverlayWorld circle(seed);
    for (NodeId i = 0; i < n; ++i) circle.add(i, {(i + 1) % n});
    CHECK(settle(circle, 10) < 10);
    OverlayWorld pairs(seed);
    for (NodeId i = 0; i < n; ++i) pairs.add(i, {i ^ 1U, (i / 2 * 2 + 2) % n});
    CHECK(settle(pairs, 10) < 10);
    OverlayWorld some_dead(seed);
    for (NodeId i = 0; i < n; ++i)
      some_dead.add(i, {n + 1, i < 2 ? 1 - i : static_cast<NodeId>(some_dead.net.rng().below(i)), n + 2});
    CHECK(settle(some_dead, 10) < 10);
    some_dead.run(2);
    for (const NodeId i : some_dead.nodes()) CHECK(some_dead.at(i).joined());
  }
}

TEST_CASE("a node with only dead contacts has not joined, and joins when one of them starts") {
  OverlayWorld world(4);
  Overlay& waiting = world.add(1, {7, 8});
  world.run(10);
  CHECK_FALSE(waiting.joined());
  world.add(8, {});
  world.run(10);
  CHECK(waiting.joined());
  CHECK(world.wrong_lists() == 0);
}

TEST_CASE("two rings that discover each other merge") {
  for (const uint64_t seed : {1, 2, 3}) {
    INFO("seed " << seed);
    OverlayWorld world(seed);
    world.grow(120, 2);
    for (NodeId i = 0; i < 80; ++i) world.add(1000 + i, i == 0 ? std::vector<NodeId>() : std::vector<NodeId>{1000});
    world.run(5);
    CHECK(world.wrong_lists() == 200);
    world.at(1033).join({{5, 5}}, world.now());
    CHECK(settle(world, 15) < 15);
  }
}

TEST_CASE("the ring closes after a fifth of the nodes is killed at once and a fifth leaves") {
  const uint64_t seed = 11;
  INFO("seed " << seed);
  OverlayWorld world(seed);
  world.grow(200, 2);
  for (NodeId i = 2; i < 200; i += 5) world.kill(i);
  double closed = 0;
  while (closed < 10 && world.wrong_neighbours() > 0) world.run(0.25), closed += 0.25;
  CHECK(closed <= 5);  // one probe a second; three tries of half a second; then the next peer may have failed, too
  CHECK(settle(world, 10) < 10);
  for (NodeId i = 3; i < 200; i += 5) world.leave(i);
  world.run(0.01);
  CHECK(world.wrong_neighbours() == 0);
  CHECK(settle(world, 5) < 5);
}

TEST_CASE("a lost connection counts as a failure at once") {
  OverlayWorld world(12);
  world.grow(50, 1);
  world.kill(20);
  for (const NodeId i : world.nodes()) world.at(i).lose_process(20, world.now());
  CHECK(world.wrong_neighbours() == 0);
}

TEST_CASE("partitioned halves form two rings, and one ring after the partition heals") {
  for (const uint64_t seed : {1, 2}) {
    INFO("seed " << seed);
    OverlayWorld world(seed);
    world.grow(60, 1);
    cut_in_two(world, false);
    world.run(30);
    for (const NodeId i : world.nodes()) {
      for (const Peer& peer : world.at(i).near().all()) CHECK(peer.node % 2 == i % 2);
    }
    cut_in_two(world, true);
    CHECK(settle(world, 30) < 30);
  }
}

TEST_CASE("a peer that received a request before its start and has sent messages since is not suspected") {
  OverlayWorld world(15);
  Overlay& first = world.add(1, {2});
  world.run(0.3);
  world.add(2, {1});
  for (int i = 0; i < 30; ++i) {
    world.run(0.1);
    CHECK(first.near().knows(2));
  }
}

TEST_CASE("a node that was suspended for a while does not suspect all others") {
  OverlayWorld world(13);
  world.grow(40, 1);
  Overlay& stopped = world.at(7);
  stopped.tick(world.now());
  stopped.tick(world.now() + 100);
  CHECK(stopped.near().all().size() == 32);
  stopped.tick(world.now() - 50);  // a clock that jumps backwards
  world.run(10);
  CHECK(world.wrong_lists() == 0);
}

TEST_CASE("nodes suspended for ten seconds are dropped, and regain their places when they resume") {
  for (const uint64_t seed : {1, 2, 3}) {
    INFO("seed " << seed);
    OverlayWorld world(seed);
    world.grow(60, 1);
    for (NodeId i = 0; i < 60; i += 3) world.suspend(i);
    world.run(10);
    CHECK_FALSE(world.at(1).near().knows(0));
    for (NodeId i = 0; i < 60; i += 3) world.resume(i);
    CHECK(settle(world, 15) < 15);
    CHECK(world.at(0).size_estimate(world.now()).nodes == Approx(60).epsilon(0.2));
  }
}

TEST_CASE("neighbour lists are sent only if one of two peers may lack them") {
  OverlayWorld world(16);
  world.grow(30, 1);
  world.run(40);
  const auto probes = [](const std::map<Kind, uint64_t>& sent) {
    return sent.at(overlay_kind::probe) + sent.at(overlay_kind::probe_reply);
  };
  const uint64_t before = probes(world.sent_by_kind());
  const uint64_t bytes = probes(world.bytes_by_kind());
  world.run(10);
  const uint64_t messages = probes(world.sent_by_kind()) - before;
  CHECK(probes(world.bytes_by_kind()) - bytes < 100 * messages);  // lists of 29 peers have 464 bytes on each side
  world.kill(7);
  CHECK(settle(world, 10) < 10);
}

TEST_CASE("of two nodes with one id the higher node takes another id, and both are found") {
  OverlayWorld world(14);
  world.grow(20, 1);
  world.kill(3);
  Overlay& high = world.at(19);
  const RingId old = high.self().id;
  // A node 3 with the same id probes node 19.
  PeerProbe probe;
  probe.envelope = {{old, 3, 3}, 19};
  Frame frame = message_frame(overlay_kind::probe, courier_address(19), 1, probe);
  frame.src = courier_address(3);
  CHECK(high.on_frame(frame, world.now()).ok());
  CHECK(high.self().id != old);
  CHECK(settle(world, 10) < 10);
  const RingId id = high.self().id;
  const auto found = required(world.find(4, id));
  CHECK(found->owner.node == 19);
}
