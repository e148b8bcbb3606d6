// Cluster and Node in one process without sockets, nodes as threads.

#include "host/cluster/node.hpp"

#include "tests/host/cluster/test_process.hpp"
#include "tests/test.hpp"

namespace {

Frame test_frame(Address to, uint32_t tag) { return make_frame(Kind::test, kNoAddress, to, tag); }

Port::Match tagged(uint32_t tag) {
  return [tag](const Frame& frame) { return frame.kind == Kind::test && frame.tag == tag; };
}

}  // namespace

TEST_CASE("a run alone starts at once with its workers in rank order") {
  TestProcess process(3);
  CHECK(process.cluster->is_coordinator());
  CHECK(process.cluster->url().empty());
  CHECK(process.cluster->membership()->epoch() == 1);
  REQUIRE(process.nodes.size() == 3);
  for (uint32_t i = 0; i < 3; ++i) {
    CHECK(process.nodes[i]->rank() == i);
    CHECK(process.nodes[i]->index() == i);
    CHECK(process.nodes[i]->role() == Role::worker);
    CHECK(process.nodes[i]->name() == "rank " + std::to_string(i));
    CHECK_FALSE(process.nodes[i]->refresh());
  }
}

TEST_CASE("a run without workers is refused when it is opened") {
  TestProcess process(TestProcess::alone(0));
  CHECK_THAT(failure_of(process.cluster->open()).message, Contains("no nodes"));
}

TEST_CASE("nodes exchange frames and the run ends when all scripts have ended") {
  TestProcess process(4);
  std::atomic<int> got{0};
  process.everywhere([&](Node& node) {
    const NodeId next = (node.index() + 1) % 4;
    (void)node.port().send(test_frame(worker_address(next), 5));
    const std::array<Address, 1> from = {worker_address((node.index() + 3) % 4)};
    if (node.receive(tagged(5), from, "the ring")) ++got;
    node.cluster().report_ended(node.index(), node.actions());
  });
  CHECK(got == 4);
  CHECK(process.wait_for_end().ok);
}

TEST_CASE("a wait ends at its deadline with its name") {
  TestProcess process(2);
  Node& node = *process.nodes[0];
  const std::array<Address, 1> from = {worker_address(1)};
  const auto got = node.receive(never, from, "push", process.clock.now() + 0.01);
  CHECK(failure_of(got).code == Code::timeout);
  CHECK(failure_of(got).message == "push: timed out");
}

TEST_CASE("a wait ends when the node is to stop") {
  TestProcess process(1);
  std::atomic<bool> waiting{false};
  Code code = Code::internal;
  process.launch([&](Node& node) {
    waiting = true;
    code = node.receive(never, {}, "for ever").error().code;
  });
  while (!waiting) std::this_thread::yield();
  process.nodes[0]->request_stop();
  process.join();
  CHECK(code == Code::interrupted);
}

TEST_CASE("all waits end when a node's script has raised, with that error") {
  TestProcess process(4);
  std::mutex mutex;
  std::vector<Error> errors;
  process.everywhere([&](Node& node) {
    if (node.index() == 2) {
      node.cluster().report_error(node.address(), {Code::script, false, "rank 2: boom", node.address()});
      return;
    }
    auto got = node.receive(never, {}, "for ever");
    std::lock_guard lock(mutex);
    errors.push_back(got.error());
  });
  REQUIRE(errors.size() == 3);
  for (const Error& error : errors) {
    CHECK(error.code == Code::aborted);
    CHECK(error.message == "rank 2: boom");
  }
  const EndMessage end = process.wait_for_end();
  CHECK(end.code == Code::script);
  CHECK(end.origin == worker_address(2));
}

TEST_CASE("a server's wait ends when the run has ended well") {
  TestProcess process(1);
  REQUIRE(process.nodes[0]->start_servers(kAnyAction).ok());
  CHECK(process.servers_for == std::vector<uint32_t>{kAnyAction});
  REQUIRE(process.servers.size() == 1);
  Node& server = *process.servers[0];
  CHECK(server.role() == Role::server);
  CHECK_FALSE(server.rank());
  CHECK(server.name() == "server 0");
  Error error;
  std::thread thread([&] { error = server.receive(never, {}, "requests").error(); });
  process.cluster->report_ended(0, 0);
  thread.join();
  CHECK(error.code == Code::interrupted);
  CHECK(error.message == "the run is over");
}

