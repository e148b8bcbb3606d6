// Observing a run over its control socket and its address: ControlClient against a Cluster with real sockets.

#include <nlohmann/json.hpp>

#include "host/cluster/look/control_client.hpp"
#include "host/net/handshake.hpp"
#include "tests/host/cluster/test_process.hpp"
#include "tests/test.hpp"

using nlohmann::json;

namespace {

struct Client {
  explicit Client(const std::string& token = "") : log(LogLevel::off), client(options_of(token), clock, log, {}) {}
  static StreamOptions options_of(const std::string& token) {
    StreamOptions options{.token = token};
    return options;
  }
  json state(const std::vector<std::string>& sections = {}) {
    const auto text = client.state(sections, kPatience);
    REQUIRE(text);
    return json::parse(*text);
  }

  SteadyClock clock;
  Log log;
  ControlClient client;
};

}  // namespace

TEST_CASE("a run without sockets is observed at its control socket, while its nodes wait and compute") {
  TestProcess process(2);
  const std::string url = any_url("ipc");
  REQUIRE(process.cluster->open_control(url, "secret word").ok());
  process.cluster->state().section("keys", [](json& out) { out["keys"] = {{{"key", "w"}}}; });
  std::atomic<bool> computing{true};
  process.launch([&](Node& node) {
    node.stats().begin(process.clock.now());
    if (node.index() == 0) {
      static constexpr EngineCall kCall{Cause::lock, "lock"};
      const Activity activity(node.stats(), kCall);
      (void)node.receive(never, {}, "nothing");
    } else {
      while (computing) std::this_thread::yield();
    }
  });
  Client watcher("secret word");
  REQUIRE(watcher.client.attach(url, kPatience).ok());
  json state = watcher.state();
  while (state["nodes"][0]["state"] != "waiting" || state["nodes"][1]["state"] != "computing") state = watcher.state();
  CHECK(state["nodes"][0]["cause"] == "lock");
  CHECK(state["nodes"][0]["what"] == "lock");
  CHECK(state["nodes"][0]["wait"]["lock"].get<double>() >= 0);
  CHECK_FALSE(state.contains("keys"));
  CHECK(watcher.state({"keys", "unheard of"})["keys"][0]["key"] == "w");
  Client second("secret word");
  REQUIRE(second.client.attach(url, kPatience).ok());
  CHECK(second.state()["run"]["size"] == 2);
  computing = false;
  process.cluster->stop({});
  process.vanish();
  const auto last = watcher.client.next(kPatience);
  REQUIRE(last);
  REQUIRE(last->has_value());
  CHECK(json::parse(**last)["event"] == "ended");
  CHECK(failure_of(watcher.client.state({}, kPatience)).code == Code::peer_lost);
}

TEST_CASE("every host's nodes are observed at the coordinator's address, and nothing is sent without observers") {
  TestRun run("tcp", {1, 2, 1});
  Client watcher;
  REQUIRE(watcher.client.attach(run.coordinator->cluster->bound_url(), kPatience).ok());
  const auto silent = [](const json& node) { return node["state"] == "silent"; };  // on a busy machine, for a while
  json state = watcher.state();
  while (std::any_of(state["nodes"].begin(), state["nodes"].end(), silent)) state = watcher.state();
  REQUIRE(state["nodes"].size() == 4);
  CHECK(state["hosts"].size() == 3);
  CHECK(state["nodes"][3]["host"] == "member102");
  for (const json& node : state["nodes"]) CHECK(node["state"] == "starting");
  run.members[1]->vanish();
  REQUIRE(run.coordinator->wait_for_size(3));
  const json after = watcher.state();
  const bool lost = std::any_of(after["nodes"].begin(), after["nodes"].end(),
                                [](const json& node) { return node["id"] == 3 && node["state"] == "lost"; });
  CHECK(lost);
}

TEST_CASE("an observer needs the run's token") {
  TestProcess process(1);
  const std::string url = any_url("ipc");
  REQUIRE(process.cluster->open_control(url, "secret word").ok());
  Client stranger("another word");
  CHECK(failure_of(stranger.client.attach(url, kPatience)).code == Code::refused);
  Client unconnected;
  CHECK(failure_of(unconnected.client.attach(any_url("ipc"), 0.2)).code == Code::unreachable);
}

