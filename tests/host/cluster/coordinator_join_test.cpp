// How processes join a run and leave it: Coordinator driven by hand.

#include "tests/host/cluster/coordinator_world.hpp"
#include "tests/test.hpp"

namespace {

/// The coordinator's own process has joined with `nodes` workers.
struct JoinWorld : CoordinatorWorld {
  explicit JoinWorld(RendezvousConfig hosts, uint32_t nodes = 1, const std::string& script = "return 1")
      : CoordinatorWorld(hosts, script) {
    REQUIRE(coordinator->join_self(message(nodes, "coordinator"), now).ok());
    coordinator->tick(now, 0);
  }
};

JoinMessage part(CoordinatorWorld& world, uint64_t group, uint32_t size, uint32_t index, uint32_t nodes = 1) {
  JoinMessage join = world.message(nodes);
  join.group = group;
  join.group_size = size;
  join.group_index = index;
  return join;
}

Membership table_of(const Frame* frame) {
  REQUIRE(frame != nullptr);
  auto table = required(unpack<Membership>(frame->body.view()));
  return *table;
}

EndMessage end_of(const SentFrames& sent) {
  const Frame* frame = sent.last(cluster_kind::stop);
  REQUIRE(frame != nullptr);
  auto end = required(unpack<EndMessage>(frame->meta.view()));
  return *end;
}

}  // namespace

TEST_CASE("a coordinator that needs no other host starts at once with its own workers") {
  JoinWorld world(fixed(1), 3);
  REQUIRE(world.tables.size() == 1);
  CHECK(world.tables[0]->epoch() == 1);
  CHECK(world.tables[0]->size() == 3);
  CHECK(world.tables[0]->process(0)->host == "coordinator");
  CHECK(world.ends.empty());
}

TEST_CASE("a joining host is welcomed with its number, the script, the settings and the arguments") {
  JoinWorld world(fixed(2), 1, "print(1)");
  CHECK(world.tables.empty());
  const LinkId link = world.join(2);
  const Frame* frame = world.link(link).last(cluster_kind::welcome);
  REQUIRE(frame != nullptr);
  CHECK(frame->body.view() == "print(1)");
  const auto welcome = required(unpack<WelcomeMessage>(frame->meta.view()));
  CHECK(welcome->process == 1);
  CHECK(welcome->run_id == "run");
  CHECK(welcome->job_name == "job.lua");
  CHECK(welcome->job_hash == source_hash("print(1)"));
  CHECK(welcome->settings.at("barrier") == "bsp");
  CHECK(welcome->args == std::vector<std::string>{"one", "two"});
  // The table follows the welcome and is the same on both sides.
  CHECK(world.link(link).frames.back().kind == cluster_kind::membership);
  CHECK(pack(table_of(world.link(link).last(cluster_kind::membership))) == pack(*world.tables.at(0)));
  CHECK(world.tables[0]->size() == 3);
}

TEST_CASE("a host that listens on every address is reached at the address of its connection") {
  JoinWorld world(fixed(4));
  const auto url_of = [&](const std::string& peer, const std::string& url) {
    world.peer = peer;
    JoinMessage join = world.message(1);
    join.url = url;
    return world.process(world.join(join));
  };
  const ProcessId v4 = url_of("10.0.0.7:40112", "tcp://0.0.0.0:5000");
  const ProcessId v6 = url_of("[fe80::1]:40112", "tls+tcp://[::]:5001");
  const ProcessId named = url_of("10.0.0.9:1", "tcp://127.0.0.1:5002");
  REQUIRE(world.tables.size() == 1);
  CHECK(world.tables[0]->process(v4)->url == "tcp://10.0.0.7:5000");
  CHECK(world.tables[0]->process(v6)->url == "tls+tcp://[fe80::1]:5001");
  CHECK(world.tables[0]->process(named)->url == "tcp://127.0.0.1:5002");
}

