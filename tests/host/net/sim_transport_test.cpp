#include "tests/host/net/sim_transport.hpp"

#include "tests/test.hpp"

namespace {

Frame message(Address src, Address dst, uint32_t tag, Kind kind = Kind::test) {
  Frame frame;
  frame.kind = kind;
  frame.src = src;
  frame.dst = dst;
  frame.tag = tag;
  return frame;
}

struct World {
  explicit World(uint64_t seed, uint32_t nodes = 2, size_t mailbox_frames = 1 << 16) : net(clock, seed) {
    for (uint32_t i = 0; i < nodes; ++i) {
      boxes.push_back(std::make_unique<Mailbox>(mailbox_frames));
      if (!net.attach(i, *boxes.back()).ok()) boxes.back()->close();
    }
  }
  std::vector<uint32_t> tags(uint32_t node) {
    std::vector<Frame> frames;
    boxes.at(node)->pop_all(frames, 0);
    std::vector<uint32_t> result;
    for (const Frame& frame : frames) result.push_back(frame.tag);
    return result;
  }
  void send_tags(Address src, Address dst, uint32_t count) {
    for (uint32_t tag = 0; tag < count; ++tag) {
      if (!net.try_send(message(src, dst, tag)).ok()) FAIL("a send was refused");
    }
  }

  std::vector<std::unique_ptr<Mailbox>> boxes;
  ManualClock clock;
  SimTransport net;
};

std::vector<uint32_t> up_to(uint32_t count) {
  std::vector<uint32_t> tags(count);
  for (uint32_t i = 0; i < count; ++i) tags[i] = i;
  return tags;
}

}  // namespace

TEST_CASE("a simulated frame arrives after its latency and not before") {
  World world(1);
  world.net.set_links({.latency = constant_latency(0.25)});
  world.send_tags(0, 1, 1);
  CHECK(world.net.next_event_time() == 0.25);
  world.net.run_until(0.2);
  CHECK(world.clock.now() == 0.2);
  CHECK(world.tags(1).empty());
  CHECK(world.net.step());
  CHECK(world.clock.now() == 0.25);
  CHECK(world.tags(1) == up_to(1));
  CHECK_FALSE(world.net.step());
}

TEST_CASE("frames between two processes stay in order whatever their latencies") {
  World world(2);
  world.net.set_links({.latency = exponential_latency(1)});
  world.send_tags(0, 1, 200);
  world.net.run_until(1000);
  CHECK(world.tags(1) == up_to(200));
}

TEST_CASE("frames keep their order across the addresses of a process") {
  World world(3, 4);
  world.net.set_links({.latency = uniform_latency(0, 1)});
  for (Address a : {0U, 1U}) world.net.place(a, 10);
  for (Address a : {2U, 3U}) world.net.place(a, 11);
  std::vector<Address> arrivals;
  world.net.on_delivered([&](Address to) { arrivals.push_back(to); });
  std::vector<Address> sent;
  for (uint32_t i = 0; i < 50; ++i) {
    sent.push_back(2 + i % 2);
    REQUIRE(world.net.try_send(message(i / 3 % 2, sent.back(), i)).ok());
  }
  world.net.run_until(100);
  CHECK(arrivals == sent);
}

TEST_CASE("a cut loses frames in flight and sent frames until it is healed") {
  World world(6, 3);
  world.send_tags(0, 1, 3);
  world.net.cut(1, 0);
  world.send_tags(0, 1, 3);
  world.send_tags(0, 2, 1);
  world.net.run_until(1);
  CHECK(world.tags(1).empty());
  CHECK(world.tags(2).size() == 1);
  CHECK(world.net.counters().lost == 6);
  world.net.heal(0, 1);
  world.send_tags(0, 1, 2);
  world.net.run_until(2);
  CHECK(world.tags(1) == up_to(2));
}

