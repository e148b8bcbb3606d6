// Several Clusters of one test process over real sockets: gathering a run and losing it.

#include "host/base/random.hpp"
#include "tests/host/cluster/test_process.hpp"
#include "tests/host/net/raw_socket.hpp"
#include "tests/integration/process.hpp"
#include "tests/test.hpp"

namespace {

const char* const kSchemes[] = {"tcp", "ipc"};

/// Forwards one connection to `url`. While it holds, bytes from `url` wait here. If their sender closes meanwhile they
/// are lost, as in a partition when a process has closed its socket.
class OneWayRelay {
 public:
  explicit OneWayRelay(const std::string& url)
      : far_(RawSocket::connect_to(url)), forward_([this] { forward(); }), back_([this] { back(); }) {}
  ~OneWayRelay() {
    listener_.shut_down();
    near_.shut_down();
    far_.shut_down();
    forward_.join();
    back_.join();
  }
  std::string url() const { return listener_.url(); }
  void hold() {
    std::lock_guard lock(mutex_);
    holds_ = true;
  }
  void release() {
    std::lock_guard lock(mutex_);
    holds_ = false;
    near_.write(std::exchange(held_, {}));
  }

 private:
  void forward() {
    RawSocket accepted = listener_.accept();
    {
      std::lock_guard lock(mutex_);
      near_ = std::move(accepted);
      near_.write(std::exchange(held_, {}));
    }
    for (std::string some = near_.read_some(); !some.empty() && far_.write(some);) some = near_.read_some();
    far_.shut_down();
  }
  void back() {
    for (std::string some = far_.read_some(); !some.empty(); some = far_.read_some()) {
      std::lock_guard lock(mutex_);
      held_ += some;
      if (!holds_) near_.write(std::exchange(held_, {}));
    }
    std::lock_guard lock(mutex_);
    near_.shut_down();
  }

  RawListener listener_;
  RawSocket near_{-1};
  RawSocket far_;
  std::mutex mutex_;
  bool holds_ = false;
  std::string held_;
  std::thread forward_;
  std::thread back_;
};

}  // namespace

TEST_CASE("hosts find each other over tcp and ipc and get the same table") {
  for (const std::string scheme : kSchemes) {
    INFO(scheme);
    TestRun run(scheme, {2, 1, 3});
    std::set<NodeId> ids;
    for (TestProcess* process : run.all) {
      const MembershipPtr table = process->cluster->membership();
      CHECK(table->epoch() == 1);
      CHECK(table->size() == 6);
      CHECK(table->processes().size() == 3);
      CHECK(pack(*table) == pack(*run.coordinator->cluster->membership()));
      for (const NodeId id : process->cluster->local_workers()) {
        CHECK(table->home_of(id) == process->cluster->process());
        ids.insert(id);
      }
    }
    CHECK(ids.size() == 6);
    CHECK(run.members[0]->cluster->process() == 1);
    CHECK(run.members[1]->cluster->process() == 2);
    CHECK(run.members[1]->cluster->settings().at("barrier") == "bsp");
    CHECK(run.members[1]->cluster->args() == std::vector<std::string>{"x", "y"});
    CHECK(run.members[1]->cluster->run_id() == "run");
    CHECK(run.members[1]->cluster->url() == run.coordinator->cluster->bound_url());
  }
}

TEST_CASE("a run of several hosts ends on all of them when all scripts have ended") {
  for (const std::string scheme : kSchemes) {
    INFO(scheme);
    TestRun run(scheme, {1, 2, 1});
    run.everywhere([](Node& node) { node.cluster().report_ended(node.index(), node.actions()); });
    for (TestProcess* process : run.all) CHECK(process->wait_for_end().ok);
  }
}

TEST_CASE("the end reaches every member although the coordinator closes at once") {
  for (int round = 0; round < 10; ++round) {
    TestRun run("tcp", {1, 1, 1});
    run.everywhere([](Node& node) { node.cluster().report_ended(node.index(), node.actions()); });
    CHECK(run.coordinator->wait_for_end().ok);
    run.coordinator->vanish();
    for (const auto& member : run.members) CHECK(member->wait_for_end().ok);
  }
}