TEST_CASE("a host of another run, with another job, or too many is refused with the reason") {
  JoinWorld world(fixed(2));
  JoinMessage join = world.message(1);
  join.run_id = "other";
  CHECK_THAT(world.refusal(join, Code::mismatch),
             Contains("run 'other'") && Contains("'run'") && Contains("--rdzv-id"));
  join = world.message(1);
  join.job_hash ^= 1;
  CHECK_THAT(world.refusal(join), Contains("its copy of the job differs") && Contains("by hash"));
  CHECK_THAT(world.refusal(world.message(0)), Contains("no nodes"));
  CHECK(world.tables.empty());
  world.join(1);
  CHECK(world.tables.size() == 1);
  CHECK_THAT(world.refusal(world.message(1)), Contains("has started with 2 hosts and is not elastic"));
  CHECK(world.logged("refused"));
}

TEST_CASE("a host without a run id does not join a run with one") {
  JoinWorld world(fixed(2));
  JoinMessage join = world.message(1);
  join.run_id.clear();
  CHECK_THAT(world.refusal(join, Code::mismatch), Contains("a run without a name (--rdzv-id), this one is run 'run'"));
}

TEST_CASE("a host without a copy of the job is admitted") {
  JoinWorld world(fixed(2));
  JoinMessage join = world.message(1);
  join.job_hash = 0;
  join.job_name.clear();
  CHECK(world.refusal(join) == "welcomed");
}

TEST_CASE("an impossible join message is refused and harms no other process") {
  JoinWorld world(fixed(2));
  world.links[50];
  world.coordinator->on_frame(50, make_frame(cluster_kind::join, kNoAddress, kNoAddress, 0, "nonsense"), 0);
  REQUIRE(world.link(50).last(cluster_kind::refuse) != nullptr);
  CHECK(world.link(50).finished);
  CHECK(world.refusal(world.message(1)) == "welcomed");
}

TEST_CASE("differing flags are logged and the coordinator's apply") {
  JoinWorld world(fixed(2));
  JoinMessage join = world.message(1, "beta:9");
  join.settings = {{"barrier", "ssp:4"}, {"seconds", "20"}, {"seed", "7"}};
  const LinkId link = world.join(join);
  CHECK(
      world.logged("beta:9 was started with other flags, which it ignores: --barrier ssp:4 (here: bsp), --seconds 20 "
                   "(here: not given)"));
  const auto welcome = unpack<WelcomeMessage>(world.link(link).last(cluster_kind::welcome)->meta.view());
  CHECK(welcome->settings == std::map<std::string, std::string>{{"barrier", "bsp"}, {"seed", "7"}});
}

TEST_CASE("a second join on the same link does not make a second process") {
  JoinWorld world(fixed(3));
  const LinkId link = world.join(1);
  world.coordinator->on_frame(link, make_frame(cluster_kind::join, kNoAddress, kNoAddress, 0, pack(world.message(1))),
                              0);
  CHECK(world.processes.size() == 1);
  CHECK(world.link(link).count(cluster_kind::welcome) == 1);
}

TEST_CASE("too few hosts by the deadline ends the run everywhere") {
  JoinWorld world(fixed(3));
  const LinkId link = world.join(1);
  while (world.now < 59.5) world.beat(0.5);
  CHECK(world.ends.empty());
  world.beat(0.5);
  REQUIRE(world.ends.size() == 1);
  CHECK(world.ends[0].code == Code::timeout);
  CHECK_THAT(world.ends[0].message, Contains("2 of 3 hosts"));
  CHECK(end_of(world.link(link)).message == world.ends[0].message);
}

TEST_CASE("a host that leaves before the start frees its place") {
  JoinWorld world(fixed(2));
  JoinMessage slow = world.message(1);
  slow.group_size = 2;
  const LinkId first = world.join(slow);
  CHECK(world.tables.empty());
  world.coordinator->on_link_down(first, "closed by the peer", world.now);
  CHECK(world.logged("left before it was admitted: closed by the peer"));
  CHECK(world.ends.empty());
  world.join(1);
  REQUIRE(world.tables.size() == 1);
  CHECK(world.tables[0]->size() == 2);
}

