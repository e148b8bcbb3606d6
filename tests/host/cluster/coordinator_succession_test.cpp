// A Coordinator that takes over after a failed coordinator, driven by hand: attaching and missing processes, and their
// state.

#include "tests/host/cluster/coordinator_world.hpp"
#include "tests/test.hpp"

namespace {

/// Process 1 takes over from process 0: five processes with two workers each, hosts 2:6.
struct Succeeded : CoordinatorWorld {
  explicit Succeeded(ProcessId successor = 1) : CoordinatorWorld(elastic(2, 6)), self(successor) {
    CoordinatorConfig config;
    config.self = self;
    config.run_id = "run";
    config.rendezvous = elastic(2, 6);
    coordinator =
        std::make_unique<Coordinator>(std::move(config), job, log, static_cast<CoordinatorOutput&>(*this), now);
    std::vector<Member> workers;
    std::vector<ProcessInfo> infos;
    for (ProcessId i = 0; i < 5; ++i) {
      infos.push_back({i, "host" + std::to_string(i), "tcp://h:" + std::to_string(i)});
      workers.push_back({2 * i, i});
      workers.push_back({2 * i + 1, i});
    }
    if (self >= 5) {
      infos.push_back({self, "successor", "tcp://h:9"});
      workers.push_back({20, self});
      workers.push_back({21, self});
    }
    before = std::make_shared<const Membership>(7, workers, infos, 10);
    last = before->epoch();
  }
  void take_over(uint32_t actions = 0) {
    Quorum quorum;
    quorum.commit(before);
    quorum.exclude(0);
    coordinator->succeed({quorum, {0}, attach_of(self, actions), "closed"}, now);
  }

  AttachMessage attach_of(ProcessId process, uint32_t actions = 0, bool ended = false) {
    AttachMessage attach;
    attach.process = process;
    attach.lost = 0;
    attach.tables = {Membership(last, before->workers(), before->processes(), 10)};
    attach.self = message(2, "host" + std::to_string(process));
    const NodeId first = process < 5 ? 2 * process : 20;
    attach.workers = {{first, actions, ended}, {first + 1, actions, ended}};
    return attach;
  }
  LinkId attach(const AttachMessage& message) {
    const LinkId link = 100 + message.process;
    links[link];
    coordinator->on_attach(link, message, now);
    reply_to_renewals();
    return link;
  }
  std::vector<NodeId> ids() const {
    std::vector<NodeId> all;
    for (const Member& member : coordinator->membership().workers()) all.push_back(member.id);
    return all;
  }

  // A table may be sent before this coordinator has published as many.
  void send_on(LinkId link, Frame&& frame) override {
    prepared = tables.size() + 1;
    CoordinatorWorld::send_on(link, std::move(frame));
  }
  void publish(MembershipPtr membership) override { tables.push_back(std::move(membership)); }
  void drop(ProcessId process) override {
    departed.insert(process);
    processes.erase(process);
  }

  const ProcessId self;
  MembershipPtr before;
  uint64_t last = 0;
  std::set<ProcessId> departed;
};

/// The successor has taken over, with its workers in their action number `actions`.
struct TakenOver final : Succeeded {
  explicit TakenOver(uint32_t actions = 0, ProcessId successor = 1) : Succeeded(successor) { take_over(actions); }
};

uint64_t newest_epoch(const SentFrames& sent) {
  const Frame* frame = sent.last(cluster_kind::membership);
  REQUIRE(frame != nullptr);
  const auto table = required(unpack<Membership>(frame->body.view()));
  return table->epoch();
}

}  // namespace