TEST_CASE("the end reaches a member whose connection delivers nothing for two seconds") {
  TestProcess coordinator(TestProcess::coordinator(any_url("tcp"), 1, 2, 2));
  REQUIRE(coordinator.cluster->open().ok());
  OneWayRelay relay(coordinator.cluster->bound_url());
  TestProcess member(TestProcess::member(relay.url(), 1, 101));
  REQUIRE(member.cluster->open().ok());
  for (TestProcess* process : {&coordinator, &member}) REQUIRE(process->start_nodes().ok());
  relay.hold();
  for (TestProcess* process : {&coordinator, &member}) {
    Node& node = *process->nodes[0];
    node.cluster().report_ended(node.index(), node.actions());
  }
  CHECK(coordinator.wait_for_end().ok);
  std::thread heals([&] {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    relay.release();
  });
  coordinator.vanish();
  CHECK(member.wait_for_end().ok);
  heals.join();
}

TEST_CASE("a script's error ends the run on all hosts with its message") {
  TestRun run("tcp", {1, 1, 1});
  run.members[0]->nodes[0]->cluster().report_error(worker_address(1),
                                                   {Code::script, false, "rank 1: boom", worker_address(1)});
  for (TestProcess* process : run.all) {
    const EndMessage end = process->wait_for_end();
    CHECK(end.code == Code::script);
    CHECK(end.message == "rank 1: boom");
    CHECK(end.origin == worker_address(1));
  }
}

TEST_CASE("nodes of different hosts exchange frames in order, whichever sends first") {
  for (const std::string scheme : kSchemes) {
    INFO(scheme);
    TestRun run(scheme, {2, 2, 2, 1});
    std::atomic<int> right{0};
    constexpr uint32_t kFrames = 50;
    run.everywhere([&](Node& node) {
      const uint32_t size = node.membership().size();
      for (uint32_t tag = 0; tag < kFrames; ++tag) {
        for (NodeId to = 0; to < size; ++to) {
          if (to == node.index()) continue;
          (void)node.port().send(make_frame(Kind::test, 0, worker_address(to), tag));
        }
      }
      for (NodeId from = 0; from < size; ++from) {
        const std::array<Address, 1> awaited = {worker_address(from)};
        for (uint32_t tag = 0; tag < kFrames && from != node.index(); ++tag) {
          const auto got = node.receive([&](const Frame& f) { return f.kind == Kind::test && f.src == from; }, awaited,
                                        "test", node.clock().now() + kPatience);
          if (got && got->tag == tag) ++right;
        }
      }
    });
    CHECK(right == 7 * 6 * static_cast<int>(kFrames));
    for (TestProcess* process : run.all) CHECK_FALSE(process->cluster->end());
  }
}

TEST_CASE("frames for a process's services find their mailboxes, also frames that arrive before their readers start") {
  const auto address = GENERATE(data_address, courier_address);
  for (const std::string scheme : kSchemes) {
    INFO(scheme);
    TestRun run(scheme, {1, 1, 1});
    run.everywhere([address](Node& node) {
      for (ProcessId to = 0; to < 3; ++to) {
        (void)node.port().send(make_frame(Kind::test, 0, address(to), node.index()));
      }
    });
    for (TestProcess* process : run.all) {
      const Address self = address(process->cluster->process());
      Port port(process->cluster->transport(), self, process->clock, process->cluster->take_mailbox(self));
      std::set<uint32_t> from;
      for (int i = 0; i < 3; ++i) {
        const auto got = port.receive([](const Frame&) { return true; }, process->clock.now() + kPatience);
        REQUIRE(got.ok());
        CHECK(got->dst == self);
        from.insert(got->tag);
      }
      CHECK(from == std::set<uint32_t>{0, 1, 2});
      CHECK(process->cluster->take_mailbox(self) == nullptr);
    }
  }
}

