// Requests for the state of a run and their reports: Observers by hand, without threads.

#include "host/cluster/look/observers.hpp"

#include <nlohmann/json.hpp>

#include "host/cluster/look/straggler.hpp"
#include "tests/test.hpp"

using nlohmann::json;

namespace {

/// A coordinator with a worker, and two hosts with two workers each.
struct World {
  ManualClock clock{100};
  ProcessState state{clock};
  MembershipPtr table = std::make_shared<const Membership>(
      3, std::vector<Member>{{0, 0}, {1, 1}, {2, 1}, {5, 2}, {6, 2}},
      std::vector<ProcessInfo>{{0, "alpha:1", "u0"}, {1, "beta:2", "u1"}, {2, "gamma:3", "u2"}});
  std::set<ProcessId> silent;
  std::vector<std::pair<ProcessId, uint32_t>> requests;
  std::vector<std::string> wanted;
  std::vector<json> states;
  Observers observers{{state, [this] { return table; },
                       [this](ProcessId process, uint32_t number, const std::vector<std::string>& sections) {
                         requests.emplace_back(process, number);
                         wanted = sections;
                         return true;
                       },
                       [this](ProcessId) { return clock.now() - 0.5; }, [this] { return silent; },
                       [](json& run) { run["job"] = "job.lua"; }}};
  std::shared_ptr<NodeStats> own = state.add_node(worker_address(0), [] { return size_t{3}; });

  void request(const std::vector<std::string>& sections = {}) {
    requests.clear();
    observers.request_state(
        sections, [this](const std::string& text) { states.push_back(json::parse(text)); }, clock.now());
  }
  /// The process's report for the newest request.
  void report(ProcessId process, const json& report) {
    observers.on_report(process, requests.back().second, report.dump(), clock.now());
  }
};

/// Two hosts; the second has two workers.
struct TwoWorkers : World {
  TwoWorkers() {
    table = std::make_shared<const Membership>(1, std::vector<Member>{{1, 1}, {2, 1}},
                                               std::vector<ProcessInfo>{{0, "a", ""}, {1, "b", ""}});
  }
};

json row(NodeId id, double waited, double seconds, uint64_t calls = 0) {
  return {{"id", id},           {"role", "worker"}, {"state", "computing"}, {"wait", {{"collective", waited}}},
          {"seconds", seconds}, {"step", 10},       {"calls", calls}};
}

json nodes_of(std::vector<json> rows) { return {{"nodes", std::move(rows)}, {"t", 1}, {"rss", 1000}, {"cpu", 0.5}}; }

const json& node_of(const json& state, NodeId id) {
  for (const json& node : state["nodes"]) {
    if (node["id"] == id && node["role"] == "worker") return node;
  }
  FAIL("no worker " << id);
  return state;
}

}  // namespace

TEST_CASE("a request goes to every other process once, and is answered when all have reported") {
  World world;
  world.request({"keys"});
  REQUIRE(world.requests.size() == 2);
  CHECK(world.wanted == std::vector<std::string>{"keys"});
  CHECK(world.states.empty());
  json first = nodes_of({row(1, 0, 1), row(2, 0, 1)});
  first["keys"] = {{{"key", "a"}}};
  first["series"] = {{"loss", {1}}};
  world.report(1, first);
  CHECK(world.states.empty());
  json second = nodes_of({row(5, 0, 1), row(6, 0, 1)});
  second["keys"] = {{{"key", "b"}}};
  second["series"] = {{"loss", {2}}, {"rate", {3}}};
  world.report(2, second);
  REQUIRE(world.states.size() == 1);
  const json& state = world.states[0];
  CHECK(state["run"]["size"] == 5);
  CHECK(state["run"]["epoch"] == 3);
  CHECK(state["run"]["job"] == "job.lua");
  CHECK(state["keys"].size() == 2);
  CHECK(state["series"]["loss"].size() == 2);
  CHECK(state["series"]["rate"].size() == 1);
  REQUIRE(state["nodes"].size() == 5);
  CHECK(node_of(state, 5)["name"] == "rank 3");
  CHECK(node_of(state, 5)["rank"] == 3);
  CHECK(node_of(state, 5)["host"] == "gamma:3");
  CHECK(node_of(state, 0)["queue"] == 3);
  CHECK(state["hosts"][1]["rss"] == 1000);
  CHECK(state["hosts"][1]["age"] == Approx(0.5));
  CHECK(world.observers.next_time() == kForever);
}

