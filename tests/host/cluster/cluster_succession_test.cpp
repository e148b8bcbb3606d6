// A run of several Clusters over real sockets whose coordinator fails.

#include <chrono>

#include <unistd.h>

#include "host/base/random.hpp"
#include "tests/host/cluster/test_process.hpp"
#include "tests/test.hpp"

namespace {

/// All of these processes know that the run outlives its coordinator.
void outlive(TestRun& run) {
  run.members.back()->cluster->outlive_coordinator();
  for (TestProcess* process : run.all) {
    if (process != run.coordinator.get()) REQUIRE(process->wait_for_log("workers are peers"));
  }
}

/// A frame from each member's first node to each other member's.
void talk(const std::vector<TestProcess*>& members) {
  for (TestProcess* from : members) {
    for (TestProcess* to : members) {
      if (from == to) continue;
      REQUIRE(from->nodes[0]->port().send(make_frame(Kind::test, 0, to->nodes[0]->address(), 5)).ok());
      const auto got = to->nodes[0]->receive([](const Frame& f) { return f.kind == Kind::test; }, {}, "test",
                                             to->clock.now() + kPatience);
      REQUIRE(got.ok());
      CHECK(got->src == from->nodes[0]->address());
    }
  }
}

}  // namespace

TEST_CASE("a run that does not outlive its coordinator ends with it") {
  TestRun run("tcp", {1, 1, 1});
  run.coordinator->vanish();
  for (const auto& member : run.members) {
    const EndMessage end = member->wait_for_end();
    CHECK(end.code == Code::peer_lost);
    CHECK_THAT(end.message, Contains("lost server 0 and the coordinator at"));
  }
}

TEST_CASE("the coordinators of a run fail one after the other, and the rest continues") {
  const std::string scheme = GENERATE("tcp", "ipc");
  const bool linked = GENERATE(true, false);  // before the first coordinator fails
  INFO(scheme << (linked ? ", linked" : ""));
  TestRun run(scheme, {1, 2, 1, 1});
  outlive(run);
  std::vector<TestProcess*> live = {run.members[0].get(), run.members[1].get(), run.members[2].get()};
  if (linked) talk(live);
  run.coordinator->vanish();
  for (uint32_t size = 4; size > 0; size -= size == 4 ? 2 : 1) {
    const ProcessId coordinator = live[0]->cluster->process();
    for (TestProcess* process : live) {
      REQUIRE(process->wait_for_size(size));
      REQUIRE(process->wait([&] { return process->cluster->coordinator() == coordinator; }));
      CHECK(process->cluster->is_coordinator() == (process == live[0]));
      CHECK_FALSE(process->cluster->end().has_value());
      CHECK(process->nodes[0]->whereabouts().ok());
    }
    talk(live);
    for (TestProcess* process : live) {
      CHECK(pack(*process->cluster->membership()) == pack(*live[0]->cluster->membership()));
    }
    if (live.size() == 1) break;
    live[0]->vanish();
    live.erase(live.begin());
  }
  live[0]->cluster->report_ended(live[0]->nodes[0]->index(), 0);
  CHECK(live[0]->wait_for_end().ok);
}

TEST_CASE("hosts that die with the coordinator are lost at once, not after the timeout of the failure detector") {
  for (int round = 0; round < 10; ++round) {
    TestRun run("tcp", {1, 1, 1, 1, 1});
    outlive(run);
    const std::vector<TestProcess*> live = {run.members[0].get(), run.members[1].get()};
    talk({live[0], live[1], run.members[2].get(), run.members[3].get()});
    const double began = live[0]->clock.now();
    std::thread first([&] { run.coordinator->vanish(); });
    run.members[2]->vanish();
    run.members[3]->vanish();
    first.join();
    for (TestProcess* process : live) REQUIRE(process->wait_for_size(2));
    CHECK(live[0]->clock.now() - began < 2);
  }
}

TEST_CASE("the last host continues, also if the next coordinator dies before it commits its first table") {
  const uint64_t seed = Catch::rngSeed() != 0 ? Catch::rngSeed() : static_cast<uint64_t>(::getpid());
  INFO("seed " << seed);
  Rng rng(seed);
  for (int round = 0; round < 20; ++round) {
    TestRun run("tcp", {1, 1, 1, 1});
    outlive(run);
    TestProcess& last = *run.members[2];
    talk({run.members[0].get(), run.members[1].get(), &last});
    const std::chrono::milliseconds pause(rng.below(20));
    INFO("round " << round << ", the third host dies " << pause.count() << " ms after the first two");
    std::thread first([&] { run.coordinator->vanish(); });
    std::thread second([&] {
      std::this_thread::sleep_for(pause);
      run.members[1]->vanish();
    });
    run.members[0]->vanish();
    first.join();
    second.join();
    REQUIRE(last.wait_for_size(1));
  }
}

