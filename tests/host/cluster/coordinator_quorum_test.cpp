// A Coordinator of a run of peers: its decisions with and without a majority.

#include "tests/host/cluster/coordinator_world.hpp"
#include "tests/test.hpp"

namespace {

/// The coordinator and this many further hosts with a worker each; one worker has become a peer.
struct Peers {
  explicit Peers(uint32_t hosts) : world({hosts, hosts, 60, 0.5}) {
    REQUIRE(world.coordinator->join_self(world.message(1, "coordinator"), 0).ok());
    for (uint32_t i = 1; i < hosts; ++i) links.push_back(world.join(1, "host" + std::to_string(i)));
    REQUIRE(world.tables.size() == 1);
    world.deliver(links.front(), cluster_kind::outlive, service_address(1), 0);
    world.reply_to_renewals();
    REQUIRE(in_charge());
  }
  bool in_charge() const { return world.leased_until > world.now; }
  uint32_t size() const { return world.coordinator->membership().size(); }
  void pass(double seconds, const std::set<ProcessId>& silent = {}) {
    for (double left = seconds; left > 1e-9; left -= 0.25) {
      world.now += 0.25;
      world.record_heartbeats(silent);
      world.coordinator->tick(world.now, 0);
      world.reply_to_renewals();
      if (!world.ends.empty()) return;
    }
  }
  void close(ProcessId process) {
    world.coordinator->on_link_down(links.at(process - 1), "closed by the peer", world.now);
    world.reply_to_renewals();
  }
  void prove(ProcessId process, bool dead) { prove(process, dead ? PortState::closed : PortState::open); }
  void prove(ProcessId process, PortState port) {
    world.coordinator->on_proof(process, port, world.now);
    world.reply_to_renewals();
  }

  CoordinatorWorld world;
  std::vector<LinkId> links;
};

}  // namespace

TEST_CASE("a coordinator with a majority drops a silent process after 4 s") {
  Peers run(3);
  run.world.mute = {1};
  run.pass(3.75, {1});
  CHECK(run.in_charge());
  CHECK(run.size() == 3);
  run.pass(0.5, {1});
  CHECK(run.size() == 2);
  CHECK(run.in_charge());
}

TEST_CASE("a coordinator without a majority loses its lease, drops no process, names the missing workers and ends") {
  const uint32_t hosts = GENERATE(2U, 3U, 4U, 5U, 8U);
  Peers run(hosts);
  // half or more are silent
  for (ProcessId process = 1; process <= hosts / 2; ++process) run.world.mute.insert(process);
  if (hosts % 2 == 1) run.world.mute.insert(hosts / 2 + 1);
  const std::set<ProcessId> silent = run.world.mute;
  INFO(hosts << " hosts, " << silent.size() << " silent");
  run.pass(2, silent);
  CHECK_FALSE(run.in_charge());
  run.pass(20, silent);
  CHECK(run.size() == hosts);
  CHECK(run.world.logged("which is no majority; missing: rank 1 (worker 1 on host1)"));
  CHECK(run.world.ends.empty());
  run.pass(15, silent);
  REQUIRE(run.world.ends.size() == 1);
  CHECK(run.world.ends[0].code == Code::peer_lost);
  CHECK(run.size() == hosts);
}

TEST_CASE("a coordinator whose processes send again before it ends continues with all of them") {
  Peers run(4);
  run.world.mute = {1, 2};
  run.pass(20, {1, 2});
  CHECK_FALSE(run.in_charge());
  run.world.mute = {};
  run.pass(1);
  CHECK(run.in_charge());
  CHECK(run.size() == 4);
  CHECK(run.world.logged("a majority of the run's workers can be reached again"));
}