TEST_CASE("the reading token observes a run at its socket and its address, and each command is refused by name") {
  TestRun run("tcp", {1, 1}, TestProcess::patient().coordinator.times, "secret word");
  Cluster& coordinator = *run.coordinator->cluster;
  const std::string socket = any_url("ipc");
  REQUIRE(coordinator.open_control(socket, "secret word").ok());
  for (const std::string& url : {socket, coordinator.bound_url()}) {
    CAPTURE(url);
    Client reader(reading_token("secret word"));
    REQUIRE(reader.client.attach(url, kPatience).ok());
    CHECK(reader.state()["run"]["size"] == 2);
    for (const std::string op : {"chunk", "interrupt", "kill", "pause", "go", "barrier", "checkpoint", "new one"}) {
      const std::string command = R"({"op":")" + op + R"(","nodes":"all","source":"ran = 1","id":0,"spec":"asp"})";
      const auto reply = required(reader.client.control(command, kPatience));
      const json result = json::parse(*reply);
      CHECK(result["ok"] == false);
      CHECK(result["code"] == "refused");
      CHECK_THAT(result["message"].get<std::string>(), Contains("'" + op + "'") && Contains("reading token"));
    }
    for (const std::string& hostile : {std::string("[]"), std::string("{"), std::string(size_t{9} << 20, ' ')}) {
      const auto reply = required(reader.client.control(hostile, kPatience));
      CHECK(json::parse(*reply)["ok"] == false);
    }
    CHECK(reader.state()["run"]["paused"] == false);
  }
  CHECK_FALSE(coordinator.ended());
}

TEST_CASE("a reading connection that sends a frame that observers do not send is closed, and changes nothing") {
  TestRun run("tcp", {1, 1}, TestProcess::patient().coordinator.times, "secret word");
  const std::string socket = any_url("ipc");
  REQUIRE(run.coordinator->cluster->open_control(socket, "secret word").ok());
  struct Waiting final : Bystander {
    void on_link_down(LinkId, ProcessId, const std::string&) override { down = true; }
    std::atomic<bool> down{false};
  };
  for (const std::string& url : {socket, run.coordinator->cluster->bound_url(), run.members[0]->cluster->bound_url()}) {
    for (const Kind kind : {Kind::link_hello, cluster_kind::join, cluster_kind::attach, cluster_kind::node_error,
                            cluster_kind::node_ended, cluster_kind::stop, cluster_kind::membership,
                            console_kind::request, console_kind::leave, console_kind::hold, Kind::test, Kind{0x0301}}) {
      INFO(url << ", kind " << static_cast<int>(kind));
      for (const Address dst : {kNoAddress, worker_address(0), service_address(0)}) {
        Waiting events;
        Log log(LogLevel::off);
        StreamTransport reader({.token = reading_token("secret word")}, log, events);
        const auto link = required(reader.dial(url, kPatience));
        CHECK(reader.send_on(*link, make_frame(kind, worker_address(1), dst, 1, "\x01", Blob::copy_of("x"))).ok());
        const double end = run.coordinator->clock.now() + kPatience;
        while (!events.down && run.coordinator->clock.now() < end) std::this_thread::yield();
        CHECK(events.down);
      }
    }
  }
  CHECK_FALSE(run.coordinator->cluster->ended());
  CHECK(run.coordinator->cluster->membership()->size() == 2);
  CHECK(run.members[0]->cluster->coordinator() == 0);
}

TEST_CASE("an observer's malformed frames harm no other observer, and its requests do not fill the memory") {
  TestProcess process(1);
  const std::string url = any_url("ipc");
  REQUIRE(process.cluster->open_control(url, "").ok());
  Bystander quiet;
  Log log(LogLevel::off);
  StreamTransport rude({}, log, quiet);
  const auto link = required(rude.dial(url, kPatience));
  for (const Kind kind : {cluster_kind::join, cluster_kind::node_error, cluster_kind::report, cluster_kind::observe,
                          cluster_kind::stop, Kind::test, Kind{0x0301}}) {
    for (const std::string meta : {"", "x", "\xff\xff\xff\xff\xff"}) {
      (void)rude.send_on(*link, make_frame(kind, worker_address(0), kNoAddress, 7, meta, Blob::copy_of("{")));
    }
  }
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  for (const std::string& body : {deep, "{\"op\":" + deep + "}", "{\"op\":\"chunk\",\"nodes\":[" + deep + "]}",
                                  std::string(size_t{9} << 20, ' '), std::string("{\"op\":\"chunk\",\"nodes\":")}) {
    (void)rude.send_on(*link, make_frame(cluster_kind::control, kNoAddress, kNoAddress, 7, {}, Blob::copy_of(body)));
  }
  Client watcher;
  REQUIRE(watcher.client.attach(url, kPatience).ok());
  CHECK(watcher.state()["run"]["size"] == 1);
  const auto reply = required(watcher.client.control(R"({"op":"barrier","spec":)" + deep + "}", kPatience));
  CHECK(json::parse(*reply)["ok"] == false);
  CHECK_FALSE(process.cluster->ended());
  rude.close();
}