TEST_CASE("a pending request to a lost coordinator is sent to the next one") {
  TestRun run("tcp", {1, 1, 1});
  outlive(run);
  // The coordinator would reply once all have entered the action, which its own worker never does.
  std::array<std::optional<Status>, 2> started;
  for (size_t i = 0; i < 2; ++i) {
    run.members[i]->launch([&, i](Node& node) {
      const auto entered = node.enter_action("peer.run", "job.lua:1");
      started[i] = entered ? node.start_servers(entered->index) : Status(entered.error());
    });
  }
  REQUIRE(run.coordinator->wait([&] {
    const auto where = run.members[0]->cluster->membership();
    return where->size() == 3;
  }));
  run.coordinator->vanish();
  for (const auto& member : run.members) {
    member->join();
    CHECK(member->nodes[0]->actions() <= 1);
  }
  for (const auto& status : started) {
    REQUIRE(status.has_value());
    REQUIRE_FALSE(status->ok());
    CHECK_THAT(status->error().message, Contains("the coordinator is lost, and without it only actor.peer continues"));
  }
  // Their own actions continue from the same number.
  for (const auto& member : run.members) {
    const auto next = member->nodes[0]->enter_action("peer.run", "job.lua:2");
    INFO((next ? "" : next.error().message));
    CHECK(next.ok());
    CHECK(failure_of(member->nodes[0]->enter_action("param.run", "job.lua:3")).code == Code::peer_lost);
  }
}

TEST_CASE("a script's error that the lost coordinator may not have received ends the run") {
  TestRun run("tcp", {1, 1, 1});
  outlive(run);
  std::atomic<bool> reported{false};
  run.members[1]->when_changed([&] {
    // On the service thread, while there is no coordinator.
    if (run.members[1]->cluster->coordinator() == kNoProcess && !reported.exchange(true)) {
      run.members[1]->cluster->report_error(worker_address(2), {Code::script, false, "boom", worker_address(2)});
    }
  });
  run.coordinator->vanish();
  for (const auto& member : run.members) CHECK(member->wait_for_end().message == "boom");
  run.members[1]->when_changed({});
}

TEST_CASE("a host joins through a member, before and after the coordinator has failed") {
  TestProcess coordinator(TestProcess::coordinator(any_url("tcp"), 1, 2, 5));
  REQUIRE(coordinator.cluster->open().ok());
  TestProcess second(TestProcess::member(coordinator.cluster->bound_url(), 1, 101));
  REQUIRE(second.cluster->open().ok());
  REQUIRE((coordinator.start_nodes().ok() && second.start_nodes().ok()));
  TestProcess third(TestProcess::member(second.cluster->bound_url(), 1, 102));
  REQUIRE(third.start().ok());
  CHECK(third.cluster->url() == coordinator.cluster->bound_url());
  second.cluster->outlive_coordinator();
  REQUIRE(third.wait_for_log("workers are peers"));
  coordinator.vanish();
  REQUIRE(third.wait_for_size(2));
  TestProcess fourth(TestProcess::member(third.cluster->bound_url(), 2, 103));
  REQUIRE(fourth.start().ok());
  CHECK(fourth.cluster->coordinator() == second.cluster->process());
  CHECK(fourth.cluster->outlives_coordinator());
  for (TestProcess* process : {&second, &third, &fourth}) REQUIRE(process->wait_for_size(4));
  talk({&second, &third, &fourth});
  second.vanish();
  REQUIRE(fourth.wait_for_size(3));
  CHECK(fourth.cluster->coordinator() == third.cluster->process());
  third.vanish();
  REQUIRE(fourth.wait_for_size(2));
  CHECK(fourth.cluster->is_coordinator());
}

TEST_CASE("a host that does not take over in time is skipped, and each part continues") {
  TestRun run("tcp", {1, 1, 1, 1}, {.heartbeat = 0.05, .suspect = 0.2, .dead = 0.5});
  outlive(run);
  // Process 1 does nothing: its service thread is kept busy.
  std::atomic<bool> busy{true};
  std::atomic<bool> held{false};
  run.members[0]->when_changed([&] {
    held = true;
    while (busy) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  run.coordinator->vanish();
  REQUIRE(run.members[2]->wait([&] { return run.members[2]->cluster->coordinator() == 2; }));
  for (size_t i : {1, 2}) REQUIRE(run.members[i]->wait_for_size(2));
  REQUIRE(held);
  busy = false;
  run.members[0]->when_changed({});
  // It detects that the others have dropped it: it did not run.
  REQUIRE(run.members[0]->wait([&] {
    return run.members[0]->cluster->end().has_value() || run.members[0]->cluster->membership()->size() == 1;
  }));
  talk({run.members[1].get(), run.members[2].get()});
}
