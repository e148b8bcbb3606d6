// The client of the keys: owners of keys, and the order of pushes.

#include "tests/host/engine/peer/keys_world.hpp"
#include "tests/test.hpp"

namespace {

ParamKey key_in(const KeysWorld::Node& owner) {
  for (double i = 0;; ++i) {
    ParamKey key = *ParamKey::of(i);
    if (owner.overlay.near().owns(place_of(key))) return key;
  }
}

/// Seconds until node 0 learns that the key has no value; a minute if no peer replies.
double seconds_to_reply(KeysWorld& world, const ParamKey& key) {
  const double began = world.now();
  bool done = false;
  world.at(0).keys.client().get({key}, 0, began, [&](const auto& values) { done = values.ok(); });
  world.serve(0);
  world.net.run_until([&] { return done; }, began + 60);
  return world.now() - began;
}

ParamEntry ones(const ParamKey& key) {
  const TensorLayout layout{Dtype::f32, Shape({1})};
  Blob data = Blob::allocate(layout.bytes());
  *reinterpret_cast<float*>(data.data()) = 1;
  return {key, ParamTensor::whole(layout, std::move(data)), 0};
}

/// Node 0 pushes 1 to a key of another node in each step, without waiting.
void push_steps(KeysWorld& world, const ParamKey& key, uint64_t first, uint64_t last, std::vector<Status>& done) {
  PushRule rule;
  rule.rule = UpdateRule::native({});
  rule.rule.spec.kind = kernel::OptimiserKind::add;
  for (uint64_t step = first; step <= last; ++step) {
    world.at(0).keys.client().push({ones(key)}, mark_of(1, step), rule, world.now(0),
                                   [&](const Status& status) { done.push_back(status); });
  }
  world.serve(0);
}

ParamEntry value_of(KeysWorld& world, const ParamKey& key) {
  ParamEntry entry;
  bool done = false;
  world.at(0).keys.client().get({key}, 0, world.now(0), [&](auto values) {
    done = true;
    REQUIRE(values.ok());
    entry = values->front();
  });
  world.serve(0);
  REQUIRE(world.net.run_until([&] { return done; }, world.now() + 20));
  return entry;
}

void set_to_one(KeysWorld& world, const ParamKey& key) {
  bool done = false;
  world.at(0).keys.client().set({ones(key)}, 0, world.now(0), [&](const Status& set) { done = set.ok(); });
  world.serve(0);
  REQUIRE(world.net.run_until([&] { return done; }, world.now() + 20));
}

}  // namespace

TEST_CASE("a node's pushes of a key are in flight together and applied in order, though frames are lost") {
  for (const double loss : {0.0, 0.2}) {
    SimLink link{constant_latency(1e-3)};
    link.loss = loss;
    KeysWorld world(1, link);
    world.bootstrap(5, 2);
    const ParamKey key = key_in(world.at(3));
    set_to_one(world, key);
    std::vector<Status> done;
    const double began = world.now();
    push_steps(world, key, 1, 100, done);
    CHECK(world.net.run_until([&] { return done.size() == 100; }, began + 50));
    if (loss == 0) CHECK(world.now() - began < 0.02);  // four messages of a millisecond each
    for (const Status& status : done) CHECK(status.ok());
    const ParamEntry entry = value_of(world, key);
    CHECK(*reinterpret_cast<const float*>(std::get<ParamTensor>(entry.value).data.data()) == 101);
    CHECK(entry.step == 100);
  }
}

TEST_CASE("a write missing at a member delays later writes once, not for ever") {
  KeysWorld world(1, SimLink{constant_latency(1e-3)});
  world.bootstrap(5, 2);
  const ParamKey key = key_in(world.at(3));
  set_to_one(world, key);
  const auto& next = world.at(3).overlay.near().lists().after.peers;
  const NodeId member = next[0].node != 0 ? next[0].node : next[1].node;
  world.net.cut(3, member);
  std::vector<Status> done;
  push_steps(world, key, 1, 1, done);
  world.run(0.05);
  world.net.heal(3, member);
  for (uint64_t step = 2; step <= 30; ++step) {  // each is sent while earlier writes are in flight
    push_steps(world, key, step, step, done);
    world.run(0.1);
    if (step >= 10) CHECK(done.size() == step);
  }
  CHECK(value_of(world, key).step == 30);
}

TEST_CASE("all pushes of a key fail after a minute without a reply") {
  KeysWorld world(1, SimLink{constant_latency(1e-3)});
  world.bootstrap(5, 2);
  const ParamKey key = key_in(world.at(3));
  set_to_one(world, key);
  for (NodeId node = 1; node < 5; ++node) world.net.cut(0, node);
  world.at(0).keys.liveness().set_run_lease(0);  // it may not take over the key itself
  std::vector<Status> done;
  push_steps(world, key, 1, 3, done);
  world.run(62);
  REQUIRE(done.size() == 3);
  for (const Status& status : done) {
    CHECK(failure_of(status).code == Code::timeout);
  }
  CHECK(world.at(0).keys.pending().empty());
}

