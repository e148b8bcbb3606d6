// How a Cluster finds the coordinator of its run over real sockets, and the reasons of refusals.

#include "tests/host/cluster/test_process.hpp"
#include "tests/test.hpp"

namespace {

/// An address without a listener: its port belonged to a finished run.
std::string unused_url() {
  TestProcess coordinator(TestProcess::coordinator(any_url("tcp"), 1, 1, 1));
  REQUIRE(coordinator.cluster->open().ok());
  return coordinator.cluster->bound_url();
}

}  // namespace

TEST_CASE("a host finds its run behind the ports of another run, of another user and of no process") {
  ClusterConfig config = TestProcess::coordinator(any_url("tcp"), 1, 2, 2);
  config.coordinator.run_id = "other";
  TestProcess other(config);
  REQUIRE(other.cluster->open().ok());
  config = TestProcess::coordinator(any_url("tcp"), 1, 2, 2);
  config.stream.token = "somebody else's";
  TestProcess stranger(config);
  REQUIRE(stranger.cluster->open().ok());
  TestProcess coordinator(TestProcess::coordinator(any_url("tcp"), 1, 2, 2));
  REQUIRE(coordinator.cluster->open().ok());

  ClusterConfig late = TestProcess::member(other.cluster->bound_url(), 1, 101);
  late.other_urls = {stranger.cluster->bound_url(), unused_url(), coordinator.cluster->bound_url()};
  TestProcess member(late);
  REQUIRE(member.start().ok());
  CHECK(member.cluster->run_id() == "run");
  CHECK(member.cluster->url() == coordinator.cluster->bound_url());
  CHECK(member.cluster->membership()->size() == 2);
}

TEST_CASE("dialling an unreachable rendezvous ends at the deadline") {
  const std::string url = unused_url();
  ClusterConfig config = TestProcess::member(url, 1, 101);
  config.start_timeout = 0.3;
  TestProcess member(config);
  const double before = member.clock.now();
  const Status opened = member.cluster->open();
  const double took = member.clock.now() - before;
  CHECK(failure_of(opened).code == Code::unreachable);
  CHECK_THAT(failure_of(opened).message, Contains(url) && Contains("--start-timeout"));
  CHECK(took < kPatience);
}

TEST_CASE("a host that is dialling can be interrupted") {
  const std::string url = unused_url();
  TestProcess member(TestProcess::member(url, 1, 101));
  Status opened;
  std::thread opening([&] { opened = member.cluster->open(); });
  member.cluster->stop({Code::interrupted, false, "interrupted"});
  opening.join();
  CHECK(failure_of(opened).code == Code::interrupted);
}

TEST_CASE("a host that starts before the coordinator waits for it") {
  const std::string url = unused_url();
  TestProcess member(TestProcess::member(url, 1, 101));
  Status opened;
  std::thread opening([&] { opened = member.cluster->open(); });
  TestProcess coordinator(TestProcess::coordinator(url, 1, 2, 2));
  REQUIRE(coordinator.cluster->open().ok());
  opening.join();
  CHECK(opened.ok());
  CHECK(coordinator.start_nodes().ok());
}

TEST_CASE("of two coordinators at one address the second fails because the address is in use") {
  for (const std::string scheme : {"tcp", "ipc"}) {
    INFO(scheme);
    TestProcess first(TestProcess::coordinator(any_url(scheme), 1, 2, 2));
    REQUIRE(first.cluster->open().ok());
    TestProcess second(TestProcess::coordinator(first.cluster->bound_url(), 1, 2, 2));
    CHECK(failure_of(second.cluster->open()).code == Code::io);
    TestProcess member(TestProcess::member(first.cluster->bound_url(), 1, 101));
    CHECK(member.cluster->open().ok());
    CHECK(first.start_nodes().ok());
  }
}

TEST_CASE("a wrong token is refused at once") {
  ClusterConfig config = TestProcess::coordinator(any_url("tcp"), 1, 2, 2);
  config.stream.token = "right";
  TestProcess coordinator(config);
  REQUIRE(coordinator.cluster->open().ok());
  config = TestProcess::member(coordinator.cluster->bound_url(), 1, 101);
  config.stream.token = "wrong";
  TestProcess member(config);
  const double before = member.clock.now();
  const Status opened = member.cluster->open();
  CHECK(failure_of(opened).code == Code::refused);
  CHECK_THAT(failure_of(opened).message, Contains("the token of 127.0.0.1:") && Contains("differs from ours"));
  CHECK(member.clock.now() - before < kPatience);
}

TEST_CASE("another job, another run or a run that is full is refused with the reason") {
  TestProcess coordinator(TestProcess::coordinator(any_url("tcp"), 1, 2, 2));
  REQUIRE(coordinator.cluster->open().ok());
  const auto refusal = [&](ClusterConfig config, const std::string& script) {
    TestProcess member(std::move(config), script);
    const Status opened = member.cluster->open();
    if (opened) return std::string("welcomed");
    CHECK(opened.error().code == Code::refused);
    return opened.error().message;
  };
  const auto config = [&](uint64_t group) { return TestProcess::member(coordinator.cluster->bound_url(), 1, group); };
  CHECK_THAT(refusal(config(101), "return 2"),
             Contains("refused by the coordinator at tcp://127.0.0.1:") && Contains("its copy of the job differs"));
  ClusterConfig other = config(102);
  other.self.run_id = "other";
  CHECK_THAT(refusal(other, "return 1"), Contains("--rdzv-id"));
  CHECK(refusal(config(103), "return 1") == "welcomed");
  REQUIRE(coordinator.start_nodes().ok());
  CHECK_THAT(refusal(config(104), "return 1"), Contains("not elastic"));
}