TEST_CASE("when a process of an incomplete host is lost the others of that host are refused") {
  JoinWorld world(fixed(2));
  const LinkId a = world.join(part(world, 7, 3, 0));
  const LinkId b = world.join(part(world, 7, 3, 1));
  world.coordinator->on_link_down(a, "closed by the peer", world.now);
  CHECK_THAT(end_of(world.link(b)).message, Contains("another process of its host"));
  CHECK(world.processes.empty());
  CHECK(world.ends.empty());
}

TEST_CASE("when a process of the coordinator's own host is lost before the start the run ends") {
  CoordinatorWorld world(fixed(1));
  JoinMessage self = part(world, 7, 3, 0, 0);
  REQUIRE(world.coordinator->join_self(self, 0).ok());
  const LinkId child = world.join(part(world, 7, 3, 1));
  world.coordinator->on_link_down(child, "closed by the peer", world.now);
  REQUIRE(world.ends.size() == 1);
  CHECK(world.ends[0].code == Code::peer_lost);
  CHECK_THAT(world.ends[0].message, Contains("a process of this host, is lost: closed by the peer"));
}

TEST_CASE("a coordinator without its own workers runs those of its children") {
  CoordinatorWorld world(fixed(1));
  REQUIRE(world.coordinator->join_self(part(world, 7, 3, 0, 0), 0).ok());
  const LinkId second = world.join(part(world, 7, 3, 2));
  CHECK(world.tables.empty());
  const LinkId first = world.join(part(world, 7, 3, 1));
  REQUIRE(world.tables.size() == 1);
  CHECK(world.tables[0]->size() == 2);
  CHECK(world.tables[0]->process(0) != nullptr);
  CHECK(world.tables[0]->workers()[0].process == world.process(first));
  world.ended(first, 0, 0);
  CHECK(world.ends.empty());
  world.ended(second, 1, 0);
  REQUIRE(world.ends.size() == 1);
  CHECK(world.ends[0].ok);
}

TEST_CASE("an incomplete host is not in the table and does not receive it") {
  JoinWorld world(elastic(1, 3));
  const LinkId half = world.join(part(world, 7, 2, 0));
  world.beat(0.5);
  REQUIRE(world.tables.size() == 1);
  CHECK(world.tables[0]->process(world.process(half)) == nullptr);
  CHECK(world.link(half).count(cluster_kind::membership) == 0);
  const LinkId other = world.join(part(world, 7, 2, 1));
  REQUIRE(world.tables.size() == 2);
  for (const LinkId link : {half, other}) {
    CHECK(table_of(world.link(link).frames.data() + 1).rank_of(1));
    CHECK(world.link(link).count(cluster_kind::membership) == 1);
  }
}

TEST_CASE("an elastic run admits late hosts and sends all processes the table") {
  JoinWorld world(elastic(1, 3), 2);
  world.pass(0.5);
  REQUIRE(world.tables.size() == 1);
  const LinkId link = world.join(2, "late:1");
  REQUIRE(world.tables.size() == 2);
  CHECK(world.tables[1]->epoch() == 2);
  CHECK(world.tables[1]->size() == 4);
  CHECK(table_of(world.link(link).last(cluster_kind::membership)).epoch() == 2);
  CHECK(world.logged("2 workers joined, now 4"));
}