TEST_CASE("a wait for a service of a process that leaves fails, and no route to the service remains") {
  const auto address = GENERATE(data_address, courier_address);
  TestRun run("tcp", {1, 1, 1});
  std::vector<Error> errors(2);
  for (size_t i = 0; i < 2; ++i) {
    run.all[i]->launch([&error = errors[i], address](Node& node) {
      const std::array<Address, 1> awaited = {address(2)};
      error = node.receive(never, awaited, "fetch").error();
    });
  }
  run.members[1]->vanish();
  for (size_t i = 0; i < 2; ++i) {
    run.all[i]->join();
    CHECK(errors[i].code == Code::peer_lost);
    CHECK_THAT(errors[i].message, Contains("fetch: " + address_name(address(2)) + " (member102) lost"));
    CHECK_FALSE(run.all[i]->nodes[0]->port().send(make_frame(Kind::test, 0, address(2), 0)).ok());
  }
}

TEST_CASE("a member that leaves is lost without a timeout, and waits for its worker fail") {
  for (const std::string scheme : kSchemes) {
    INFO(scheme);
    TestRun run(scheme, {1, 1, 1});
    std::vector<Error> errors(2);
    const auto wait_for_2 = [&](TestProcess& process, Error& error) {
      process.launch([&error](Node& node) {
        const std::array<Address, 1> awaited = {worker_address(2)};
        error = node.receive(never, awaited, "push").error();
      });
    };
    wait_for_2(*run.coordinator, errors[0]);
    wait_for_2(*run.members[0], errors[1]);
    run.members[1]->vanish();
    run.coordinator->join();
    run.members[0]->join();
    for (const Error& error : errors) {
      CHECK(error.code == Code::peer_lost);
      CHECK_THAT(error.message, Contains("push: rank 2 (worker 2 on member102) lost"));
    }
    CHECK(run.coordinator->cluster->membership()->epoch() == 2);
    CHECK(run.members[0]->cluster->membership()->size() == 2);
    CHECK_FALSE(run.coordinator->cluster->end());
    CHECK_FALSE(run.members[0]->nodes[0]->port().send(make_frame(Kind::test, 0, worker_address(2), 0)).ok());
  }
}

TEST_CASE("the other members continue with each other after a loss") {
  TestRun run("tcp", {1, 1, 1, 1});
  // Every pair has its link before a member leaves.
  const auto exchange = [&](const std::vector<NodeId>& all) {
    std::atomic<size_t> got{0};
    const auto work = [&](Node& node) {
      for (const NodeId to : all) {
        if (to != node.index()) (void)node.port().send(make_frame(Kind::test, 0, worker_address(to), 1));
      }
      for (size_t i = 1; i < all.size(); ++i) {
        got += node.receive([](const Frame& f) { return f.kind == Kind::test; }, {}, "test",
                            node.clock().now() + kPatience)
                   .ok();
      }
    };
    for (TestProcess* process : run.all) {
      if (!process->nodes.empty()) process->launch(work);
    }
    for (TestProcess* process : run.all) process->join();
    CHECK(got == all.size() * (all.size() - 1));
  };
  exchange({0, 1, 2, 3});
  run.members[1]->vanish();
  for (TestProcess* process : run.all) {
    if (!process->nodes.empty()) REQUIRE(process->wait_for_size(3));
  }
  exchange({0, 1, 3});
  CHECK_FALSE(run.coordinator->cluster->end());
}

TEST_CASE("after the coordinator has failed every wait of the members ends and the run's end names the coordinator") {
  for (const std::string scheme : kSchemes) {
    INFO(scheme);
    TestRun run(scheme, {1, 1, 1});
    std::vector<Error> errors(2);
    for (size_t i = 0; i < 2; ++i) {
      run.members[i]->launch([&error = errors[i]](Node& node) {
        const std::array<Address, 1> awaited = {server_address(0)};
        error = node.receive(never, awaited, "pull").error();
      });
    }
    run.coordinator->vanish();
    for (size_t i = 0; i < 2; ++i) {
      run.members[i]->join();
      CHECK(errors[i].code == Code::aborted);
      const EndMessage end = run.members[i]->wait_for_end();
      CHECK(end.code == Code::peer_lost);
      CHECK_THAT(end.message, Contains("server 0") && Contains(run.members[i]->cluster->url()));
      CHECK_THAT(end.message, Contains("--resume"));
      CHECK(errors[i].message == end.message);
    }
  }
}

