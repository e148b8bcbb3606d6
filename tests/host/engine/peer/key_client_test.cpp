// Whom a node asks for keys.

#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/host/engine/peer/keys_world.hpp"

using namespace actorhost;
using namespace actorhost::test;

namespace {

ParamKey key_in(const KeysWorld::Node& owner) {
  for (double i = 0;; ++i) {
    ParamKey key = *ParamKey::of(i);
    if (owner.overlay.near().owns(place_of(key))) return key;
  }
}

/// Seconds until node 0 knows that the key has no value; a minute when nobody answers.
double asked(KeysWorld& world, const ParamKey& key) {
  const double began = world.now();
  bool done = false;
  world.at(0).keys.client().get({key}, 0, began, [&](const auto& values) { done = values.ok(); });
  world.serve(0);
  world.net.run_until([&] { return done; }, began + 60);
  return world.now() - began;
}

}  // namespace

// A remembered arc of a node that has died is no reason not to see the larger one that its successor has now.
TEST_CASE("a key is found whose owner has died, after the next one whose arc the asker remembers") {
  for (const NodeId away : {20, 30, 40}) {
    KeysWorld world(1);
    world.found(60);
    world.run(2);
    std::vector<NodeId> ring = world.nodes();
    std::sort(ring.begin(), ring.end(), [&](NodeId a, NodeId b) {
      const RingId from = world.at(0).overlay.self().id;  // node 0 is the first
      return world.at(a).overlay.self().id - from < world.at(b).overlay.self().id - from;
    });
    const NodeId owner = ring[away];
    const NodeId next = ring[away + 1];
    const ParamKey key = key_in(world.at(owner));
    CHECK(asked(world, key_in(world.at(next))) < 1);
    world.kill(next, false);
    world.run(20);  // its keys have three copies again
    world.kill(owner, false);
    CHECK(asked(world, key) < 15);
    CHECK(asked(world, key) < 1);
  }
}
