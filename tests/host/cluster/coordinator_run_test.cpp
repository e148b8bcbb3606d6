// A Coordinator during a run: actions, ends, errors, modules, servers, whereabouts. Driven by hand.

#include "tests/host/cluster/coordinator_world.hpp"
#include "tests/integration/process.hpp"
#include "tests/test.hpp"

namespace {

/// A started run: worker 0 in the coordinator's process, workers 1 and 2 in process 1, worker 3 in process 2.
struct RunWorld {
  RunWorld() : world({3, 3, 60, 0.5}) {
    REQUIRE(world.coordinator->join_self(world.message(1, "coordinator"), 0).ok());
    a = world.join(2, "alpha:1");
    b = world.join(1, "beta:1");
    REQUIRE(world.tables.size() == 1);
  }

  void end_others() {
    world.ended(a, 1, 1);
    world.ended(a, 2, 1);
    world.ended(b, 3, 1);
  }

  CoordinatorWorld world;
  LinkId a = 0;
  LinkId b = 0;
};

}  // namespace

TEST_CASE("the run is over when all workers' scripts have ended, and only then") {
  RunWorld run;
  run.world.ended(0, 0, 0);
  run.world.ended(run.a, 1, 0);
  run.world.ended(run.a, 1, 0);
  run.world.ended(run.a, 2, 0);
  CHECK(run.world.ends.empty());
  run.world.ended(run.b, 3, 0);
  REQUIRE(run.world.ends.size() == 1);
  CHECK(run.world.ends[0].ok);
  for (const LinkId link : {run.a, run.b}) {
    CHECK(run.world.link(link).frames.back().kind == cluster_kind::stop);
    CHECK(unpack<EndMessage>(run.world.link(link).frames.back().meta.view())->ok);
  }
}

TEST_CASE("the run is over when the workers that have not ended are lost") {
  RunWorld run;
  run.world.ended(0, 0, 0);
  run.world.ended(run.a, 1, 0);
  run.world.ended(run.a, 2, 0);
  run.world.coordinator->on_link_down(run.b, "closed by the peer", run.world.now);
  REQUIRE(run.world.ends.size() == 1);
  CHECK(run.world.ends[0].ok);
}

TEST_CASE("a coordinator that all others have dropped while it did not run does not continue alone") {
  RunWorld run;
  run.world.coordinator->on_link_down(run.a, "closed by the peer", run.world.now, true);
  CHECK(run.world.ends.empty());
  run.world.coordinator->on_link_down(run.b, "connection reset", run.world.now);
  REQUIRE(run.world.ends.size() == 1);
  CHECK(run.world.ends[0].code == Code::peer_lost);
  CHECK_THAT(run.world.ends[0].message, Contains("did not run") && Contains("--resume"));
}

TEST_CASE("a coordinator that has lost all others for other reasons continues alone") {
  RunWorld run;
  run.world.coordinator->on_link_down(run.a, "closed by the peer", run.world.now);
  run.world.coordinator->on_link_down(run.b, "connection reset", run.world.now);
  CHECK(run.world.ends.empty());
  CHECK(run.world.tables.back()->size() == 1);
}

TEST_CASE("a dropped process is notified that only its own part ends") {
  RunWorld run;
  run.world.beat(0.25, 17, {2});
  const Frame* stop = run.world.link(run.b).last(cluster_kind::stop);
  REQUIRE(stop != nullptr);
  const auto end = required(unpack<EndMessage>(stop->meta.view()));
  CHECK(end->code == Code::peer_lost);
  CHECK(end->origin == service_address(2));
  CHECK_THAT(end->message, Contains("has dropped beta:1: no heartbeat for 4 s"));
  CHECK(run.world.ends.empty());
}