TEST_CASE("a host that joins a run of peers while a table is proposed gets no table without it") {
  JoinWorld world(elastic(3, 4));
  const LinkId dying = world.join(1);
  const LinkId slow = world.join(1);
  world.beat(0.5);
  world.deliver(slow, cluster_kind::outlive, service_address(world.process(slow)), 0);
  world.reply_to_renewals();
  world.mute.insert(world.process(slow));
  world.coordinator->on_link_down(dying, "closed by the peer", world.now);
  const size_t before = world.tables.size();
  const LinkId late = world.join(1);
  CHECK(world.tables.size() == before);
  world.mute.clear();
  world.reply_to_renewals();
  REQUIRE(world.tables.size() > before + 1);
  CHECK(world.tables[before]->process(world.process(late)) == nullptr);
  CHECK(world.link(late).count(cluster_kind::membership) == world.tables.size() - before - 1);
  CHECK(table_of(world.link(late).last(cluster_kind::membership)).process(world.process(late)) != nullptr);
}

TEST_CASE("a lost process leaves the table with its workers, and the run continues") {
  JoinWorld world(fixed(3));
  const LinkId a = world.join(2, "alpha:1");
  const LinkId b = world.join(1);
  REQUIRE(world.tables.size() == 1);
  world.coordinator->on_link_down(a, "closed by the peer", world.now);
  REQUIRE(world.tables.size() == 2);
  CHECK(world.tables[1]->epoch() == 2);
  CHECK(world.tables[1]->size() == 2);
  CHECK(world.tables[1]->rank_of(3) == 1U);
  CHECK(table_of(world.link(b).last(cluster_kind::membership)).size() == 2);
  CHECK(world.logged("lost alpha:1 (workers 1, 2): closed by the peer"));
  CHECK(world.ends.empty());
}

TEST_CASE("silence is suspicion first and then failure, which the failed process is notified of") {
  JoinWorld world(fixed(3));
  const LinkId a = world.join(1, "alpha:1");
  world.join(1, "beta:1");
  world.beat(0.25, 6, {world.process(a)});
  CHECK(world.logged("alpha:1 has been silent for over a second"));
  world.beat(0.25);
  CHECK(world.logged("alpha:1 sends again"));
  CHECK(world.tables.size() == 1);
  world.beat(0.25, 17, {world.process(a)});
  CHECK(world.tables.size() == 2);
  CHECK(world.processes.size() == 1);
  CHECK_THAT(end_of(world.link(a)).message, Contains("has dropped alpha:1: no heartbeat for 4 s"));
  CHECK(end_of(world.link(a)).code == Code::peer_lost);
  CHECK(world.link(a).finished);
}

TEST_CASE("a coordinator that did not run does not declare all others dead") {
  JoinWorld world(fixed(2));
  world.join(1);
  world.record_heartbeats();
  world.now += 100;
  world.coordinator->tick(world.now, 99.5);
  CHECK(world.tables.size() == 1);
  CHECK(world.ends.empty());
}

TEST_CASE("when the last worker is lost the run ends with the reason") {
  CoordinatorWorld world(fixed(1));
  REQUIRE(world.coordinator->join_self(part(world, 7, 2, 0, 0), 0).ok());
  const LinkId child = world.join(part(world, 7, 2, 1));
  REQUIRE(world.tables.size() == 1);
  world.coordinator->on_link_down(child, "closed by the peer", world.now);
  REQUIRE(world.ends.size() == 1);
  CHECK(world.ends[0].code == Code::peer_lost);
  CHECK_THAT(world.ends[0].message, Contains("all workers are lost") && Contains("closed by the peer"));
  CHECK(world.tables.size() == 1);
}

TEST_CASE("after the end joins are refused and losses are ignored") {
  JoinWorld world(fixed(2));
  const LinkId link = world.join(1);
  world.coordinator->stop({Code::interrupted, false, "interrupted"});
  CHECK(end_of(world.link(link)).code == Code::interrupted);
  REQUIRE(world.ends.size() == 1);
  world.lines.clear();
  world.coordinator->on_link_down(link, "closed by the peer", world.now);
  CHECK(world.lines.empty());
  CHECK_THAT(world.refusal(world.message(1)), Contains("the run is over"));
  world.coordinator->stop({Code::internal, true, {}});
  world.pass(1000);
  CHECK(world.ends.size() == 1);
  CHECK(world.tables.size() == 1);
}

