// ChunkScheduler by hand, Node's waits that run chunks, and ConsoleHub, which orders them.

#include "host/cluster/look/chunk_scheduler.hpp"

#include <nlohmann/json.hpp>

#include "host/cluster/look/console_hub.hpp"
#include "tests/host/cluster/test_process.hpp"
#include "tests/test.hpp"

using nlohmann::json;

namespace {

Frame request_frame(const ConsoleRequest& request, const std::string& source) {
  return make_frame(console_kind::request, kNoAddress, service_address(0), 0, pack(request), Blob::copy_of(source));
}

Frame cutting(ChunkId chunk, const std::string& why) {
  return make_frame(console_kind::cut, kNoAddress, service_address(0), 0, pack(ConsoleCut{chunk, why}));
}

ConsoleRequest request_of(ChunkId chunk, bool together, std::vector<Address> nodes) {
  ConsoleRequest request{.chunk = chunk, .together = together, .nodes = std::move(nodes), .limit = 10};
  return request;
}

/// A scheduler, with the frames that it has sent.
struct TestScheduler {
  std::vector<Frame> sent;
  ChunkScheduler scheduler{[this](Frame&& frame) { sent.push_back(std::move(frame)); }};

  ConsoleDone last_done() const { return *unpack<ConsoleDone>(sent.back().meta.view()); }
};

/// Runs a chunk that waits for its own frame.
struct WaitingRunner final : ChunkRunner {
  explicit WaitingRunner(Node& n) : node(n) { node.set_chunk_runner(this); }
  ~WaitingRunner() override { node.set_chunk_runner(nullptr); }
  bool may_run_chunks() override { return may; }
  uint64_t lua_bytes() override { return 0; }
  void run_chunks() override {
    while (const ConsoleChunkPtr chunk = node.cluster().chunks().begin(node.chunk_queue())) {
      ++runs;
      const auto mine = [](const Frame& frame) { return frame.kind == Kind::test && frame.tag == 7; };
      within = node.in_chunk() && node.receive(mine, {}, "the chunk's own", node.clock().now() + kPatience).ok();
      node.cluster().chunks().finish(node.chunk_queue(), ConsoleDone(), "");
    }
  }

  Node& node;
  bool may = true;
  int runs = 0;
  bool within = false;
};

}  // namespace

TEST_CASE("a scheduler hands out chunks, bounds their output, and reports their ends") {
  TestScheduler at;
  int woken = 0;
  REQUIRE(at.scheduler.take(request_frame(request_of(1, false, {3}), "early")).ok());  // before the node is added
  const auto queue = at.scheduler.add_node(3, [&] { ++woken; });
  CHECK(queue->has_work());
  const ConsoleChunkPtr chunk = at.scheduler.begin(*queue);
  REQUIRE(chunk);
  CHECK(chunk->source == "early");
  CHECK_FALSE(queue->has_work());
  for (int i = 0; i < 1000; ++i) at.scheduler.write(*queue, "123456");
  REQUIRE(at.sent.size() == 2);
  CHECK(at.sent[1].body.view() == "1234");
  at.scheduler.finish(*queue, ConsoleDone(), "values");
  CHECK(at.last_done().left_out == 5990 + 6);
  CHECK(at.sent.back().body.view().empty());

  REQUIRE(at.scheduler.take(request_frame(request_of(2, false, {3}), "a")).ok());
  REQUIRE(at.scheduler.take(cutting(2, "")).ok());  // before the chunk has run
  CHECK((at.last_done().chunk == 2 && at.last_done().interrupted && !at.last_done().ran));
  CHECK_FALSE(at.scheduler.begin(*queue));
  REQUIRE(at.scheduler.take(request_frame(request_of(3, false, {3}), "a")).ok());
  bool interrupted = false;
  at.scheduler.set_interrupt(*queue, [&] { interrupted = true; });
  REQUIRE(at.scheduler.begin(*queue));
  REQUIRE(at.scheduler.take(cutting(3, "")).ok());
  CHECK((interrupted && queue->cut()));
  at.scheduler.finish(*queue, ConsoleDone{0, 0, false}, "");
  CHECK((at.last_done().interrupted && !queue->cut()));
  REQUIRE(at.scheduler.take(request_frame(request_of(4, false, {3}), "a")).ok());
  at.scheduler.remove_node(queue);
  CHECK_THAT(at.last_done().error, Contains("worker 3 has ended"));
  REQUIRE(at.scheduler.take(request_frame(request_of(5, false, {3}), "a")).ok());
  CHECK(at.last_done().chunk == 5);
  CHECK_FALSE(at.scheduler.take(make_frame(console_kind::request, 0, 0, 0, "rubbish")).ok());
}

