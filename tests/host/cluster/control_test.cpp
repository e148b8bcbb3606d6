// Looking into a run over its control socket and its address: ControlClient against a Cluster with real sockets.

#include <nlohmann/json.hpp>

#include "host/cluster/control_client.hpp"
#include "tests/host/cluster/test_process.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;
using nlohmann::json;

namespace {

struct Client {
  explicit Client(const std::string& token = "", bool read_only = false)
      : log(LogLevel::off), client(options_of(token), clock, log, read_only, {}) {}
  static StreamOptions options_of(const std::string& token) {
    StreamOptions options;
    options.token = token;
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

TEST_CASE("a run without sockets is looked into at its control socket, while its nodes wait and compute") {
  TestProcess process(TestProcess::alone(2));
  REQUIRE(process.start().ok());
  const std::string url = any_url("ipc");
  REQUIRE(process.cluster->open_control(url, "secret word").ok());
  process.cluster->state().section("keys", [](json& out) { out["keys"] = {{{"key", "w"}}}; });
  std::atomic<bool> computing{true};
  process.launch([&](Node& node) {
    node.stats().begin(process.clock.now());
    if (node.index() == 0) {
      const Activity activity(node.stats(), Cause::lock, "lock");
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
  const auto gone = watcher.client.state({}, kPatience);
  REQUIRE_FALSE(gone);
  CHECK(gone.error().code == Code::peer_lost);
}

TEST_CASE("every host's nodes are seen from the rendezvous host's address, and nothing is sent when nobody looks") {
  TestRun run("tcp", {1, 2, 1});
  Client watcher;
  REQUIRE(watcher.client.attach(run.head->cluster->bound_url(), kPatience).ok());
  const json state = watcher.state();
  REQUIRE(state["nodes"].size() == 4);
  CHECK(state["hosts"].size() == 3);
  CHECK(state["nodes"][3]["host"] == "member102");
  for (const json& node : state["nodes"]) CHECK(node["state"] == "starting");
  run.members[1]->vanish();
  REQUIRE(run.head->wait_for_size(3));
  const json after = watcher.state();
  const bool lost = std::any_of(after["nodes"].begin(), after["nodes"].end(),
                                [](const json& node) { return node["id"] == 3 && node["state"] == "lost"; });
  CHECK(lost);
}

TEST_CASE("who looks into a run needs its token, and says so when it only reads") {
  TestProcess process(TestProcess::alone(1));
  REQUIRE(process.start().ok());
  const std::string url = any_url("ipc");
  REQUIRE(process.cluster->open_control(url, "secret word").ok());
  Client stranger("another word");
  const Status refused = stranger.client.attach(url, kPatience);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::refused);
  Client nobody;
  const Status missing = nobody.client.attach(any_url("ipc"), 0.2);
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().code == Code::unreachable);
  Client reader("secret word", true);
  REQUIRE(reader.client.attach(url, kPatience).ok());
  const auto command = reader.client.control(R"({"op":"pause"})", kPatience);
  REQUIRE_FALSE(command);
  CHECK_THAT(command.error().message, Contains("--read-only"));
  CHECK(reader.state()["run"]["size"] == 1);
}

TEST_CASE("an observer that sends what none sends harms nobody, and one that only asks does not fill the memory") {
  TestProcess process(TestProcess::alone(1));
  REQUIRE(process.start().ok());
  const std::string url = any_url("ipc");
  REQUIRE(process.cluster->open_control(url, "").ok());
  struct Quiet final : LinkEvents {
    void on_link_up(LinkId, bool, const std::string&) override {}
    void on_link_down(LinkId, ProcessId, const std::string&) override {}
    void on_service_frame(LinkId, Frame&&) override {}
    void on_link_wanted(ProcessId) override {}
  } quiet;
  Log log(LogLevel::off);
  StreamTransport rude({}, log, quiet);
  const auto link = rude.dial(url, kPatience);
  REQUIRE(link);
  for (const Kind kind : {cluster_kind::join, cluster_kind::node_error, cluster_kind::report, cluster_kind::observe,
                          cluster_kind::stop, Kind::test, Kind{0x0301}}) {
    for (const std::string meta : {"", "x", "\xff\xff\xff\xff\xff"}) {
      (void)rude.send_on(*link, make_frame(kind, worker_address(0), kNoAddress, 7, meta, Blob::copy_of("{")));
    }
  }
  Client watcher;
  REQUIRE(watcher.client.attach(url, kPatience).ok());
  CHECK(watcher.state()["run"]["size"] == 1);
  CHECK_FALSE(process.cluster->ended());
  rude.close();
}