TEST_CASE("a process whose links to most others are broken is dropped") {
  JoinWorld world(fixed(5));
  std::vector<LinkId> links;
  for (int i = 0; i < 4; ++i) links.push_back(world.join(1));
  // Process 2 has lost 1, 3 and 4; each pair is reported from both ends.
  const auto broken = [&](ProcessId from, ProcessId other) {
    world.deliver(links[from - 1], cluster_kind::link_broken, service_address(from), other);
  };
  for (const ProcessId other : {1U, 3U, 4U}) {
    broken(2, other);
    broken(other, 2);
  }
  world.beat(0.25, 15);
  CHECK(world.tables.size() == 1);
  world.beat(0.25);
  CHECK(world.dropped == std::set<ProcessId>{2});
  CHECK_THAT(end_of(world.link(links[1])).message, Contains("is broken"));
  world.beat(0.25, 20);
  CHECK(world.dropped.size() == 1);
}

TEST_CASE("of two processes that lost each other the later one is dropped, whichever reports") {
  for (const bool both : {false, true}) {
    JoinWorld world(fixed(3));
    const LinkId a = world.join(1);
    const LinkId b = world.join(1);
    world.deliver(b, cluster_kind::link_broken, service_address(2), 1);
    if (both) world.deliver(a, cluster_kind::link_broken, service_address(1), 2);
    world.beat(0.25, 17);
    CHECK(world.dropped == std::set<ProcessId>{2});
  }
}

TEST_CASE("of two processes that lost each other the one that the coordinator has suspected is dropped") {
  JoinWorld world(fixed(3));
  const LinkId a = world.join(1);
  world.join(1);
  for (int i = 0; i < 26; ++i) {
    if (i < 2 || i > 9) world.record_heartbeats();
    if (i >= 2 && i <= 9) world.coordinator->record_heartbeat(2, world.now);
    if (i == 9) world.deliver(a, cluster_kind::link_broken, service_address(1), 2);
    world.pass(0.25);
  }
  CHECK(world.dropped == std::set<ProcessId>{1});
}

TEST_CASE("a link that broke because its process died drops no other process") {
  JoinWorld world(fixed(3));
  const LinkId a = world.join(1);
  const LinkId b = world.join(1);
  world.deliver(a, cluster_kind::link_broken, service_address(1), 2);
  world.coordinator->on_link_down(b, "closed by the peer", world.now);
  world.deliver(a, cluster_kind::link_broken, service_address(1), 2);
  world.beat(0.25, 20);
  CHECK(world.dropped == std::set<ProcessId>{2});
}

TEST_CASE("no process can accuse the coordinator, or accuse in another's name") {
  JoinWorld world(fixed(3));
  const LinkId a = world.join(1);
  world.join(1);
  world.deliver(a, cluster_kind::link_broken, service_address(1), 0);
  world.deliver(a, cluster_kind::link_broken, service_address(1), 1);
  world.deliver(a, cluster_kind::link_broken, service_address(1), 99);
  world.deliver(a, cluster_kind::link_broken, service_address(2), 1);
  world.deliver(a, cluster_kind::link_broken, service_address(0), 1);
  world.beat(0.25, 20);
  CHECK(world.dropped.empty());
}

TEST_CASE("a request for a link reaches the process that has to dial") {
  JoinWorld world(fixed(3));
  const LinkId a = world.join(1);
  const LinkId b = world.join(1);
  world.deliver(a, cluster_kind::want_link, service_address(1), 2);
  const Frame* request = world.link(b).last(cluster_kind::want_link);
  REQUIRE(request != nullptr);
  CHECK(request->src == service_address(1));
  for (const uint32_t unknown : {0U, 1U, 7U, kNoProcess})
    world.deliver(a, cluster_kind::want_link, service_address(1), unknown);
  CHECK(world.link(a).count(cluster_kind::want_link) == 0);
  CHECK(world.link(b).count(cluster_kind::want_link) == 1);
}