TEST_CASE("an error on one node ends the run everywhere with that error") {
  RunWorld run;
  const EndMessage error{Code::script, false, "rank 3: job.lua:5: boom", worker_address(3)};
  run.world.deliver(run.b, cluster_kind::node_error, worker_address(3), 0, pack(error));
  REQUIRE(run.world.ends.size() == 1);
  CHECK(run.world.ends[0].code == Code::script);
  CHECK(run.world.ends[0].origin == worker_address(3));
  CHECK(run.world.ends[0].message == error.message);
  CHECK(unpack<EndMessage>(run.world.link(run.a).frames.back().meta.view())->message == error.message);
  // A second error, which often follows the first, changes nothing.
  run.world.deliver(0, cluster_kind::node_error, worker_address(0), 0, pack(EndMessage{Code::io, false, "x", 0}));
  CHECK(run.world.ends.size() == 1);
}

TEST_CASE("an error that claims to be a success is an error") {
  RunWorld run;
  run.world.deliver(run.b, cluster_kind::node_error, worker_address(3), 0,
                    pack(EndMessage{Code::script, true, "?", 3}));
  REQUIRE(run.world.ends.size() == 1);
  CHECK_FALSE(run.world.ends[0].ok);
}

TEST_CASE("frames of a dropped process, or in another's name, are ignored") {
  RunWorld run;
  const std::string error = pack(EndMessage{Code::script, false, "late", worker_address(3)});
  run.world.deliver(run.a, cluster_kind::node_error, worker_address(3), 0, error);
  run.world.deliver(77, cluster_kind::node_error, worker_address(3), 0, error);
  run.world.deliver(run.a, cluster_kind::node_ended, worker_address(0), 0);
  run.world.coordinator->on_link_down(run.b, "closed by the peer", run.world.now);
  run.world.deliver(run.b, cluster_kind::node_error, worker_address(3), 0, error);
  run.world.deliver(run.b, cluster_kind::action_enter, worker_address(3), 0, pack(kRun));
  CHECK(run.world.ends.empty());
  CHECK(run.world.to_nodes.empty());
}

TEST_CASE("workers that take the same actions continue") {
  RunWorld run;
  run.world.enter(0, 0, 0, kRun);
  run.world.enter(run.a, 1, 0, kRun);
  for (const NodeId worker : {0U, 1U}) {
    CHECK(run.world.last_reply_to(worker).ok);
    CHECK_FALSE(run.world.last_reply_to(worker).replayed);
  }
  run.world.deliver(0, cluster_kind::action_done, worker_address(0), 0, {}, Blob::copy_of("summary"));
  run.world.enter(run.b, 3, 0, kRun);
  CHECK(run.world.last_reply_to(3).replayed);
  CHECK(run.world.to_nodes.at(3).back().body.view() == "summary");
}

TEST_CASE("each worker that requests the value of an action gets the first value") {
  RunWorld run;
  run.world.enter(0, 0, 0, kRun);
  run.world.enter(run.a, 1, 0, kRun);
  run.world.deliver(run.a, cluster_kind::action_agree, worker_address(1), 0, {}, Blob::copy_of("first"));
  run.world.deliver(0, cluster_kind::action_agree, worker_address(0), 0, {}, Blob::copy_of("second"));
  for (const NodeId worker : {0U, 1U}) {
    CHECK(run.world.to_nodes.at(worker).back().kind == cluster_kind::action_agreed);
    CHECK(run.world.to_nodes.at(worker).back().body.view() == "first");
  }
}

TEST_CASE("workers in different actions get an error with both ranks and both lines") {
  RunWorld run;
  run.world.enter(0, 0, 0, kRun);
  run.world.enter(run.a, 2, 0, kCollect);
  const ActionReply reply = run.world.last_reply_to(2);
  CHECK_FALSE(reply.ok);
  CHECK(reply.code == Code::mismatch);
  CHECK_THAT(reply.message, Contains("rank 0 (worker 0 on coordinator) is in param.run at job.lua:12"));
  CHECK_THAT(reply.message, Contains("rank 2 (worker 2 on alpha:1) is in collect at job.lua:20"));
}