TEST_CASE("processes that are proved dead do not count, so the last one continues") {
  Peers run(3);
  run.close(1);
  CHECK(run.size() == 2);  // two of three have accepted it
  run.close(2);
  CHECK(run.size() == 2);  // the other may continue with another coordinator
  CHECK(run.world.to_prove == std::vector<ProcessId>{1, 2});
  SECTION("it is dead") {
    run.prove(2, true);
    CHECK(run.size() == 1);
    CHECK(run.in_charge());
  }
  SECTION("it is alive") {
    run.prove(2, false);
    REQUIRE(run.world.ends.size() == 1);
    CHECK(run.world.ends[0].code == Code::peer_lost);
  }
  SECTION("its proof is late, but it was no majority alone") {
    run.pass(5, {1, 2});
    run.prove(2, true);
    CHECK(run.size() == 1);
    CHECK(run.in_charge());
  }
  SECTION("its port does not reply, so the coordinator tries again") {
    run.prove(2, PortState::unknown);
    CHECK(run.world.ends.empty());
    run.pass(1, {1, 2});
    CHECK(run.world.to_prove == std::vector<ProcessId>{1, 2, 2});
    run.prove(2, true);
    CHECK(run.size() == 1);
  }
}

TEST_CASE("a run does not end while a dropped process could take the end for failures") {
  Peers run(3);
  run.close(2);
  REQUIRE(run.size() == 2);
  run.world.ended(0, 0, 0);
  run.world.ended(run.links[0], 1, 0);
  CHECK(run.world.ends.empty());
  SECTION("until the process is proved dead") {
    run.prove(2, true);
    CHECK(run.world.ends.size() == 1);
  }
  SECTION("until its lease ended 2 s ago") {
    run.prove(2, false);
    run.pass(kCoordinatorLease + kProofHolds - 0.25);
    CHECK(run.world.ends.empty());
    CHECK(run.world.to_prove == std::vector<ProcessId>{2, 2});
    run.pass(0.25);
    CHECK(run.world.ends.size() == 1);
  }
  REQUIRE(run.world.ends.size() == 1);
  CHECK(run.world.ends[0].ok);
}

TEST_CASE("a late proof does not count if the others may have continued without this coordinator") {
  Peers run(3);
  run.world.mute = {1, 2};
  run.pass(8, {1, 2});
  run.close(1);
  run.close(2);
  run.prove(1, true);
  CHECK(run.world.ends.empty());
  run.prove(2, true);
  CHECK(run.size() == 3);
  CHECK_FALSE(run.in_charge());
  REQUIRE(run.world.ends.size() == 1);  // nothing can make a majority again
  CHECK(run.world.ends[0].code == Code::peer_lost);
}

TEST_CASE("processes that die before they have accepted the table without each other do not count") {
  Peers run(3);
  run.world.mute = {1, 2};
  run.close(1);
  run.close(2);
  CHECK(run.size() == 3);
  run.prove(2, true);
  run.prove(1, true);
  CHECK(run.size() == 1);
  CHECK(run.in_charge());
  CHECK(run.world.ends.empty());
}

TEST_CASE("a lost process that still counts is proved dead, so the last one continues") {
  Peers run(4);
  run.world.mute = {1, 2, 3};
  run.close(1);
  run.prove(1, false);  // its port was still open
  run.close(2);
  run.close(3);
  run.prove(2, true);
  CHECK(run.world.to_prove == std::vector<ProcessId>{1, 2, 3, 1});
  run.prove(3, true);
  CHECK(run.world.ends.empty());
  SECTION("it is dead") {
    run.prove(1, true);
    CHECK(run.in_charge());
    CHECK(run.size() == 1);
    CHECK(run.world.ends.empty());
  }
  SECTION("it is alive") {
    run.world.now += kCoordinatorLease + kProofHolds;
    run.prove(1, false);
    CHECK(run.world.ends.size() == 1);
  }
}

TEST_CASE("a late worker counts once it is a peer, and a worker that leaves no longer counts") {
  CoordinatorWorld world({1, 3, 60, 0.5});
  REQUIRE(world.coordinator->join_self(world.message(1, "coordinator"), 0).ok());
  world.pass(1);
  world.deliver(0, cluster_kind::outlive, service_address(0), 0);
  const LinkId late = world.join(1, "late");
  world.pass(0.1);
  CHECK(world.coordinator->membership().size() == 2);
  CHECK(world.leased_until == kForever);  // the one counted worker is present
  world.deliver(late, cluster_kind::participation, worker_address(1), 1);
  world.pass(0.25);
  world.pass(0.25);
  CHECK(world.leased_until < kForever);
  CHECK(world.leased_until > world.now);
  world.deliver(late, cluster_kind::participation, worker_address(1), 0);
  world.pass(0.25);
  world.pass(0.25);
  CHECK(world.leased_until == kForever);
}