TEST_CASE("a full mailbox stops the link and loses no frame") {
  World world(9, 2, 4);
  world.send_tags(0, 1, 10);
  world.net.run_until(1);
  std::vector<uint32_t> got;
  for (int round = 0; round < 10; ++round) {
    const auto some = world.tags(1);
    CHECK(some.size() <= 4);
    got.insert(got.end(), some.begin(), some.end());
    world.net.run_until(world.clock.now() + 1);
  }
  CHECK(got == up_to(10));
}

TEST_CASE("a full link refuses frames and reports room") {
  World world(10);
  world.net.set_links({.latency = constant_latency(1), .max_queued_bytes = 3 * kHeaderBytes});
  world.send_tags(0, 1, 3);
  CHECK(world.net.try_send(message(0, 1, 9)).error().code == Code::full);
  CHECK(world.net.try_send(message(0, 1, 3, Kind::cluster_first)).ok());
  CHECK(world.net.try_send(message(0, 1, 9)).error().code == Code::full);
  int calls = 0;
  world.net.when_room(1, [&] { ++calls; });
  CHECK(calls == 0);
  CHECK(world.net.step());
  CHECK(calls == 1);
  CHECK(world.net.send(message(0, 1, 4), 0.5).ok());
}

TEST_CASE("a simulated send that waits for room gives up at its deadline") {
  World world(11);
  world.net.set_links({.latency = constant_latency(5), .max_queued_bytes = 1});
  world.send_tags(0, 1, 1);
  CHECK(world.net.send(message(0, 1, 1), 2).error().code == Code::timeout);
  CHECK(world.clock.now() == 2);
  CHECK(world.net.send(message(0, 1, 1), 10).ok());
  CHECK(world.clock.now() == 5);
}

TEST_CASE("callbacks run at their time, simultaneous callbacks in the order of creation") {
  World world(12);
  std::string order;
  world.net.at(2, [&] { order += 'c'; });
  world.net.at(1, [&] {
    order += 'a';
    world.net.at(0, [&] { order += 'b'; });
  });
  world.net.at(2, [&] { order += 'd'; });
  CHECK(world.net.run_until([&] { return order.size() == 2; }, 10));
  CHECK(order == "ab");
  CHECK(world.clock.now() == 1);
  CHECK_FALSE(world.net.run_until([] { return false; }, 10));
  CHECK(order == "abcd");
}

namespace {

/// Nodes that forward frames to random nodes; returns the events as one line.
std::string gossip(uint64_t seed, uint32_t hops) {
  World world(seed, 8);
  world.net.set_links({.latency = exponential_latency(0.01), .loss = 0.01});
  Rng choice(seed, 1);
  std::string trace;
  world.net.on_delivered([&](Address at) {
    std::vector<Frame> frames;
    world.boxes.at(at)->pop_all(frames, 0);
    for (const Frame& frame : frames) {
      trace += std::to_string(at) + ':' + std::to_string(frame.tag) + ' ';
      if (frame.tag == hops) continue;
      if (!world.net.try_send(message(at, static_cast<Address>(choice.below(8)), frame.tag + 1)).ok()) return;
    }
  });
  for (Address node = 0; node < 8; ++node) world.send_tags(node, (node + 1) % 8, 1);
  world.net.run_until(kForever);
  return trace + std::to_string(world.net.counters().delivered);
}

}  // namespace

TEST_CASE("the same seed gives the same run and another seed another") {
  const std::string one = gossip(1, 200);
  CHECK(gossip(1, 200) == one);
  CHECK(gossip(2, 200) != one);
}

TEST_CASE("a mailbox may outlive a simulation that waits for room in it") {
  Mailbox box(1);
  ManualClock clock;
  {
    SimTransport net(clock, 1);
    REQUIRE(net.attach(1, box).ok());
    REQUIRE(net.try_send(message(0, 1, 0)).ok());
    REQUIRE(net.try_send(message(0, 1, 1)).ok());
    net.run_until(1);
  }
  std::vector<Frame> out;
  CHECK(box.pop_all(out, 0));
  CHECK(out.size() == 1);
}