TEST_CASE("a malformed message of a member is logged, closes its link and harms no other") {
  for (const Kind kind : {cluster_kind::node_error, cluster_kind::action_enter, cluster_kind::module_find,
                          cluster_kind::whereabouts, cluster_kind::welcome, Kind{0x01ff}}) {
    RunWorld run;
    run.world.deliver(run.b, kind, worker_address(3), 0, "nonsense");
    CHECK(run.world.logged("closed the connection to beta:1: a message of kind " +
                           std::to_string(static_cast<unsigned>(kind)) + " from worker 3 is wrong: "));
    CHECK(run.world.link(run.b).finished);
    CHECK(run.world.tables.back()->size() == 3);
    CHECK_FALSE(run.world.tables.back()->alive(3));
    CHECK_FALSE(run.world.link(run.a).finished);
    CHECK(run.world.ends.empty());
  }
}

TEST_CASE("an impossible action gets an error") {
  RunWorld run;
  run.world.enter(0, 0, 4, kRun);
  CHECK(run.world.last_reply_to(0).code == Code::mismatch);
}

TEST_CASE("a script that ends while others are in an action is a mismatch, not a hang") {
  RunWorld run;
  run.world.enter(0, 0, 0, kRun);
  run.world.ended(run.b, 3, 0);
  REQUIRE(run.world.ends.size() == 1);
  CHECK(run.world.ends[0].code == Code::mismatch);
  CHECK_THAT(run.world.ends[0].message, Contains("rank 3 (worker 3 on beta:1) has come to the end of its script"));
  CHECK_THAT(run.world.ends[0].message, Contains("rank 0 (worker 0 on coordinator) is in param.run at job.lua:12"));
}

TEST_CASE("an action that others enter after a script has ended is the same mismatch") {
  RunWorld run;
  run.world.ended(run.b, 3, 0);
  CHECK(run.world.ends.empty());
  run.world.enter(run.a, 1, 0, kRun);
  REQUIRE(run.world.ends.size() == 1);
  CHECK(run.world.ends[0].code == Code::mismatch);
  CHECK_THAT(run.world.ends[0].message, Contains("rank 3") && Contains("rank 1") && Contains("job.lua:12"));
  CHECK(run.world.to_nodes.empty());
}

TEST_CASE("an action that ended before a script ended without it is a mismatch too") {
  RunWorld run;
  run.world.enter(0, 0, 0, kRun);
  run.world.deliver(0, cluster_kind::action_done, worker_address(0), 0, {}, Blob::copy_of("v"));
  run.world.ended(run.b, 3, 0);
  REQUIRE(run.world.ends.size() == 1);
  CHECK(run.world.ends[0].code == Code::mismatch);
}

TEST_CASE("a script that ends after the same actions as the others is well") {
  RunWorld run;
  run.world.enter(0, 0, 0, kRun);
  for (const NodeId worker : {1U, 2U}) run.world.enter(run.a, worker, 0, kRun);
  run.world.enter(run.b, 3, 0, kRun);
  run.end_others();
  CHECK(run.world.ends.empty());
  run.world.ended(0, 0, 1);
  REQUIRE(run.world.ends.size() == 1);
  CHECK(run.world.ends[0].ok);
}

TEST_CASE("a server that starts late gets finished actions and joins the current one") {
  RunWorld run;
  run.world.enter(0, 0, 0, kCollect);
  run.world.deliver(0, cluster_kind::action_done, worker_address(0), 0, {}, Blob::copy_of("v"));
  run.world.enter(0, 0, 1, kRun);
  // Servers of a later run wait until all workers have entered it; running servers enter at once.
  run.world.deliver(0, cluster_kind::servers_start, worker_address(0), 1);
  CHECK(run.world.servers_started.empty());
  run.world.deliver(0, cluster_kind::servers_start, worker_address(0), kAnyAction);
  CHECK(run.world.servers_started == std::vector<uint32_t>{kAnyAction});
  CHECK(run.world.to_nodes.at(0).back().kind == cluster_kind::servers_ready);
  run.world.deliver(0, cluster_kind::action_enter, server_address(0), 0, pack(kCollect));
  CHECK(run.world.last_reply_to(server_address(0)).replayed);
  run.world.deliver(0, cluster_kind::action_enter, server_address(0), 1, pack(kRun));
  CHECK_FALSE(run.world.last_reply_to(server_address(0)).replayed);
  // Only the coordinator has servers.
  run.world.deliver(run.a, cluster_kind::action_enter, server_address(1), 0, pack(kCollect));
  CHECK_FALSE(run.world.to_nodes.contains(server_address(1)));
}

