// The links between hosts over real sockets: one link per pair, no forbidden link, and no frame lost while links are
// made.

#include "tests/host/cluster/test_process.hpp"
#include "tests/host/net/raw_socket.hpp"
#include "tests/test.hpp"

TEST_CASE("two hosts that need a link at the same moment make one, and every frame arrives in order") {
  for (int round = 0; round < 20; ++round) {
    INFO("round " << round);
    TestRun run("tcp", {1, 1, 1});
    constexpr uint32_t kFrames = 100;
    std::atomic<int> waiting{2};
    std::atomic<int> right{0};
    const auto work = [&](Node& node) {
      const NodeId other = 3 - node.index();
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      for (uint32_t tag = 0; tag < kFrames; ++tag) {
        (void)node.port().send(make_frame(Kind::test, node.address(), worker_address(other), tag));
      }
      for (uint32_t tag = 0; tag < kFrames; ++tag) {
        const auto got = node.receive([](const Frame& f) { return f.kind == Kind::test; }, {}, "test",
                                      node.clock().now() + kPatience);
        right += got && got->src == other && got->tag == tag;
      }
    };
    for (const auto& member : run.members) member->launch(work);
    for (const auto& member : run.members) member->join();
    CHECK(right == 2 * static_cast<int>(kFrames));
    for (TestProcess* process : run.all) CHECK_FALSE(process->logged("is over"));
  }
}

TEST_CASE("a host accepts no link from a host that it has to dial itself") {
  TestRun run("tcp", {1, 1, 1});
  TestProcess& second = *run.members[1];
  REQUIRE(second.cluster->process() == 2);
  const std::string url = second.cluster->membership()->process(2)->url;
  // A stranger claims to be process 1, which process 2 has to dial, before there is a link between them.
  Bystander bystander;
  StreamTransport stranger({}, second.log, bystander);
  const auto link = required(stranger.dial(url, kPatience));
  REQUIRE(stranger.send_on(*link, make_frame(Kind::link_hello, kNoAddress, kNoAddress, 1)).ok());
  (void)stranger.send_on(*link, make_frame(Kind::test, worker_address(1), worker_address(2), 99));
  CHECK(second.wait_for_log("closed a connection: host 1 must not dial this host"));
  for (const auto& member : run.members) {
    member->everywhere([](Node& node) {
      const NodeId other = 3 - node.index();
      (void)node.port().send(make_frame(Kind::test, node.address(), worker_address(other), 1));
    });
  }
  for (const auto& member : run.members) {
    const auto got = member->nodes[0]->receive([](const Frame& f) { return f.kind == Kind::test; }, {}, "test",
                                               member->clock.now() + kPatience);
    REQUIRE(got.ok());
    CHECK(got->tag == 1);
    CHECK_FALSE(member->cluster->end());
  }
}

TEST_CASE("a dropped host cannot return by dialling another") {
  TestRun run("tcp", {1, 1, 1});
  const std::string url = run.members[0]->cluster->membership()->process(1)->url;
  run.members[1]->vanish();
  REQUIRE(run.members[0]->wait_for_size(2));
  Bystander bystander;
  StreamTransport ghost({}, run.coordinator->log, bystander);
  const auto link = required(ghost.dial(url, kPatience));
  REQUIRE(ghost.send_on(*link, make_frame(Kind::link_hello, kNoAddress, kNoAddress, 2)).ok());
  (void)ghost.send_on(*link, make_frame(Kind::test, worker_address(2), worker_address(1), 99));
  CHECK(run.members[0]->wait_for_log("closed a connection: host 2 has left the run, or its link broke"));
  REQUIRE(run.coordinator->nodes[0]->port().send(make_frame(Kind::test, 0, worker_address(1), 1)).ok());
  const auto got = run.members[0]->nodes[0]->receive([](const Frame& f) { return f.kind == Kind::test; }, {}, "test",
                                                     run.coordinator->clock.now() + kPatience);
  REQUIRE(got.ok());
  CHECK(got->tag == 1);
}

TEST_CASE("no frame that is sent right after the start is lost, although the others may not be ready") {
  for (int round = 0; round < 15; ++round) {
    INFO("round " << round);
    TestProcess coordinator(TestProcess::coordinator(any_url("tcp"), 1, 4, 4));
    REQUIRE(coordinator.cluster->open().ok());
    std::vector<std::unique_ptr<TestProcess>> members;
    std::atomic<int> got{0};
    const auto take_part = [&](TestProcess& process) {
      REQUIRE(process.start_nodes().ok());
      process.launch([&](Node& node) {
        for (NodeId to = 0; to < 4; ++to) {
          if (to != node.index()) (void)node.port().send(make_frame(Kind::test, 0, worker_address(to), 1));
        }
        for (int i = 0; i < 3; ++i) {
          got += node.receive([](const Frame& f) { return f.kind == Kind::test; }, {}, "test",
                              node.clock().now() + kPatience)
                     .ok();
        }
      });
    };
    for (uint64_t i = 1; i < 4; ++i) {
      members.push_back(
          std::make_unique<TestProcess>(TestProcess::member(coordinator.cluster->bound_url(), 1, 100 + i)));
      REQUIRE(members.back()->cluster->open().ok());
    }
    // One after the other, so that the first hosts send long before the last has made its nodes.
    for (const auto& member : members) take_part(*member);
    take_part(coordinator);
    for (const auto& member : members) member->join();
    coordinator.join();
    CHECK(got == 12);
  }
}

TEST_CASE("concurrent hosts all join although only two may prove their token at a time") {
  ClusterConfig config = TestProcess::coordinator(any_url("tcp"), 1, 9, 9);
  config.stream.max_unproved = 2;
  TestProcess coordinator(config);
  REQUIRE(coordinator.cluster->open().ok());
  // Other connections are refused while these two are silent.
  auto silent = std::make_optional(std::array{RawSocket::connect_to(coordinator.cluster->bound_url()),
                                              RawSocket::connect_to(coordinator.cluster->bound_url())});
  std::vector<std::unique_ptr<TestProcess>> members;
  std::vector<Status> opened(8);
  std::vector<std::thread> opening;
  for (uint64_t i = 0; i < 8; ++i) {
    members.push_back(std::make_unique<TestProcess>(TestProcess::member(coordinator.cluster->bound_url(), 1, 100 + i)));
  }
  for (size_t i = 0; i < 8; ++i) opening.emplace_back([&, i] { opened[i] = members[i]->cluster->open(); });
  CHECK(coordinator.wait_for_log("too many connections at a time"));
  silent.reset();
  for (std::thread& thread : opening) thread.join();
  for (const Status& status : opened) {
    INFO((status ? "" : status.error().message));
    CHECK(status.ok());
  }
  CHECK(coordinator.start_nodes().ok());
  CHECK(coordinator.cluster->membership()->size() == 9);
}
