// QuestionDesk by hand, Node's waits that run chunks, and ConsoleHub, which orders them.

#include "host/cluster/question_desk.hpp"

#include <array>

#include <nlohmann/json.hpp>

#include "host/cluster/console_hub.hpp"
#include "tests/host/cluster/test_process.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;
using nlohmann::json;

namespace {

Frame asking(const ConsoleAsk& ask, const std::string& source) {
  return make_frame(console_kind::ask, kNoAddress, service_address(0), 0, pack(ask), Blob::copy_of(source));
}

Frame cutting(ChunkId chunk, const std::string& why) {
  return make_frame(console_kind::cut, kNoAddress, service_address(0), 0, pack(ConsoleCut{chunk, why}));
}

ConsoleAsk ask_of(ChunkId chunk, bool together, std::vector<Address> nodes) {
  ConsoleAsk ask;
  ask.chunk = chunk;
  ask.together = together;
  ask.nodes = std::move(nodes);
  ask.limit = 10;
  return ask;
}

/// A desk, with the frames that it has sent.
struct Desk {
  std::vector<Frame> sent;
  QuestionDesk desk{[this](Frame&& frame) { sent.push_back(std::move(frame)); }};

  ConsoleDone last_done() const { return *unpack<ConsoleDone>(sent.back().meta.view()); }
};

/// Runs a chunk that waits for its own frame.
struct WaitingGuest final : NodeGuest {
  explicit WaitingGuest(Node& n) : node(n) { node.set_guest(this); }
  ~WaitingGuest() override { node.set_guest(nullptr); }
  bool may_answer() override { return may; }
  uint64_t lua_bytes() override { return 0; }
  void answer() override {
    while (const QuestionPtr question = node.cluster().desk().begin(node.seat())) {
      ++answered;
      const auto mine = [](const Frame& frame) { return frame.kind == Kind::test && frame.tag == 7; };
      within = node.answering() && node.receive(mine, {}, "the chunk's own", node.clock().now() + kPatience).ok();
      node.cluster().desk().finish(node.seat(), ConsoleDone(), "");
    }
  }

  Node& node;
  bool may = true;
  int answered = 0;
  bool within = false;
};

}  // namespace

TEST_CASE("a desk hands out chunks, bounds their output, and reports their ends") {
  Desk at;
  int woken = 0;
  REQUIRE(at.desk.take(asking(ask_of(1, false, {3}), "early")).ok());  // before the node has a seat
  const auto seat = at.desk.sit(3, [&] { ++woken; });
  CHECK(seat->called());
  const QuestionPtr question = at.desk.begin(*seat);
  REQUIRE(question);
  CHECK(question->source == "early");
  CHECK_FALSE(seat->called());
  for (int i = 0; i < 1000; ++i) at.desk.write(*seat, "123456");
  REQUIRE(at.sent.size() == 2);
  CHECK(at.sent[1].body.view() == "1234");
  at.desk.finish(*seat, ConsoleDone(), "values");
  CHECK(at.last_done().left_out == 5990 + 6);
  CHECK(at.sent.back().body.view().empty());

  REQUIRE(at.desk.take(asking(ask_of(2, false, {3}), "a")).ok());
  REQUIRE(at.desk.take(cutting(2, "")).ok());  // before the chunk has run
  CHECK((at.last_done().chunk == 2 && at.last_done().interrupted && !at.last_done().ran));
  CHECK_FALSE(at.desk.begin(*seat));
  REQUIRE(at.desk.take(asking(ask_of(3, false, {3}), "a")).ok());
  bool interrupted = false;
  at.desk.set_interrupt(*seat, [&] { interrupted = true; });
  REQUIRE(at.desk.begin(*seat));
  REQUIRE(at.desk.take(cutting(3, "")).ok());
  CHECK((interrupted && seat->cut()));
  at.desk.finish(*seat, ConsoleDone{0, 0, false}, "");
  CHECK((at.last_done().interrupted && !seat->cut()));
  REQUIRE(at.desk.take(asking(ask_of(4, false, {3}), "a")).ok());
  at.desk.rise(seat);
  CHECK_THAT(at.last_done().error, Contains("worker 3 has ended"));
  REQUIRE(at.desk.take(asking(ask_of(5, false, {3}), "a")).ok());
  CHECK(at.last_done().chunk == 5);
  CHECK_FALSE(at.desk.take(make_frame(console_kind::ask, 0, 0, 0, "rubbish")).ok());
}