TEST_CASE("a data service and a courier speak for their own process only") {
  for (const auto address : {data_address, courier_address}) {
    RunWorld run;
    run.world.deliver(0, cluster_kind::whereabouts, address(0), 1);
    CHECK(run.world.to_nodes.contains(address(0)));
    run.world.deliver(run.a, cluster_kind::whereabouts, address(1), 1);
    CHECK(run.world.to_nodes.contains(address(1)));
    run.world.deliver(run.a, cluster_kind::whereabouts, address(2), 1);
    CHECK_FALSE(run.world.to_nodes.contains(address(2)));
  }
}

TEST_CASE("a failed start of servers is reported to the requesting node") {
  RunWorld run;
  run.world.servers_result = Error{Code::io, "no more threads"};
  run.world.deliver(run.a, cluster_kind::servers_start, worker_address(1), kAnyAction);
  const auto reply = required(unpack<ActionReply>(run.world.to_nodes.at(1).back().meta.view()));
  CHECK_FALSE(reply->ok);
  CHECK(reply->code == Code::io);
  CHECK(reply->message == "no more threads");
}

TEST_CASE("a request for servers waits until the servers of the previous action have ended") {
  RunWorld run;
  run.world.servers_result = false;
  run.world.deliver(run.a, cluster_kind::servers_start, worker_address(1), kAnyAction);
  run.world.deliver(run.b, cluster_kind::servers_start, worker_address(3), kAnyAction);
  run.world.coordinator->servers_ended();
  CHECK(run.world.to_nodes.empty());
  run.world.servers_result = true;
  run.world.coordinator->servers_ended();
  for (const Address worker : {worker_address(1), worker_address(3)}) {
    REQUIRE(run.world.to_nodes[worker].size() == 1);
    CHECK(run.world.to_nodes[worker][0].kind == cluster_kind::servers_ready);
    CHECK(unpack<ActionReply>(run.world.to_nodes[worker][0].meta.view())->ok);
  }
  run.world.servers_started.clear();
  run.world.coordinator->servers_ended();
  CHECK(run.world.servers_started.empty());
}

TEST_CASE("servers of an action do not start before the end of the previous action is recorded") {
  RunWorld run;
  const auto all_enter = [&](uint32_t action) {
    for (const auto& [link, worker] :
         std::vector<std::pair<LinkId, NodeId>>{{0, 0}, {run.a, 1}, {run.a, 2}, {run.b, 3}})
      run.world.enter(link, worker, action, kRun);
  };
  all_enter(0);
  run.world.deliver(run.a, cluster_kind::servers_start, worker_address(1), 0);
  CHECK(run.world.servers_started == std::vector<uint32_t>{0});
  all_enter(1);
  run.world.deliver(run.a, cluster_kind::servers_start, worker_address(1), 1);
  CHECK(run.world.servers_started == std::vector<uint32_t>{0});
  run.world.deliver(0, cluster_kind::action_done, server_address(0), 0, {}, Blob::copy_of("3 steps"));
  CHECK(run.world.servers_started == std::vector<uint32_t>{0, 1});
}

TEST_CASE("past the bound late hosts are refused, but live workers find every action that they still need") {
  CoordinatorWorld world({1, 3, 60, 0});
  REQUIRE(world.coordinator->join_self(world.message(2, "coordinator"), 0).ok());
  world.coordinator->tick(0, 0);
  const Blob big = Blob::allocate(size_t{40} << 20);
  for (uint32_t i = 0; i < 2; ++i) {
    world.enter(0, 0, i, kCollect);
    world.deliver(0, cluster_kind::action_done, worker_address(0), i, {}, big);
  }
  CHECK(world.refusal(world.message(1)) == "welcomed");
  for (uint32_t i = 0; i < 2; ++i) {
    world.enter(0, 1, i, kCollect);
    CHECK(world.last_reply_to(1).replayed);
  }
  const LinkId late = 1;
  world.enter(late, 2, 0, kCollect);  // the welcomed host had yet to catch up
  CHECK(world.last_reply_to(2).replayed);
  world.enter(late, 2, 1, kCollect);
  CHECK_THAT(world.refusal(world.message(1)), Contains("no longer stored"));
}