TEST_CASE("a member that is interrupted leaves the run to the others") {
  TestRun run("tcp", {1, 1});
  run.members[0]->cluster->stop({Code::interrupted, false, "interrupted"});
  CHECK(run.members[0]->wait_for_end().code == Code::interrupted);
  run.members[0]->vanish();
  REQUIRE(run.coordinator->wait_for_size(1));
  CHECK_FALSE(run.coordinator->cluster->end());
}

TEST_CASE("an interrupted coordinator ends the run on all hosts") {
  TestRun run("tcp", {1, 1});
  run.coordinator->cluster->stop({Code::interrupted, false, "interrupted"});
  for (TestProcess* process : run.all) CHECK(process->wait_for_end().code == Code::interrupted);
}

TEST_CASE("a late host joins an elastic run and all processes get the new table") {
  TestProcess coordinator(TestProcess::coordinator(any_url("tcp"), 1, 1, 3));
  REQUIRE(coordinator.start().ok());
  CHECK(coordinator.cluster->membership()->size() == 1);
  TestProcess late(TestProcess::member(coordinator.cluster->bound_url(), 2, 101));
  REQUIRE(late.start().ok());
  CHECK(late.cluster->membership()->epoch() == 2);
  CHECK(late.cluster->local_workers() == std::vector<NodeId>{1, 2});
  REQUIRE(coordinator.wait_for_size(3));
  CHECK(coordinator.nodes[0]->refresh());
  // The new worker is reached at once.
  REQUIRE(coordinator.nodes[0]->port().send(make_frame(Kind::test, 0, worker_address(2), 4)).ok());
  CHECK(late.nodes[1]->receive([](const Frame& f) { return f.tag == 4; }, {}, "x", late.clock.now() + kPatience).ok());
}

TEST_CASE("the processes of an isolate host make one host with one worker each") {
  ClusterConfig parent = TestProcess::coordinator(any_url("ipc"), 0, 1, 1);
  parent.self.group_size = 3;
  TestProcess coordinator(parent);
  REQUIRE(coordinator.cluster->open().ok());
  std::vector<std::unique_ptr<TestProcess>> children;
  for (uint32_t index = 1; index < 3; ++index) {
    ClusterConfig child = TestProcess::member(coordinator.cluster->bound_url(), 1, 1);
    child.self.group_size = 3;
    child.self.group_index = index;
    children.push_back(std::make_unique<TestProcess>(child));
    REQUIRE(children.back()->cluster->open().ok());
  }
  REQUIRE(coordinator.start_nodes().ok());
  CHECK(coordinator.nodes.empty());
  for (uint32_t i = 0; i < 2; ++i) {
    REQUIRE(children[i]->start_nodes().ok());
    REQUIRE(children[i]->nodes.size() == 1);
    CHECK(children[i]->nodes[0]->rank() == i);
  }
  children[0]->vanish();
  REQUIRE(coordinator.wait_for_size(1));
  children[1]->vanish();
  CHECK(coordinator.wait_for_end().code == Code::peer_lost);
}