TEST_CASE("a pending request names the key's owner, and the follower whose acknowledgement the owner waits for") {
  KeysWorld world(1, SimLink{constant_latency(1e-3)});
  world.bootstrap(5, 2);
  const ParamKey key = key_in(world.at(3));
  set_to_one(world, key);
  CHECK(world.at(0).keys.pending().empty());
  const auto& next = world.at(3).overlay.near().lists().after.peers;
  const NodeId member = next[0].node != 0 ? next[0].node : next[1].node;
  world.net.cut(3, member);
  std::vector<Status> done;
  push_steps(world, key, 1, 1, done);
  REQUIRE(world.at(0).keys.pending().size() == 1);
  CHECK(world.at(0).keys.pending()[0].key == key);
  CHECK(world.at(0).keys.pending()[0].owner == 3);
  const auto awaited = [&] {
    const auto pending = world.at(0).keys.pending();
    return pending.empty() ? std::vector<NodeId>() : pending[0].awaited;
  };
  CHECK(world.net.run_until([&] { return awaited() == std::vector<NodeId>{member}; }, world.now() + 2));
  world.net.heal(3, member);
  CHECK(world.net.run_until([&] { return done.size() == 1; }, world.now() + 10));
  CHECK(world.at(0).keys.pending().empty());
}

TEST_CASE("pushes after a refused push are refused, too, and do not delay later writes") {
  KeysWorld world(1);
  world.bootstrap(5, 2);
  const ParamKey key = key_in(world.at(3));
  std::vector<Status> done;
  push_steps(world, key, 1, 10, done);  // there is no value yet
  REQUIRE(world.net.run_until([&] { return done.size() == 10; }, world.now() + 1));
  for (const Status& status : done) CHECK_FALSE(status.ok());
  set_to_one(world, key);
  done.clear();
  push_steps(world, key, 11, 20, done);
  REQUIRE(world.net.run_until([&] { return done.size() == 10; }, world.now() + 1));
  for (const Status& status : done) CHECK(status.ok());
  CHECK(value_of(world, key).step == 20);
}

TEST_CASE("with one copy only the keys of a dead node are missing, at once") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    KeysWorld world(seed, {uniform_latency(0.5e-3, 1.5e-3)}, kChunkBytes, 1);
    world.bootstrap(5, 2);
    world.add(5, {0});
    world.run(5);  // it has taken over its keys
    for (const NodeId victim : {5, static_cast<int>(1 + seed % 4)}) {
      std::vector<ParamEntry> entries;
      for (int i = 0; i < 60; ++i) entries.push_back(ones(*ParamKey::of(static_cast<double>(i))));
      std::optional<Status> set;
      world.at(0).keys.client().set(entries, 0, world.now(), [&](const Status& done) { set = done; });
      world.serve(0);
      REQUIRE(world.net.run_until([&] { return set.has_value(); }, world.now() + 5));
      REQUIRE(set->ok());
      const size_t theirs = world.at(victim).keys.table().keys(Arc{}).size();
      world.kill(victim, true);
      const double killed = world.now();
      size_t missing = 0;
      for (const ParamEntry& entry : entries) {
        missing += std::holds_alternative<std::monostate>(value_of(world, entry.key).value) ? 1 : 0;
      }
      CHECK(missing == theirs);
      CHECK(world.now() - killed < 2);
      world.run(1);
      CHECK(world.trouble() == "");
    }
  }
}

// A cached arc of a failed node must not hide the larger arc of its successor.
TEST_CASE("a key is found after its owner and the next node, whose arc the client has cached, have failed") {
  for (const NodeId away : {20, 30, 40}) {
    KeysWorld world(1);
    world.bootstrap(60, 2);
    std::vector<NodeId> ring = world.nodes();
    std::sort(ring.begin(), ring.end(), [&](NodeId a, NodeId b) {
      const RingId from = world.at(0).overlay.self().id;  // node 0 is the first
      return world.at(a).overlay.self().id - from < world.at(b).overlay.self().id - from;
    });
    const NodeId owner = ring[away];
    const NodeId next = ring[away + 1];
    const ParamKey key = key_in(world.at(owner));
    CHECK(seconds_to_reply(world, key_in(world.at(next))) < 1);
    world.kill(next, false);
    world.run(20);  // its keys have three replicas again
    world.kill(owner, false);
    CHECK(seconds_to_reply(world, key) < 15);
    CHECK(seconds_to_reply(world, key) < 1);
  }
}

TEST_CASE("a pull reads large values while pushes that wait for pulls fill the window of their node") {
  KeysWorld world(3);
  world.bootstrap(2, 2);
  const TensorLayout layout{Dtype::f32, Shape({2 << 20})};
  const auto large = [&](const ParamKey& key) {
    return ParamEntry{key, ParamTensor::whole(layout, Blob::allocate(layout.bytes())), 0};
  };
  std::vector<ParamKey> keys;
  for (double i = 0; i < 6; ++i) keys.push_back(*ParamKey::of(i));
  const auto all_large = [&] {
    std::vector<ParamEntry> entries;
    for (const ParamKey& key : keys) entries.push_back(large(key));
    return entries;
  };
  size_t done = 0;
  const auto one_done = [&](const Status& status) { done += status.ok() ? 1 : 100; };
  world.at(0).keys.client().set(all_large(), 0, world.now(), one_done);
  world.serve(0);
  REQUIRE(world.net.run_until([&] { return done == 1; }, world.now() + 20));
  PushRule rule;
  rule.rule.kind = UpdateRule::Kind::lua;
  for (const NodeId node : world.nodes()) {
    world.at(node).keys.holder().on_pull([&world, node](const std::vector<PullEntry>& batch) {
      const auto complete_pull = [&world, node](Result<std::vector<ParamEntry>> values) {
        REQUIRE(values.ok());
        REQUIRE(world.at(node).keys.holder().answer_pull(*std::move(values)).ok());
      };
      world.at(node).keys.client().get({batch.front().key}, 0, world.now(), complete_pull);
    });
    world.at(node).keys.client().push(all_large(), mark_of(1, 1), rule, world.now(), one_done);
    world.serve(node);
  }
  CHECK(world.net.run_until([&] { return done >= 3; }, world.now() + 50));
  CHECK(done == 3);
}