TEST_CASE("a server that starts late skips failed chunks for all nodes") {
  TestScheduler at;
  const auto worker = at.scheduler.add_node(0, [] {});
  for (const ChunkId chunk : {1, 2, 3})
    REQUIRE(at.scheduler.take(request_frame(request_of(chunk, true, {0}), "a")).ok());
  const auto over = [](ChunkId chunk, bool ok) {
    return make_frame(console_kind::over, 0, 0, 0, pack(ConsoleOver{chunk, ok}));
  };
  REQUIRE(at.scheduler.take(over(1, true)).ok());
  REQUIRE(at.scheduler.take(over(2, false)).ok());
  const auto server = at.scheduler.add_node(server_address(0), [] {});
  CHECK_FALSE(server->has_work());
  at.scheduler.report_ready(*server);
  CHECK(server->has_work());
  CHECK(at.scheduler.begin_together(*server)->request.chunk == 1);
  CHECK_FALSE(server->has_work());  // else the waits of its run would not block
  at.scheduler.finish(*server, ConsoleDone(), "");
  REQUIRE(at.scheduler.take(cutting(3, "rank 1 has failed")).ok());
  CHECK(at.scheduler.begin_together(*server)->request.chunk == 3);
  CHECK((server->failed() && !server->cut()));
  CHECK(at.scheduler.failure_reason(*server) == "rank 1 has failed");
  at.scheduler.finish(*server, ConsoleDone(), "");
  CHECK_FALSE(server->failed());
  CHECK_FALSE(at.scheduler.has_together(*server));
  CHECK(at.scheduler.has_together(*worker));
}

TEST_CASE("a pause holds a worker back from a chunk for all nodes, unless the chunk is cancelled") {
  TestScheduler at;
  const auto worker = at.scheduler.add_node(0, [] {});
  const auto hold = [](bool paused) { return make_frame(console_kind::hold, 0, 0, 0, pack(ConsoleHold{paused})); };
  REQUIRE(at.scheduler.take(hold(true)).ok());
  REQUIRE(at.scheduler.take(request_frame(request_of(1, true, {0}), "a")).ok());
  CHECK(at.scheduler.has_together(*worker));
  CHECK(at.scheduler.begin_together(*worker) == nullptr);
  REQUIRE(at.scheduler.take(hold(false)).ok());
  REQUIRE(at.scheduler.begin_together(*worker) != nullptr);
  at.scheduler.finish(*worker, ConsoleDone(), "");

  REQUIRE(at.scheduler.take(hold(true)).ok());
  REQUIRE(at.scheduler.take(request_frame(request_of(2, true, {0}), "a")).ok());
  CHECK(at.scheduler.begin_together(*worker) == nullptr);
  REQUIRE(at.scheduler.take(cutting(2, "")).ok());
  REQUIRE(at.scheduler.begin_together(*worker) != nullptr);
  CHECK(worker->cut());
}