TEST_CASE("commands with a value of another type in any field get a reply, and change nothing") {
  TestProcess process(1);
  const std::string url = any_url("ipc");
  REQUIRE(process.cluster->open_control(url, "").ok());
  Client client;
  REQUIRE(client.client.attach(url, kPatience).ok());
  for (const char* op : {"\"chunk\"", "\"interrupt\"", "\"kill\"", "\"barrier\"", "\"nothing\"", "3", "[]", "null"}) {
    for (const char* field : {"source", "name", "mode", "limit", "nodes", "chunk", "id", "spec", "op"}) {
      for (const char* value : {"null", "-1", "1.5", "1e300", "true", "\"\"", "\"spmd\"", "[]", "{}", "[[]]", "[-1]",
                                "[1e9]", "18446744073709551615", "[\"server 1\"]"}) {
        const std::string command = std::string("{\"op\":") + op + ",\"nodes\":[7],\"" + field + "\":" + value + "}";
        const auto reply = client.client.control(command, kPatience);
        INFO(command);
        REQUIRE(reply);
        CHECK(json::parse(*reply).contains("ok"));
      }
    }
  }
  CHECK(client.state()["run"]["paused"] == false);
  CHECK_FALSE(process.cluster->ended());
}

TEST_CASE("an observer with a thousand concurrent requests gets replies, and so do the others") {
  TestRun run("tcp", {1, 1});
  struct Counting final : Bystander {
    void on_service_frame(LinkId, Frame&& frame) override {
      if (frame.kind == cluster_kind::observed) ++replies;
    }
    std::atomic<int> replies{0};
  } counting;
  Log log(LogLevel::off);
  StreamTransport eager({}, log, counting);
  const auto link = required(eager.dial(run.coordinator->cluster->bound_url(), kPatience));
  for (uint32_t i = 0; i < 1000; ++i) {
    REQUIRE(eager.send_on(*link, make_frame(cluster_kind::observe, kNoAddress, kNoAddress, i, pack(ObserveMessage{})))
                .ok());
  }
  Client watcher;
  REQUIRE(watcher.client.attach(run.coordinator->cluster->bound_url(), kPatience).ok());
  CHECK(watcher.state()["run"]["size"] == 2);
  while (counting.replies < 8) (void)watcher.state();
  eager.close();
}

TEST_CASE("an observer whose requests arrive far faster than replies leave is disconnected") {
  TestProcess process(1);
  const std::string url = any_url("ipc");
  REQUIRE(process.cluster->open_control(url, "").ok());
  std::atomic<bool> blocks{true};
  process.cluster->request_state({}, [&](const std::string&) {  // on the service thread
    while (blocks) std::this_thread::yield();
  });
  Client eager;
  REQUIRE(eager.client.attach(url, kPatience).ok());
  const std::string large = R"({"op":"none","source":")" + std::string(size_t{7} << 20, 'x') + R"("})";
  for (int i = 0; i < 4; ++i) (void)eager.client.control(large, 0.01);
  CHECK(process.wait_for_log("it has too many pending requests"));
  blocks = false;
  Client watcher;
  REQUIRE(watcher.client.attach(url, kPatience).ok());
  CHECK(watcher.state()["run"]["size"] == 1);
}

TEST_CASE("an observer that does not read its replies is disconnected, and the others continue", "[deep]") {
  TestProcess process(1);
  const std::string url = any_url("ipc");
  REQUIRE(process.cluster->open_control(url, "").ok());
  struct Deaf final : Bystander {
    void on_link_down(LinkId, ProcessId, const std::string&) override { down = true; }
    void on_service_frame(LinkId, Frame&&) override {
      while (!reads) std::this_thread::yield();
    }
    std::atomic<bool> reads{false}, down{false};
  } deaf;
  Log log(LogLevel::off);
  StreamTransport eager({}, log, deaf);
  const auto link = required(eager.dial(url, kPatience));
  Client watcher;
  REQUIRE(watcher.client.attach(url, kPatience).ok());
  const std::string command = R"({"op":")" + std::string(100'000, 'x') + R"("})";
  for (int i = 0; i < 600; ++i) {
    if (i % 50 == 0) CHECK(watcher.state()["run"]["size"] == 1);  // then the earlier commands have been answered
    Frame frame = make_frame(cluster_kind::control, kNoAddress, kNoAddress, 7, {}, Blob::copy_of(command));
    while (true) {
      const Status sent = eager.send_on(*link, std::move(frame));
      if (sent.ok() || sent.error().code != Code::full) break;
      std::this_thread::yield();
    }
  }
  CHECK(process.wait_for_log("it does not read the replies to its requests"));
  CHECK(watcher.state()["run"]["size"] == 1);
  deaf.reads = true;
  const double end = process.clock.now() + kPatience;
  while (!deaf.down && process.clock.now() < end) std::this_thread::yield();
  CHECK(deaf.down);
  eager.close();
}