TEST_CASE("a coordinator that takes over publishes a table without the lost process and with the next epoch") {
  TakenOver world;
  CHECK(world.tables.empty());  // no majority has accepted one
  world.attach(world.attach_of(3));
  CHECK(world.tables.empty());
  const LinkId link = world.attach(world.attach_of(2));
  REQUIRE(world.tables.size() == 1);
  CHECK(world.tables[0]->epoch() == 8);
  CHECK(world.tables[0]->founders() == 10);
  CHECK(world.ids() == std::vector<NodeId>{2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(world.logged("lost host0 (workers 0, 1): closed"));
  CHECK(world.link(link).count(cluster_kind::attached) == 1);
  CHECK(newest_epoch(world.link(link)) == 8);
}

TEST_CASE("a process that does not attach in time is lost, a process that attaches is not") {
  TakenOver world;
  const LinkId link = world.attach(world.attach_of(2));
  world.attach(world.attach_of(3));
  world.coordinator->linked(4, 104);
  world.pass(3.9);
  // 4 is alive, but continues with another coordinator
  for (const ProcessId process : {2, 3, 4}) world.coordinator->record_heartbeat(process, world.now);
  CHECK(world.ids().size() == 8);
  world.pass(0.2);
  CHECK(world.ids() == std::vector<NodeId>{2, 3, 4, 5, 6, 7});
  CHECK(world.departed == std::set<ProcessId>{0, 4});
  CHECK(newest_epoch(world.link(link)) == world.tables.back()->epoch());
}

TEST_CASE("all processes agree on an action's first value, also if the previous coordinator sent it to one of them") {
  TakenOver world(1);
  AttachMessage first = world.attach_of(2, 1);
  first.loss = 7;
  const LinkId link = world.attach(first);
  CHECK(world.link(link).last(cluster_kind::attached)->tag == 7);
  world.deliver(link, cluster_kind::action_agree, worker_address(4), 0, {}, Blob::copy_of("own"));
  CHECK(world.to_nodes[4].empty());  // other processes have yet to attach
  const LinkId other = world.attach(world.attach_of(3, 1));
  world.deliver(other, cluster_kind::action_done, service_address(3), 0, {}, Blob::copy_of("agreed"));
  world.attach(world.attach_of(4, 1));
  world.pass(0.3);
  REQUIRE(world.to_nodes[4].size() == 1);
  CHECK(world.to_nodes[4].back().body.view() == "agreed");
}

TEST_CASE("a process whose link breaks before it has attached is lost at once") {
  TakenOver world;
  for (const ProcessId process : {2, 3}) world.attach(world.attach_of(process));
  world.coordinator->linked(4, 104);
  world.coordinator->on_link_down(104, "reset", world.now);
  world.reply_to_renewals();
  CHECK(world.ids() == std::vector<NodeId>{2, 3, 4, 5, 6, 7});
}

TEST_CASE("a process with a newer table gets a still newer one, and so do all others") {
  TakenOver world;
  const LinkId first = world.attach(world.attach_of(2));
  world.last = 11;
  const LinkId second = world.attach(world.attach_of(3));
  CHECK(newest_epoch(world.link(first)) == 12);
  CHECK(newest_epoch(world.link(second)) == 12);
}

TEST_CASE("a process that only a newer table contains is admitted with its workers") {
  TakenOver world;
  for (const ProcessId process : {2, 3}) world.attach(world.attach_of(process));
  world.last = 8;
  AttachMessage late = world.attach_of(7);
  late.workers = {{30, 0, false}};
  const LinkId link = world.attach(late);
  CHECK(world.ids() == std::vector<NodeId>{2, 3, 4, 5, 6, 7, 8, 9, 30});
  CHECK(world.coordinator->membership().home_of(30) == 7);
  CHECK(newest_epoch(world.link(link)) == 9);
}

TEST_CASE("a process with impossible claims cannot attach") {
  TakenOver world;
  AttachMessage wrong = world.attach_of(2);
  SECTION("another's worker") { wrong.workers[0].id = 6; }
  SECTION("no worker's id") { wrong.workers[0].id = server_address(0); }
  SECTION("another run") { wrong.self.run_id = "other"; }
  const SentFrames& sent = world.link(world.attach(wrong));
  CHECK(sent.count(cluster_kind::attached) == 0);
  CHECK(sent.count(cluster_kind::refuse) == 1);
  CHECK(sent.finished);
}

TEST_CASE("ids that a later coordinator assigns are new, and differ from those of other coordinators") {
  std::set<NodeId> workers;
  for (const ProcessId self : {1U, 2U, 500U, 1023U, 1024U, 70'000U, (1U << 28) + 5}) {
    TakenOver world(0, self);
    for (const ProcessId process : {3, 4}) world.attach(world.attach_of(process));
    for (int i = 0; i < 2; ++i) {
      world.pass(2.5);  // the others do not attach
      for (const ProcessId process : {3, 4}) world.coordinator->record_heartbeat(process, world.now);
      world.pass(0);
    }
    for (int i = 0; i < 2; ++i) REQUIRE(world.refusal(world.message(2)) == "welcomed");
    world.reply_to_renewals();
    for (const NodeId id : world.ids()) {
      if (id >= 1U << 28) workers.insert(id);
    }
    CHECK(world.coordinator->membership().size() == 10);
    CHECK(world.coordinator->membership().is_valid());
  }
  CHECK(workers.size() == 4 * 7);
}

TEST_CASE("the first table of a new coordinator has an attached process that the newest table lacks") {
  Succeeded world;
  const AttachMessage dropped = world.attach_of(4);
  std::vector<Member> workers;
  std::vector<ProcessInfo> infos;
  for (const Member& worker : world.before->workers()) {
    if (worker.process != 4) workers.push_back(worker);
  }
  for (const ProcessInfo& info : world.before->processes()) {
    if (info.process != 4) infos.push_back(info);
  }
  Quorum quorum;
  quorum.commit(world.before);
  quorum.accept(std::make_shared<const Membership>(8, workers, infos, 10));  // perhaps without a majority
  quorum.exclude(0);
  const AttachMessage follower = world.attach_of(2);
  world.coordinator->succeed({quorum, {0}, world.attach_of(1), "closed", {{102, follower}, {104, dropped}}}, world.now);
  world.attach(follower);
  REQUIRE(world.link(102).last(cluster_kind::proposal) != nullptr);
  const auto proposal = unpack<Membership>(world.link(102).last(cluster_kind::proposal)->body.view());
  REQUIRE(proposal.ok());
  CHECK(proposal->process(4) != nullptr);
}

TEST_CASE("after a takeover the run does not end while a process that was dropped before may be alive") {
  Succeeded world;
  Quorum quorum;
  quorum.commit(world.before);
  quorum.exclude(0);
  Takeover takeover{quorum, {0}, world.attach_of(1), "closed"};
  takeover.dropped = {{7, "host7", "tcp://h:7"}};
  world.coordinator->succeed(takeover, world.now);
  const bool proved = GENERATE(true, false);
  for (const ProcessId process : {2, 3, 4}) world.attach(world.attach_of(process, 0, true));
  for (const NodeId id : {2, 3}) world.ended(0, id, 0);
  CHECK(world.ends.empty());
  CHECK(world.to_prove.back() == 7);
  if (proved) world.coordinator->on_proof(7, PortState::closed, world.now);
  if (!proved) world.beat(0.25, 15);
  REQUIRE(world.ends.size() == 1);
  CHECK(world.ends[0].ok);
}

TEST_CASE("after a takeover the run ends well when all scripts have ended, whichever coordinator received the ends") {
  TakenOver world;
  world.attach(world.attach_of(2, 0, true));  // their ends reached the lost coordinator
  world.attach(world.attach_of(3, 0, true));
  const LinkId link = world.attach(world.attach_of(4));
  for (const NodeId id : {2, 3}) world.ended(0, id, 0);
  CHECK(world.ends.empty());
  for (const NodeId id : {8, 9}) world.ended(link, id, 0);
  REQUIRE(world.ends.size() == 1);
  CHECK(world.ends[0].ok);
  CHECK(world.link(link).count(cluster_kind::stop) == 1);
}

TEST_CASE("a process that attaches after the end of the run receives the end") {
  TakenOver world;
  world.coordinator->stop({Code::script, false, "spilt milk"});
  const LinkId link = world.attach(world.attach_of(2));
  const Frame* stop = world.link(link).last(cluster_kind::stop);
  REQUIRE(stop != nullptr);
  CHECK(unpack<EndMessage>(stop->meta.view())->message == "spilt milk");
}

TEST_CASE("a host joins after a takeover as --nnodes allows, and is refused if values are lost") {
  Succeeded world;
  SECTION("no actions so far") {
    world.take_over();
    for (const ProcessId process : {2, 3, 4}) world.attach(world.attach_of(process));
    CHECK(world.refusal(world.message(1)) == "welcomed");
    CHECK(world.refusal(world.message(1)) == "welcomed");
    CHECK_THAT(world.refusal(world.message(1)), Contains("already has its 6 hosts"));
  }
  SECTION("there were actions") {
    world.take_over(2);
    CHECK_THAT(world.refusal(world.message(1)), Contains("were lost with an earlier coordinator"));
  }
  SECTION("some process has cached the values of the finished actions") {
    world.take_over(2);
    world.deliver(0, cluster_kind::action_done, service_address(1), 0, {}, Blob::copy_of("summary"));
    CHECK(world.refusal(world.message(1)) == "welcomed");
  }
}

TEST_CASE("workers continue with their actions after a takeover, but get no lost values") {
  TakenOver world(2);
  const LinkId behind = world.attach(world.attach_of(2, 0));
  world.enter(0, 2, 2, kRun);
  CHECK(world.last_reply_to(2).ok);
  CHECK_FALSE(world.last_reply_to(2).replayed);
  world.enter(behind, 4, 0, kRun);  // the others have passed it
  CHECK_FALSE(world.last_reply_to(4).ok);
  CHECK_THAT(world.last_reply_to(4).message, Contains("was lost with the coordinator"));
  world.enter(behind, 5, 1, kCollect);  // the newest that the lost coordinator knew: the others may be in it
  CHECK(world.last_reply_to(5).ok);
}

TEST_CASE("a worker that the lost coordinator let into an action after its process had attached continues after it") {
  TakenOver world(2);
  world.enter(0, 2, 4, kRun);
  CHECK(world.last_reply_to(2).code == Code::mismatch);  // more than one action ahead
  world.enter(0, 2, 3, kRun);
  CHECK(world.last_reply_to(2).ok);
  world.enter(0, 3, 2, kCollect);
  CHECK(world.last_reply_to(3).ok);
}
