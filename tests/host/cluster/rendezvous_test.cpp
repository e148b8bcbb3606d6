#include "host/cluster/coordinator/rendezvous.hpp"

#include "host/base/random.hpp"
#include "tests/host/cluster/coordinator_world.hpp"
#include "tests/test.hpp"

namespace {

JoinMessage host(uint64_t group, uint32_t nodes = 1, int32_t node_rank = -1) {
  JoinMessage join;
  join.host = "host" + std::to_string(group);
  join.group = group;
  join.nodes = nodes;
  join.node_rank = node_rank;
  return join;
}

JoinMessage host_part(uint64_t group, uint32_t size, uint32_t index, uint32_t nodes = 1) {
  JoinMessage join = host(group, nodes);
  join.group_size = size;
  join.group_index = index;
  return join;
}

std::vector<ProcessId> homes(const Rendezvous::Admission& admission) {
  std::vector<ProcessId> list;
  for (const Member& member : admission.workers) list.push_back(member.process);
  return list;
}

std::string why_not(const Status& status) {
  if (status.ok()) return "accepted";
  CHECK(status.error().code == Code::refused);
  return status.error().message;
}

}  // namespace

TEST_CASE("a run of fixed size starts with its last host, at once") {
  Rendezvous gathering(fixed(3), 0);
  REQUIRE(gathering.add(0, host(10, 2), 0).ok());
  REQUIRE(gathering.add(1, host(11, 1), 1).ok());
  CHECK_FALSE(gathering.admit(50));
  CHECK(gathering.hosts() == 2);
  REQUIRE(gathering.add(2, host(12, 3), 51).ok());
  const auto admitted = gathering.admit(51);
  REQUIRE(admitted);
  CHECK(homes(*admitted) == std::vector<ProcessId>{0, 0, 1, 2, 2, 2});
  for (NodeId id = 0; id < 6; ++id) CHECK(admitted->workers[id].id == id);
  CHECK(admitted->processes == std::vector<ProcessId>{0, 1, 2});
  CHECK(gathering.started());
  CHECK_FALSE(gathering.admit(52));
  CHECK_FALSE(gathering.overdue(1000));
}

TEST_CASE("an elastic run waits for more hosts for a grace time once there are enough") {
  Rendezvous gathering(elastic(2, 4), 0);
  REQUIRE(gathering.add(0, host(10), 0).ok());
  CHECK_FALSE(gathering.admit(10));
  REQUIRE(gathering.add(1, host(11), 10).ok());
  CHECK_FALSE(gathering.admit(10.4));
  REQUIRE(gathering.add(2, host(12), 10.4).ok());
  CHECK_FALSE(gathering.admit(10.49));
  const auto admitted = gathering.admit(10.5);
  REQUIRE(admitted);
  CHECK(admitted->workers.size() == 3);
}

TEST_CASE("a full elastic run does not wait for the grace time") {
  Rendezvous gathering(elastic(1, 2), 0);
  REQUIRE(gathering.add(0, host(10), 0).ok());
  CHECK_FALSE(gathering.admit(0.1));
  REQUIRE(gathering.add(1, host(11), 0.1).ok());
  CHECK(gathering.admit(0.1));
}

TEST_CASE("a host that leaves during the grace time cancels the start") {
  Rendezvous gathering(elastic(2, 4), 0);
  REQUIRE(gathering.add(0, host(10), 0).ok());
  REQUIRE(gathering.add(1, host(11), 1).ok());
  CHECK(gathering.remove(1).empty());
  CHECK_FALSE(gathering.admit(5));
  CHECK(gathering.overdue(60));
  REQUIRE(gathering.add(2, host(12), 61).ok());
  CHECK_FALSE(gathering.admit(61.4));
  CHECK(gathering.admit(61.5)->workers.size() == 2);
}