TEST_CASE("a wait runs a chunk that waits itself, and loses no frame") {
  TestProcess process(1);
  Node& node = *process.nodes[0];
  WaitingRunner runner(node);
  ChunkScheduler& scheduler = process.cluster->chunks();
  const auto send = [&](uint32_t tag) {
    return node.port().send(make_frame(Kind::test, kNoAddress, node.address(), tag));
  };
  const auto tagged = [](uint32_t tag) {
    return [tag](const Frame& frame) { return frame.kind == Kind::test && frame.tag == tag; };
  };
  REQUIRE(send(1).ok());  // the outer wait's frame arrives before the inner wait's
  REQUIRE(send(7).ok());
  REQUIRE(scheduler.take(request_frame(request_of(1, false, {0}), "")).ok());
  REQUIRE(node.receive(tagged(1), {}, "outer", process.clock.now() + kPatience).ok());
  if (runner.runs == 0) CHECK(node.run_chunks().ok());
  CHECK((runner.runs == 1 && runner.within));
  CHECK_FALSE(node.in_chunk());

  REQUIRE(scheduler.take(request_frame(request_of(2, false, {0}), "")).ok());
  runner.may = false;  // a callback with a time limit waits
  CHECK(node.receive(tagged(9), {}, "nothing", process.clock.now() + 0.01).error().code == Code::timeout);
  runner.may = true;
  {
    const Node::NoChunks closed(node);
    CHECK(node.receive(tagged(9), {}, "nothing", process.clock.now() + 0.01).error().code == Code::timeout);
  }
  CHECK(runner.runs == 1);
  REQUIRE(send(7).ok());
  std::vector<Frame> none;
  CHECK(node.receive_some(tagged(9), kForever, none).ok());  // returns, since conditions may have changed
  CHECK((runner.runs == 2 && none.empty()));

  REQUIRE(scheduler.take(make_frame(console_kind::hold, 0, 0, 0, pack(ConsoleHold{true}))).ok());
  Status sent;
  std::thread other([&] {
    sent = send(5);
    (void)scheduler.take(make_frame(console_kind::hold, 0, 0, 0, pack(ConsoleHold{false})));
  });
  CHECK(node.run_chunks().ok());
  other.join();
  CHECK(sent.ok());
  CHECK(node.receive(tagged(5), {}, "kept", process.clock.now() + kPatience).ok());
}