TEST_CASE("stopping the coordinator interrupts the run") {
  TestProcess process(2);
  std::atomic<int> ended{0};
  process.launch([&](Node& node) { ended += node.receive(never, {}, "x").error().code == Code::aborted; });
  process.cluster->stop({Code::interrupted, false, "interrupted"});
  process.join();
  CHECK(ended == 2);
  CHECK(process.wait_for_end().code == Code::interrupted);
}

TEST_CASE("actions have numbers, are recorded, and replayed for a node that starts late") {
  TestProcess process(2);
  Node& early = *process.nodes[0];
  Node& late = *process.nodes[1];
  for (uint32_t i = 0; i < 3; ++i) {
    const auto action = required(early.enter_action("collect", "job.lua:" + std::to_string(i)));
    CHECK(action->index == i);
    CHECK_FALSE(action->replayed);
    early.finish_action(i, Blob::copy_of("value " + std::to_string(i)));
  }
  CHECK(early.actions() == 3);
  for (uint32_t i = 0; i < 3; ++i) {
    const auto action = required(late.enter_action("collect", "job.lua:" + std::to_string(i)));
    CHECK(action->replayed);
    CHECK(action->value.view() == "value " + std::to_string(i));
  }
  const auto live = required(late.enter_action("collect", "job.lua:9"));
  CHECK(live->index == 3);
  CHECK_FALSE(live->replayed);
}

TEST_CASE("an action that differs from the others' fails where it is entered and does not count") {
  TestProcess process(2);
  REQUIRE(process.nodes[0]->enter_action("param.run", "job.lua:1").ok());
  const auto other = process.nodes[1]->enter_action("collect", "job.lua:2");
  CHECK(failure_of(other).code == Code::mismatch);
  CHECK_THAT(failure_of(other).message, Contains("rank 0") && Contains("rank 1") && Contains("job.lua:2"));
  CHECK(process.nodes[1]->actions() == 0);
}

TEST_CASE("a second reply to the start of an action is not taken for the value of its end") {
  TestProcess process(1);
  Node& node = *process.nodes[0];
  const auto action = required(node.enter_action("peer.run", "job.lua:1"));
  // The node repeats a request when its coordinator was silent, so two replies may arrive.
  REQUIRE(node.port()
              .send(make_frame(cluster_kind::action_enter, worker_address(0), service_address(0), action->index,
                               pack(ActionEnter{"peer.run", "job.lua:1"})))
              .ok());
  const auto agreed = required(node.agree_on_action(action->index, Blob::copy_of("value")));
  CHECK(agreed->view() == "value");
}

TEST_CASE("whereabouts report each worker's action") {
  TestProcess process(2);
  REQUIRE(process.nodes[1]->enter_action("param.run", "job.lua:1").ok());
  const auto list = required(process.nodes[0]->whereabouts());
  REQUIRE(list->size() == 2);
  CHECK(list->at(0).actions == 0);
  CHECK(list->at(1).in_action);
  CHECK(list->at(1).where == "job.lua:1");
}

TEST_CASE("frames that a worker sent before it was lost are still received") {
  TestProcess process(1);
  Node& node = *process.nodes[0];
  Frame frame = test_frame(worker_address(0), 3);
  frame.src = worker_address(7);
  REQUIRE(process.cluster->transport().try_send(std::move(frame)).ok());
  const std::array<Address, 1> lost = {worker_address(7)};
  const auto got = required(node.receive(tagged(3), lost, "push"));
  CHECK(got->src == worker_address(7));
  CHECK(node.receive(tagged(3), lost, "push").error().code == Code::peer_lost);
}

TEST_CASE("modules of the coordinator are read from its own machine") {
  TestProcess process(1);
  CHECK(failure_of(process.nodes[0]->find_source("nothing")).code == Code::bad_argument);
}

TEST_CASE("closing ends waits, also of nodes without a stop request") {
  TestProcess process(2);
  std::atomic<int> ended{0};
  process.launch([&](Node& node) { ended += node.receive(never, {}, "x").error().code == Code::interrupted; });
  process.cluster->close();
  process.join();
  CHECK(ended == 2);
  CHECK_FALSE(process.nodes[0]->port().send(test_frame(worker_address(1), 1)).ok());
}