TEST_CASE("a server that starts late skips failed chunks for all nodes") {
  Desk at;
  const auto worker = at.desk.sit(0, [] {});
  for (const ChunkId chunk : {1, 2, 3}) REQUIRE(at.desk.take(asking(ask_of(chunk, true, {0}), "a")).ok());
  const auto over = [](ChunkId chunk, bool ok) {
    return make_frame(console_kind::over, 0, 0, 0, pack(ConsoleOver{chunk, ok}));
  };
  REQUIRE(at.desk.take(over(1, true)).ok());
  REQUIRE(at.desk.take(over(2, false)).ok());
  const auto server = at.desk.sit(server_address(0), [] {});
  CHECK_FALSE(server->called());
  at.desk.get_ready(*server);
  CHECK(server->called());
  CHECK(at.desk.begin_together(*server)->ask.chunk == 1);
  CHECK_FALSE(server->called());  // else the waits of its run would not block
  at.desk.finish(*server, ConsoleDone(), "");
  REQUIRE(at.desk.take(cutting(3, "rank 1 has failed")).ok());
  CHECK(at.desk.begin_together(*server)->ask.chunk == 3);
  CHECK((server->failed() && !server->cut()));
  CHECK(at.desk.why_failed(*server) == "rank 1 has failed");
  at.desk.finish(*server, ConsoleDone(), "");
  CHECK_FALSE(server->failed());
  CHECK_FALSE(at.desk.has_together(*server));
  CHECK(at.desk.has_together(*worker));
}

TEST_CASE("a wait runs a chunk that waits itself, and loses no frame") {
  TestProcess process(TestProcess::alone(1));
  REQUIRE(process.start().ok());
  Node& node = *process.nodes[0];
  WaitingGuest guest(node);
  QuestionDesk& desk = process.cluster->desk();
  const auto send = [&](uint32_t tag) {
    REQUIRE(node.port().send(make_frame(Kind::test, kNoAddress, node.address(), tag)).ok());
  };
  const auto tagged = [](uint32_t tag) {
    return [tag](const Frame& frame) { return frame.kind == Kind::test && frame.tag == tag; };
  };
  send(1);  // the outer wait's frame arrives before the inner wait's
  send(7);
  REQUIRE(desk.take(asking(ask_of(1, false, {0}), "")).ok());
  REQUIRE(node.receive(tagged(1), {}, "outer", process.clock.now() + kPatience).ok());
  if (guest.answered == 0) CHECK(node.answer().ok());
  CHECK((guest.answered == 1 && guest.within));
  CHECK_FALSE(node.answering());

  REQUIRE(desk.take(asking(ask_of(2, false, {0}), "")).ok());
  guest.may = false;  // a callback with a time limit waits
  CHECK(node.receive(tagged(9), {}, "nothing", process.clock.now() + 0.01).error().code == Code::timeout);
  guest.may = true;
  {
    const Node::Undisturbed closed(node);
    CHECK(node.receive(tagged(9), {}, "nothing", process.clock.now() + 0.01).error().code == Code::timeout);
  }
  CHECK(guest.answered == 1);
  send(7);
  std::vector<Frame> none;
  CHECK(node.receive_some(tagged(9), kForever, none).ok());  // returns, since conditions may have changed
  CHECK((guest.answered == 2 && none.empty()));

  REQUIRE(desk.take(make_frame(console_kind::hold, 0, 0, 0, pack(ConsoleHold{true}))).ok());
  std::thread other([&] {
    send(5);
    (void)desk.take(make_frame(console_kind::hold, 0, 0, 0, pack(ConsoleHold{false})));
  });
  CHECK(node.answer().ok());
  other.join();
  CHECK(node.receive(tagged(5), {}, "kept", process.clock.now() + kPatience).ok());
}

TEST_CASE(
    "chunks for all nodes begin one after the other, and after a failed chunk all continue from the same numbers") {
  std::vector<std::pair<ProcessId, Frame>> sent;
  std::vector<json> told;
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
  const auto tell = [&](const json& one) { told.push_back(one); };
  const auto command = [&](const json& one) {
    hub.command(9, "somebody", one, tell, tell);
    return told.back();
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
  const auto ask = unpack<ConsoleAsk>(sent[3].second.meta.view());
  REQUIRE(ask.ok());
  CHECK((ask->chunk == 2 && ask->restarts == 1 && ask->actions == 7));
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
          observer, "somebody", command, [&](const json& answer) { why = answer.value("message", ""); },
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
        1, "somebody", command, [&](const json& answer) { taken += answer["ok"].get<bool>() ? 1 : 0; },
        [](const json&) {});
  }
  CHECK(taken == 16);
}