TEST_CASE("the processes of an isolate host count as one host and only when all have joined") {
  Rendezvous gathering(fixed(2), 0);
  REQUIRE(gathering.add(0, host_part(10, 3, 0, 0), 0).ok());
  REQUIRE(gathering.add(1, host(11), 0).ok());
  REQUIRE(gathering.add(2, host_part(10, 3, 2), 0).ok());
  CHECK(gathering.hosts() == 1);
  CHECK_FALSE(gathering.admit(1));
  REQUIRE(gathering.add(3, host_part(10, 3, 1), 1).ok());
  const auto admitted = gathering.admit(1);
  REQUIRE(admitted);
  // In the order of their places, not of their arrival; the parent belongs to the run without a worker.
  CHECK(homes(*admitted) == std::vector<ProcessId>{3, 2, 1});
  CHECK(std::set<ProcessId>(admitted->processes.begin(), admitted->processes.end()) == std::set<ProcessId>{0, 1, 2, 3});
}

TEST_CASE("a place in a host is taken once and all its processes agree on their number") {
  Rendezvous gathering(fixed(1), 0);
  REQUIRE(gathering.add(0, host_part(10, 3, 0), 0).ok());
  CHECK_THAT(why_not(gathering.add(1, host_part(10, 3, 0), 0)), Contains("place 0 of host host10 is taken"));
  CHECK_THAT(why_not(gathering.add(1, host_part(10, 2, 1), 0)), Contains("taken"));
  CHECK_THAT(why_not(gathering.add(1, host_part(10, 3, 3), 0)), Contains("impossible"));
  CHECK_THAT(why_not(gathering.add(1, host_part(11, 0, 0), 0)), Contains("impossible"));
  CHECK_THAT(why_not(gathering.add(1, host(11, 70000), 0)), Contains("impossible"));
  CHECK_THAT(why_not(gathering.add(1, host_part(11, kMaxNodes + 2, 0), 0)), Contains("impossible"));
  Rendezvous largest(fixed(1), 0);
  CHECK(largest.add(0, host_part(10, kMaxNodes + 1, 0), 0).ok());  // the nodes' processes and their parent
}

TEST_CASE("a host without nodes is refused, since a run of such hosts could never end") {
  Rendezvous gathering(fixed(1), 0);
  CHECK_THAT(why_not(gathering.add(0, host(10, 0), 0)), Contains("no nodes"));
  CHECK_THAT(why_not(gathering.add(0, host_part(10, 2, 1, 0), 0)), Contains("no nodes"));
  CHECK(gathering.add(0, host_part(10, 2, 0, 0), 0).ok());
}

TEST_CASE("ids follow node ranks, then arrival") {
  Rendezvous gathering(fixed(4), 0);
  REQUIRE(gathering.add(0, host(10, 1, -1), 0).ok());
  REQUIRE(gathering.add(1, host(11, 1, 2), 0).ok());
  REQUIRE(gathering.add(2, host(12, 1, 0), 0).ok());
  REQUIRE(gathering.add(3, host(13, 1, -1), 0).ok());
  CHECK(homes(*gathering.admit(0)) == std::vector<ProcessId>{2, 1, 0, 3});
}

TEST_CASE("a used node rank is refused and free again when its host has left") {
  Rendezvous gathering(fixed(3), 0);
  REQUIRE(gathering.add(0, host(10, 1, 1), 0).ok());
  CHECK_THAT(why_not(gathering.add(1, host(11, 1, 1), 0)), Contains("node rank 1 is already taken by host10"));
  gathering.remove(0);
  CHECK(gathering.add(1, host(11, 1, 1), 0).ok());
}

TEST_CASE("a host beyond the maximum is refused, until one leaves") {
  Rendezvous gathering(elastic(2, 3), 0);
  for (ProcessId p = 0; p < 3; ++p) REQUIRE(gathering.add(p, host(10 + p), 0).ok());
  CHECK_THAT(why_not(gathering.add(3, host(20), 0)), Contains("already has its 3 hosts"));
  REQUIRE(gathering.admit(0));
  CHECK_THAT(why_not(gathering.add(3, host(20), 1)), Contains("already has its 3 hosts"));
  gathering.remove(2);
  CHECK(gathering.add(3, host(20), 2).ok());
}

TEST_CASE("a late host gets unused ids, if the run is elastic") {
  Rendezvous gathering(elastic(1, 3), 0);
  REQUIRE(gathering.add(0, host(10, 2), 0).ok());
  REQUIRE(gathering.admit(1));
  REQUIRE(gathering.add(1, host(11, 2), 5).ok());
  const auto second = gathering.admit(5);
  REQUIRE(second);
  CHECK(second->workers[0].id == 2);
  CHECK(second->workers[1].id == 3);
  gathering.remove(1);
  REQUIRE(gathering.add(2, host(12, 1), 6).ok());
  CHECK(gathering.admit(6)->workers[0].id == 4);
}