TEST_CASE("a host without the script gets it from the coordinator, with its modules") {
  const TempDir folder;
  folder.write("coordinator/job.lua", "require 'rules'");
  folder.write("coordinator/rules.lua", "return 'rules'");
  folder.write("coordinator/bar.lua", "return 'bar'");
  folder.write("other/job.lua", "require 'rules'");
  folder.write("other/rules.lua", "return 'rules'");
  folder.write("other/bar.lua", "return 'changed'");
  TestProcess coordinator(TestProcess::coordinator(any_url("tcp"), 1, 3, 3), "");
  REQUIRE(coordinator.job.open(folder / "coordinator/job.lua").ok());
  REQUIRE(coordinator.cluster->open().ok());
  TestProcess agent(TestProcess::member(coordinator.cluster->bound_url(), 1, 101), "");
  REQUIRE(agent.cluster->open().ok());
  CHECK(agent.job.text() == "require 'rules'");
  CHECK(agent.job.name() == "job.lua");
  TestProcess copy(TestProcess::member(coordinator.cluster->bound_url(), 1, 102), "");
  REQUIRE(copy.job.open(folder / "other/job.lua").ok());
  REQUIRE(copy.cluster->open().ok());
  REQUIRE(coordinator.start_nodes().ok());
  REQUIRE(agent.start_nodes().ok());
  REQUIRE(copy.start_nodes().ok());
  for (TestProcess* process : {&coordinator, &agent, &copy}) {
    const auto rules = required(process->nodes[0]->find_source("rules"));
    CHECK(rules->text == "return 'rules'");
    CHECK(rules->chunk == "rules.lua");
    CHECK(process->nodes[0]->find_source("nothing").error().code == Code::bad_argument);
  }
  CHECK(agent.nodes[0]->find_source("bar")->text == "return 'bar'");
  const auto differs = copy.nodes[0]->find_source("bar");
  CHECK(failure_of(differs).code == Code::refused);
  CHECK_THAT(failure_of(differs).message, Contains("module 'bar' on member102 differs"));
  CHECK_FALSE(agent.nodes[0]->find_source(std::string(size_t{8} << 20, 'x')).ok());
  CHECK_FALSE(agent.cluster->end());
}

TEST_CASE("too few hosts in time ends the run on the present hosts") {
  ClusterConfig config = TestProcess::coordinator(any_url("tcp"), 1, 3, 3);
  config.coordinator.rendezvous.timeout = 3;
  TestProcess coordinator(config);
  REQUIRE(coordinator.cluster->open().ok());
  TestProcess member(TestProcess::member(coordinator.cluster->bound_url(), 1, 101));
  REQUIRE(member.cluster->open().ok());
  for (TestProcess* process : {&coordinator, &member}) {
    const Status started = process->cluster->wait_for_start();
    CHECK(failure_of(started).code == Code::timeout);
    CHECK_THAT(failure_of(started).message, Contains("2 of 3 hosts"));
  }
}

TEST_CASE("two hosts that accept no connections and need each other get an error, not a hang", "[deep]") {
  ClusterConfig impatient = TestProcess::coordinator(any_url("tcp"), 1, 3, 3);
  impatient.coordinator.times = {};  // a needed link has as long as a heartbeat
  TestProcess coordinator(impatient);
  REQUIRE(coordinator.cluster->open().ok());
  std::vector<std::unique_ptr<TestProcess>> members;
  for (uint64_t i = 1; i < 3; ++i) {
    ClusterConfig config = TestProcess::member(coordinator.cluster->bound_url(), 1, 100 + i);
    config.listen_url.clear();
    members.push_back(std::make_unique<TestProcess>(config));
    REQUIRE(members.back()->cluster->open().ok());
  }
  REQUIRE(coordinator.start_nodes().ok());
  for (const auto& member : members) REQUIRE(member->start_nodes().ok());
  REQUIRE(members[0]->nodes[0]->port().send(make_frame(Kind::test, 0, worker_address(2), 1)).ok());
  const EndMessage end = members[1]->wait_for_end();
  CHECK(end.code == Code::peer_lost);
  CHECK_THAT(end.message, Contains("has dropped member102") && Contains("member101"));
  REQUIRE(members[0]->wait_for_size(2));
}

TEST_CASE("closing at any moment is safe, also under traffic and while others dial") {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    INFO("seed " << seed);
    Rng rng(seed);
    TestRun run(seed % 2 == 0 ? "tcp" : "ipc", {1, 1, 1, 1});
    for (TestProcess* process : run.all) {
      process->launch([](Node& node) {
        const uint32_t size = node.membership().size();
        for (uint32_t i = 0; node.check().ok(); ++i) {
          const NodeId to = (node.index() + 1 + i % (size - 1)) % size;
          if (!node.port().send(make_frame(Kind::test, 0, worker_address(to), i, {}, Blob::allocate(10000)),
                                node.clock().now() + 0.05) &&
              node.cluster().end()) {
            break;
          }
          std::vector<Frame> taken;
          (void)node.port().receive_all([](const Frame&) { return true; }, 0, taken);
        }
      });
    }
    std::vector<size_t> order = {0, 1, 2, 3};
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
    for (const size_t i : order) run.all[i]->vanish();
  }
}