TEST_CASE("a process that does not report in time, or was silent before, is shown as silent") {
  World world;
  world.silent = {2};
  world.request();
  CHECK(world.observers.next_time() == Approx(100 + Observers::kReportSeconds));
  world.clock.advance(Observers::kReportSeconds);
  world.observers.tick(world.clock.now());
  REQUIRE(world.states.size() == 1);
  CHECK(node_of(world.states[0], 2)["state"] == "silent");
  CHECK(node_of(world.states[0], 6)["state"] == "silent");
  CHECK(node_of(world.states[0], 0)["state"] == "starting");
  CHECK(world.states[0]["hosts"][1]["silent"] == true);
  world.report(1, nodes_of({row(1, 0, 1)}));  // too late for that request
  CHECK(world.states.size() == 1);

  world.request();  // waits only for the process without an earlier silence
  world.observers.on_report(1, world.requests.back().second, nodes_of({row(1, 0, 1), row(2, 0, 1)}).dump(), 100);
  REQUIRE(world.states.size() == 2);
  CHECK(node_of(world.states[1], 2)["state"] == "computing");
}

TEST_CASE("malformed reports harm no others") {
  World world;
  const std::string deep = "{\"nodes\":" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}";
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("{\"nodes\":3}"), deep}) {
    world.request();
    const uint32_t number = world.requests.back().second;
    world.observers.on_report(1, number, text, world.clock.now());
    world.observers.on_report(2, number + 1, "{}", world.clock.now());  // to an unknown request
    world.observers.on_report(
        2, number,
        R"({"nodes":[1,{"id":5},{"id":6,"role":"worker","state":"computing","wait":{},"seconds":"x","step":-1}],"run":[],"hosts":4})",
        world.clock.now());
  }
  REQUIRE(world.states.size() == 5);
  CHECK(node_of(world.states[0], 1)["state"] == "silent");
  CHECK(world.states[0]["run"]["job"] == "job.lua");
  CHECK(world.states[0]["hosts"].size() == 3);
}

TEST_CASE("lost workers stay in the list, with the reason") {
  World world;
  world.table = std::make_shared<const Membership>(4, std::vector<Member>{{0, 0}},
                                                   std::vector<ProcessInfo>{{0, "alpha:1", "u0"}});
  world.clock.set(107);
  world.observers.on_lost("beta:2", {1, 2}, "no heartbeat for 2.5 s");
  world.request();
  REQUIRE(world.states.size() == 1);
  CHECK(node_of(world.states[0], 2)["state"] == "lost");
  CHECK(node_of(world.states[0], 2)["reason"] == "no heartbeat for 2.5 s");
  CHECK(node_of(world.states[0], 2)["lost_at"] == Approx(7));
}

TEST_CASE("a silent or lost worker has its last reported row") {
  World world;
  world.request();
  world.report(1, nodes_of({row(1, 0.25, 4, 7), row(2, 0, 4)}));
  world.report(2, nodes_of({row(5, 0, 4), row(6, 0, 4)}));
  world.silent = {1, 2};
  world.request();
  REQUIRE(world.states.size() == 2);
  const json& silent = node_of(world.states[1], 1);
  CHECK(silent["state"] == "silent");
  CHECK(silent["since"] == Approx(0.5));
  CHECK(silent["calls"] == 7);
  CHECK(silent["rank"] == 1);
  world.observers.on_lost("beta:2", {1, 2}, "closed by the peer");
  const MembershipPtr before = world.table;
  world.table =
      std::make_shared<const Membership>(4, std::vector<Member>{{0, 0}, {5, 2}, {6, 2}},
                                         std::vector<ProcessInfo>{{0, "alpha:1", "u0"}, {2, "gamma:3", "u2"}});
  world.observers.on_members(*before, *world.table);
  world.request();
  const json& lost = node_of(world.states[2], 1);
  CHECK(lost["state"] == "lost");
  CHECK(lost["step"] == 10);
  CHECK(lost["wait"]["collective"] == 0.25);
  CHECK(!lost.contains("rank"));
  CHECK(!lost.contains("since"));
  CHECK(node_of(world.states[2], 5)["rank"] == 1);
}

TEST_CASE("the missing workers of a collective are those that have entered fewer than the foremost") {
  World world;
  world.request();
  json waiting = row(1, 1, 2, 8);
  waiting["state"] = "waiting";
  waiting["cause"] = "collective";
  waiting["what"] = "allreduce";
  waiting["with_all"] = true;
  json other = waiting;
  other["id"] = 5;
  const uint32_t number = world.requests.back().second;
  world.observers.on_report(1, number, nodes_of({waiting, row(2, 0, 2, 7)}).dump(), 100);
  world.observers.on_report(2, number, nodes_of({other, row(6, 0, 2, 8)}).dump(), 100);
  REQUIRE(world.states.size() == 1);
  CHECK(world.states[0]["collective"]["what"] == "allreduce");
  CHECK(world.states[0]["collective"]["missing"] == json({0, 2}));
}