TEST_CASE("a late isolate host is admitted when it is complete") {
  Rendezvous gathering(elastic(1, 2), 0);
  REQUIRE(gathering.add(0, host(10), 0).ok());
  REQUIRE(gathering.admit(1));
  REQUIRE(gathering.add(1, host_part(11, 2, 1), 2).ok());
  CHECK_FALSE(gathering.admit(2));
  REQUIRE(gathering.add(2, host_part(11, 2, 0), 3).ok());
  CHECK(homes(*gathering.admit(3)) == std::vector<ProcessId>{2, 1});
  CHECK_THAT(why_not(gathering.add(3, host_part(11, 2, 0), 4)), Contains("part of the run already"));
}

TEST_CASE("no host joins a run of fixed size after its start, not even in the place of one that left") {
  Rendezvous gathering(fixed(2), 0);
  REQUIRE(gathering.add(0, host(10), 0).ok());
  REQUIRE(gathering.add(1, host(11), 0).ok());
  REQUIRE(gathering.admit(0));
  CHECK(gathering.remove(1).empty());
  CHECK_THAT(why_not(gathering.add(2, host(12), 1)), Contains("not elastic") && Contains("--nnodes MIN:MAX"));
}

TEST_CASE("a host whose process leaves before it was admitted gives up its place and strands its others") {
  Rendezvous gathering(fixed(1), 0);
  REQUIRE(gathering.add(0, host_part(10, 3, 0), 0).ok());
  REQUIRE(gathering.add(1, host_part(10, 3, 1), 0).ok());
  CHECK(gathering.remove(1) == std::vector<ProcessId>{0});
  CHECK(gathering.hosts() == 0);
  CHECK(gathering.add(2, host(11), 1).ok());
  CHECK(gathering.remove(77).empty());
}

TEST_CASE("too few hosts in time is an error that names the present and the missing hosts") {
  Rendezvous gathering({3, 3, 60, 0.5}, 100);
  REQUIRE(gathering.add(0, host(10), 100).ok());
  REQUIRE(gathering.add(1, host_part(11, 4, 1), 100).ok());
  CHECK_FALSE(gathering.overdue(159.9));
  const auto overdue = gathering.overdue(160);
  REQUIRE(overdue);
  CHECK(overdue->code == Code::timeout);
  CHECK_THAT(overdue->message, Contains("1 of 3 hosts after 60 s") && Contains("host10, host11 (1 of 4 processes)"));
  CHECK_THAT(overdue->message, Contains("--nnodes") && Contains("--start-timeout"));
}

TEST_CASE("in whatever order 1 to 64 hosts arrive, ids are dense and follow the node ranks") {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    INFO("seed " << seed);
    Rng rng(seed);
    const auto count = static_cast<uint32_t>(1 + rng.below(64));
    std::vector<uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::vector<uint32_t> arrival(count);
    rng.sample(order, count, arrival.data());
    std::vector<uint32_t> nodes(count);
    for (uint32_t& n : nodes) n = static_cast<uint32_t>(1 + rng.below(4));
    Rendezvous gathering(fixed(count), 0);
    for (uint32_t i = 0; i < count; ++i) {
      REQUIRE_FALSE(gathering.admit(i));
      const uint32_t rank = arrival[i];
      REQUIRE(gathering.add(i, host(1000 + rank, nodes[rank], static_cast<int32_t>(rank)), i).ok());
    }
    const auto admitted = gathering.admit(count);
    REQUIRE(admitted);
    size_t at = 0;
    for (uint32_t rank = 0; rank < count; ++rank) {
      const auto process = static_cast<ProcessId>(std::find(arrival.begin(), arrival.end(), rank) - arrival.begin());
      for (uint32_t i = 0; i < nodes[rank]; ++i, ++at) {
        REQUIRE(admitted->workers.at(at).id == at);
        REQUIRE(admitted->workers[at].process == process);
      }
    }
    CHECK(admitted->workers.size() == at);
  }
}