TEST_CASE("a module is compared by hash, sent to a process without a copy, refused if it differs") {
  const TempDir folder;
  folder.write("rules.lua", "return 2");
  RunWorld run;
  REQUIRE(run.world.job.open(folder.write("job.lua", "return 1")).ok());
  const auto find = [&](const std::string& name, uint64_t hash) {
    run.world.deliver(run.a, cluster_kind::module_find, worker_address(1), 9, pack(ModuleFind{name, hash}));
    const Frame& frame = run.world.to_nodes.at(1).back();
    CHECK(frame.kind == cluster_kind::module_reply);
    CHECK(frame.tag == 9);
    auto reply = required(unpack<ModuleReply>(frame.meta.view()));
    return std::pair(*reply, std::string(frame.body.view()));
  };
  const auto [sent, text] = find("rules", 0);
  CHECK(sent.ok);
  CHECK(sent.chunk == "rules.lua");
  CHECK(text == "return 2");
  const auto [same, nothing] = find("rules", source_hash("return 2"));
  CHECK(same.ok);
  CHECK(nothing.empty());
  const auto [differs, none] = find("rules", source_hash("return 3"));
  CHECK_FALSE(differs.ok);
  CHECK(differs.code == Code::refused);
  CHECK_THAT(differs.message, Contains("module 'rules' on alpha:1 differs"));
  CHECK(none.empty());
  const auto [missing, empty] = find("nothing", 0);
  CHECK_FALSE(missing.ok);
  CHECK(missing.code == Code::bad_argument);
  CHECK_THAT(missing.message, Contains("on the coordinator: module 'nothing' not found"));
  const auto [outside, no] = find("../../etc/hosts.lua", 0);
  CHECK_FALSE(outside.ok);
}

TEST_CASE("whereabouts name the ended workers and each worker's action") {
  RunWorld run;
  for (const NodeId worker : {1U, 2U}) run.world.enter(run.a, worker, 0, kCollect);
  run.world.enter(0, 0, 0, kCollect);
  run.world.enter(run.b, 3, 0, kCollect);
  run.world.deliver(0, cluster_kind::action_done, worker_address(0), 0, {}, Blob::copy_of("v"));
  run.world.enter(0, 0, 1, kRun);
  run.world.deliver(run.a, cluster_kind::whereabouts, worker_address(1), 4);
  const Frame& frame = run.world.to_nodes.at(1).back();
  CHECK(frame.kind == cluster_kind::whereabouts_reply);
  CHECK(frame.tag == 4);
  const auto list = required(unpack<std::vector<Whereabouts>>(frame.body.view()));
  REQUIRE(list->size() == 4);
  CHECK(list->at(0).in_action);
  CHECK(list->at(0).actions == 2);
  CHECK(list->at(0).kind == "param.run");
  CHECK(list->at(0).where == "job.lua:12");
  CHECK_FALSE(list->at(1).in_action);
  CHECK(list->at(1).actions == 1);
  CHECK_FALSE(list->at(1).ended);
}

TEST_CASE("a request during a long wait reports the wait and is counted") {
  RunWorld run;
  const LongWait waiting{3, "barrier at job.lua:3", {0, 2}};
  for (int times = 0; times < 2; ++times) {
    run.world.deliver(run.a, cluster_kind::whereabouts, worker_address(1), 4, pack(waiting));
  }
  run.world.deliver(run.b, cluster_kind::whereabouts, worker_address(3), 9);
  run.world.deliver(run.b, cluster_kind::whereabouts, worker_address(3), 9, "no wait at all");
  const auto list = required(unpack<std::vector<Whereabouts>>(run.world.to_nodes.at(3).back().body.view()));
  CHECK(list->at(1).waiting.number == 3);
  CHECK(list->at(1).waiting.what == "barrier at job.lua:3");
  CHECK(list->at(1).waiting.absent == std::vector<NodeId>{0, 2});
  CHECK(list->at(1).waiting.reports == 2);
  CHECK(list->at(3).waiting.number == 0);
}