TEST_CASE("a worker in a group's collective waits for no others, and a worker that waits to join is not missing") {
  World world;
  world.request();
  json in_group = row(1, 1, 2, 9);
  in_group["state"] = "waiting";
  in_group["cause"] = "collective";
  in_group["what"] = "allreduce";
  json with_all = in_group;
  with_all["id"] = 5;
  with_all["calls"] = 8;
  with_all["with_all"] = true;
  json late = in_group;
  late["id"] = 6;
  late["calls"] = 0;
  late["what"] = "joining";
  world.report(1, nodes_of({in_group, row(2, 0, 2, 8)}));
  world.report(2, nodes_of({with_all, late}));
  REQUIRE(world.states.size() == 1);
  CHECK(world.states[0]["collective"]["calls"] == 8);
  CHECK(world.states[0]["collective"]["missing"] == json({0}));
}

TEST_CASE("a sleeping script waits for no node, and servers have no steps") {
  World world;
  const auto server = world.state.add_node(server_address(0), {});
  world.table = std::make_shared<const Membership>(1, std::vector<Member>{{0, 0}},
                                                   std::vector<ProcessInfo>{{0, "alpha:1", "u0"}});
  world.own->begin(100);
  static constexpr EngineCall kCall{Cause::sleep, "sleep"};
  const Activity activity(*world.own, kCall);
  world.own->blocked(101);
  world.clock.set(104);
  world.request();
  const json& node = node_of(world.states.at(0), 0);
  CHECK(node["state"] == "waiting");
  CHECK(node["cause"] == "sleep");
  CHECK(node["slept"] == Approx(3));
  CHECK(node["wait"].empty());
  const json& other = world.states[0]["nodes"][1];
  CHECK(other["name"] == "server 0");
  CHECK_FALSE(other.contains("step"));
}

TEST_CASE("the straggler is the worker that waits least while the others wait") {
  using Shares = std::vector<WaitShare>;
  CHECK_FALSE(straggler_of({}));
  CHECK_FALSE(straggler_of(Shares{{0, 0, 10, 5}}));
  CHECK_FALSE(straggler_of(Shares{{0, 0.1, 10, 5}, {1, 0.2, 10, 5}}));   // no worker waits much
  CHECK_FALSE(straggler_of(Shares{{0, 4, 10, 5}, {1, 5, 10, 5}}));       // all wait, as for the server
  CHECK_FALSE(straggler_of(Shares{{0, 0.04, 0.1, 5}, {1, 0, 0.1, 5}}));  // for a moment
  CHECK(straggler_of(Shares{{0, 6, 10, 5}, {1, 0.5, 10, 5}, {2, 7, 10, 5}}) == 1U);
  CHECK(straggler_of(Shares{{0, 0, 10, 9}, {1, 8, 10, 9}, {2, 0, 10, 3}, {3, 8, 10, 9}}) == 2U);  // fewer steps
  CHECK_FALSE(straggler_of(Shares{{0, 0, 0, 0}, {1, 0, 0, 0}}));
}

TEST_CASE("a new straggler is found although it was quick before") {
  TwoWorkers world;
  const auto state_after = [&](double first, double second, double seconds) {
    world.clock.set(100 + seconds);
    world.request();
    world.report(1, nodes_of({row(1, first, seconds), row(2, second, seconds)}));
    return world.states.back();
  };
  CHECK(node_of(state_after(80, 1, 100), 2).value("straggler", false));
  const json later = state_after(80.1, 9, 110);  // in the ten seconds between them it was the other worker
  CHECK(node_of(later, 1).value("straggler", false));
  CHECK_FALSE(node_of(later, 2).value("straggler", false));
}

TEST_CASE("a worker that waits for an event in its step, while the others wait for its step, is the straggler") {
  TwoWorkers world;
  world.request();
  json first = row(1, 80, 100);
  json second = row(2, 1, 100);
  second["wait"]["event"] = 98;
  world.report(1, nodes_of({first, second}));
  CHECK(node_of(world.states.back(), 2).value("straggler", false));
  first["wait"] = {{"event", 80}};  // waiting for events alone counts as waiting for others
  second["wait"] = {{"event", 1}};
  world.request();
  world.report(1, nodes_of({first, second}));
  CHECK(node_of(world.states.back(), 2).value("straggler", false));
}

TEST_CASE("two requests in a row judge the straggler by the same seconds") {
  TwoWorkers world;
  for (const double seconds : {20.0, 20.1, 20.2}) {  // meanwhile worker 2, the straggler, waits for a moment itself
    world.clock.set(100 + seconds);
    world.request();
    world.report(1, nodes_of({row(1, 10, seconds), row(2, seconds - 20, seconds)}));
    CHECK(node_of(world.states.back(), 2).value("straggler", false));
    CHECK_FALSE(node_of(world.states.back(), 1).value("straggler", false));
  }
}