TEST_CASE(
    "chunks for all nodes begin one after the other, and after a failed chunk all continue from the same numbers") {
  std::vector<std::pair<ProcessId, Frame>> sent;
  std::vector<json> replies;
  uint32_t actions = 5;
  bool settled = false;
  Log log(LogLevel::off);
  const MembershipPtr table = std::make_shared<const Membership>(
      1, std::vector<Member>{{0, 0}, {1, 1}}, std::vector<ProcessInfo>{{0, "a", ""}, {1, "b", ""}}, 2);
  ConsoleHub hub({[&] { return MembershipPtr(table); },
                  [&](ProcessId process, Frame&& frame) { sent.emplace_back(process, std::move(frame)); },
                  [&](bool settle) {
                    settled = settled || settle;
                    return settle ? actions += 2 : actions;
                  },
                  [] { return false; }, [] { return false; }},
                 log);
  const auto callback = [&](const json& one) { replies.push_back(one); };
  const auto command = [&](const json& one) {
    hub.command(9, "somebody", one, callback, callback);
    return replies.back();
  };
  const auto done = [&](ChunkId chunk, Address node, bool ok) {
    ConsoleDone how{chunk, node, ok};
    how.error = ok ? "" : "boom\ntraceback";
    REQUIRE(hub.take(make_frame(console_kind::done, 0, 0, 0, pack(how))).ok());
  };
  CHECK_THAT(command({{"op", "chunk"}, {"source", "1"}, {"nodes", "spmd"}})["message"].get<std::string>(),
             Contains("actorhost repl"));
  for (const Address node : {0U, 1U}) {
    REQUIRE(hub.take(make_frame(console_kind::ready, 0, 0, 0, pack(ConsoleFrom{0, node}))).ok());
  }
  CHECK(command({{"op", "chunk"}, {"source", "1"}, {"nodes", "spmd"}})["chunk"] == 1);
  CHECK(sent.size() == 2);
  CHECK(command({{"op", "chunk"}, {"source", "2"}, {"nodes", "spmd"}})["chunk"] == 2);
  CHECK(sent.size() == 2);
  sent.clear();
  done(1, 1, false);
  REQUIRE(sent.size() == 2);  // all its processes, and servers
  CHECK(unpack<ConsoleCut>(sent[0].second.meta.view())->why == "the chunk has failed on rank 1: boom");
  CHECK_FALSE(settled);
  sent.clear();
  done(1, 0, false);
  CHECK(settled);
  REQUIRE(sent.size() == 4);  // over, and the next chunk
  const auto request = required(unpack<ConsoleRequest>(sent[3].second.meta.view()));
  CHECK((request->chunk == 2 && request->restarts == 1 && request->actions == 7));
  hub.leave(9);
  CHECK(sent.back().second.kind == console_kind::cut);
  for (const json& bad : {json({{"op", "kill"}, {"id", 7U}}), json({{"op", "kill"}, {"id", 0U}}), json({{"op", "fly"}}),
                          json({{"op", "chunk"}, {"source", "1"}, {"nodes", {8}}}), json::object(), json({{"op", 5}}),
                          json({{"op", "chunk"}, {"nodes", json::array()}})}) {
    CHECK_FALSE(command(bad)["ok"].get<bool>());
  }
  sent.clear();
  CHECK(command({{"op", "kill"}, {"id", 1U}})["killed"] == json({"rank 1"}));
  CHECK((sent.size() == 1 && sent[0].first == 1 && sent[0].second.kind == console_kind::leave));
}

TEST_CASE(
    "one observer has a quota of chunks in progress and of their text, whatever the command; others have theirs") {
  Log log(LogLevel::off);
  MembershipPtr table =
      std::make_shared<const Membership>(1, std::vector<Member>{{0, 0}}, std::vector<ProcessInfo>{{0, "a", ""}}, 1);
  for (const std::string op : {"chunk", "checkpoint", "barrier"}) {
    CAPTURE(op);
    ConsoleHub hub({[&] { return table; }, [](ProcessId, Frame&&) {}, [](bool) { return 0U; }, [] { return false; },
                    [] { return false; }},
                   log);
    const auto refusal_of = [&](uint64_t observer, const std::string& text) {
      std::string why;
      const json command = {{"op", op}, {"source", text}, {"spec", "asp"}, {"nodes", json::array({0U})}};
      hub.command(
          observer, "somebody", command, [&](const json& reply) { why = reply.value("message", ""); },
          [](const json&) {});
      return why;
    };
    for (int i = 0; i < 250; ++i) CHECK(refusal_of(1, "return 1").empty());
    CHECK_THAT(refusal_of(1, "return 1"), Contains("at most 250 chunks"));
    for (uint64_t other = 2; other <= 4; ++other) {
      for (int i = 0; i < 250; ++i) CHECK(refusal_of(other, "return 1").empty());
    }
    CHECK_THAT(refusal_of(5, "return 1"), Contains("1000 chunks are in progress already"));
  }
  ConsoleHub hub({[&] { return table; }, [](ProcessId, Frame&&) {}, [](bool) { return 0U; }, [] { return false; },
                  [] { return false; }},
                 log);
  size_t taken = 0;
  for (int i = 0; i < 20; ++i) {
    const json command = {{"op", "chunk"}, {"source", std::string(size_t{1} << 20, ' ')}, {"nodes", json::array({0U})}};
    hub.command(
        1, "somebody", command, [&](const json& reply) { taken += reply["ok"].get<bool>() ? 1 : 0; },
        [](const json&) {});
  }
  CHECK(taken == 16);
}
