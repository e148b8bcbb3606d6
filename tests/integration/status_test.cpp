// `actorhost status` and `top` on runs of this machine and of other machines.

#include "tests/integration/observer.hpp"
#include "tests/test.hpp"

using nlohmann::json;

namespace {

double sum_in(const json& state, const std::string& section, const std::string& name) {
  double sum = 0;
  for (const json& row : state.value(section, json::array())) sum += row.value(name, 0.0);
  return sum;
}

size_t count_in(const json& state, const std::string& name, const json& value) {
  size_t count = 0;
  for (const json& node : state.at("nodes")) count += node.value(name, json()) == value ? 1U : 0U;
  return count;
}

}  // namespace

TEST_CASE("status shows the computing nodes and the awaited nodes, in threads, processes and hosts", "[deep]") {
  const auto folder = std::make_unique<JobFolder>();
  for (const Words& place : {Words{"-n", "3"}, Words{"-n", "3", "--isolate"}}) {
    const std::string file = "done" + std::to_string(place.size());
    Process run = folder->start(with(place, {"jobs/status.lua", "computing", file}));
    const json state = state_when(
        *folder, {}, [](const json& s) { return count_in(s, "cause", "collective") == 2 && s.contains("collective"); });
    CHECK(state["collective"]["missing"] == json({2}));
    CHECK(state["run"]["job"] == "status.lua");
    CHECK(count_in(state, "straggler", true) <= 1);
    const Ended table(folder->run({"status", "--sort", "wait"}));
    CHECK_THAT(table.out, Contains("status.lua: 3 workers on 1 machine") && Contains("in allreduce for worker 2"));
    const Ended twice(folder->run({"top", "--count", "2", "--every", "0.1"}));
    CHECK(count_of(twice.out, "status.lua: 3 workers") == 2);
    folder->write(file, "");
    const Ended ended({run}, 20);
  }
  Hosts hosts(*folder, 3, {"-n", "2", "jobs/status.lua", "computing", "done"});
  const json state = state_when(*folder, {"--attach", hosts.endpoint()},
                                [](const json& s) { return count_in(s, "cause", "collective") == 5; });
  CHECK(state["collective"]["missing"].size() == 1);
  CHECK(state["hosts"].size() == 3);
  CHECK(state["run"]["size"] == 6);
  (void)state_when(*folder, {"--attach"}, [](const json& s) { return count_in(s, "cause", "collective") == 5; });
  {
    Process second = folder->start({"-n", "1", "jobs/status.lua", "computing", "never"});
    Finished several;
    CHECK(wait_until([&] { return (several = folder->run({"status"})).status == 3; }, 20));
    CHECK_THAT(several.err, Contains("several runs") && Contains("--attach"));
  }
  // The host with the computing worker is spared: without it the others' call, and with it the run, would end.
  const std::string computes = state["nodes"].back()["host"];
  hosts[computes.ends_with(":" + std::to_string(hosts[1].pid())) ? 2 : 1].signal(SIGKILL);
  const json after = state_when(*folder, {"--attach", hosts.endpoint()},
                                [](const json& s) { return count_in(s, "state", "lost") == 2; });
  CHECK(after["run"]["size"] == 4);
  const Ended shown(folder->run({"status", "--attach", hosts.endpoint()}));
  CHECK_THAT(shown.out, Contains("2 lost") && Contains("lost: "));
}

TEST_CASE("status reports the reason when it cannot attach") {
  const JobFolder folder;
  const Finished nothing = folder.run({"status"});
  CHECK(nothing.status == 3);
  CHECK_THAT(nothing.err, Contains("no run of yours") && Contains("--attach HOST:PORT"));
  const FreePort port;
  const Finished unreachable = folder.run({"status", "--attach", port.endpoint()});
  CHECK(unreachable.status == 3);
  CHECK_THAT(unreachable.err, Contains("cannot attach to " + port.endpoint()));
  for (const Words& words : {Words{"status", "--sort", "x"}, Words{"status", "here"}, Words{"top", "--every", "0"},
                             Words{"status", "--jason"}, Words{"top", "--sort", "x"}}) {
    const Ended wrong(folder.run(words), 2);
  }
  Process run = folder.start({"-n", "1", "jobs/status.lua", "computing", "done"});
  (void)state_when(folder, {}, [](const json& s) { return count_in(s, "state", "computing") == 1; });
  folder.write("token", "this is another token than theirs");
  std::filesystem::permissions(folder.path() / "token", std::filesystem::perms::owner_read);
  const Finished refused = folder.run({"status", "--token-file", "token"});
  CHECK(refused.status == 3);
  CHECK_THAT(refused.err, Contains("--token-file"));
  folder.write("done", "");
  CHECK(run.wait(20) == 0);
  CHECK(folder.run({"status"}).status == 3);
  CHECK(names_in(folder.path() / "actorhost").empty());  // no file and no socket is left
}

TEST_CASE("the sums of a run's state agree in threads, processes and hosts: steps, updates, keys, links, waits") {
  const JobFolder folder;
  const std::string place = GENERATE(from_range(places()));
  PlacedRun run(folder, place, {"--servers", "2", "jobs/status.lua", "steps", "done", "0", "7"});
  const json state = state_when(folder, run.attach(), [](const json& s) { return count_in(s, "what", "sleep") == 3; });
  INFO(state.dump(1));
  const double steps = sum_in(state, "nodes", "step");
  CHECK(steps >= 21);
  CHECK(sum_in(state, "nodes", "updates") == 2 * steps);
  CHECK(sum_in(state, "keys", "updates") == 2 * steps);
  CHECK(sum_in(state, "keys", "version") == 2 * steps + 2);  // each key was also set once
  CHECK(state["barrier"].at(0)["waiting"].empty());          // the parameter server's run is over
  CHECK(state["barrier"][0]["passed"].get<double>() >= steps);
  CHECK(count_in(state, "straggler", true) <= 1);  // a worker that starts late on a busy machine is a straggler
  CHECK_FALSE(state.contains("t"));
  for (const json& node : state["nodes"]) {
    double waited = node.value("slept", 0.0);
    for (const auto& [cause, seconds] : node["wait"].items()) waited += seconds.get<double>();
    CHECK(waited <= node["seconds"].get<double>());
    CHECK(node["since"].get<double>() >= 0);
    CHECK(node["lua_bytes"].get<double>() > 10'000);
    CHECK(node.contains("step") == (node["role"] == "worker"));
  }
  std::map<std::pair<int, int>, json> links;
  for (const json& link : state.value("links", json::array())) links[{link["from"], link["to"]}] = link;
  CHECK(links.empty() == (place == "threads"));
  CHECK((links.empty() || sum_in(state, "links", "sent") > 300'000));
  for (const auto& [ends, link] : links) {
    // Processes report at different moments; the snapshot itself and heartbeats are in flight between these.
    const json other = links.at({ends.second, ends.first});
    CHECK(link["sent"].get<double>() == Approx(other["received"].get<double>()).margin(20'000));
  }
  folder.write("done", "");
  const Ended ended = run.end();
}

TEST_CASE("only the straggler that --inject slows by sleeping is marked") {
  const JobFolder folder;
  Process run =
      folder.start({"-n", "3", "--inject", "straggler=0.34:6x", "jobs/status.lua", "steps", "done", "0.01", "1e9"});
  // On a busy machine another worker is the straggler for a while.
  const json state = state_when(folder, {}, [](const json& s) {
    if (sum_in(s, "nodes", "step") <= 20) return false;
    const auto right = [](const json& node) {
      return node.value("straggler", false) == (node["role"] == "worker" && node["slept"].get<double>() > 0);
    };
    return std::all_of(s["nodes"].begin(), s["nodes"].end(), right);
  });
  CHECK(count_in(state, "straggler", true) == 1);
  run.signal(SIGINT);
  CHECK(run.wait(20) == 130);
}

TEST_CASE("a late joiner has the same number of collectives as the others, so no worker waits for it") {
  const JobFolder folder;
  const FreePort port;
  const Words words = elastic_words(port, "1:2", {"-n", "1", "jobs/status.lua", "late", "done"});
  Process first = folder.start(words);
  INFO(first.describe());
  REQUIRE(first.wait_for_output("begun", 20));
  Process second = folder.start(words);
  const json state = state_when(folder, {"--attach", port.endpoint()},
                                [](const json& s) { return count_in(s, "what", "sleep") == 2; });
  INFO(state.dump(1));
  CHECK(state["nodes"][0]["calls"] == state["nodes"][1]["calls"]);
  CHECK(state["nodes"][0]["calls"].get<int>() > 6);
  folder.write("done", "");
  const Ended both({first, second}, 20);
}

TEST_CASE("status shows the nodes of three hosts while all are inside kernels") {
  const JobFolder folder;
  Hosts hosts(folder, 3, {"-n", "1", "jobs/status.lua", "kernel", "done"});
  for (const char* name : {"in0.1", "in1.1", "in2.1"}) {
    REQUIRE(wait_until([&] { return std::filesystem::exists(folder.path() / name); }, 20));
  }
  // Repeats until no node begins another product between request and reply. On a busy machine a host may reply too
  // late; then it is shown as suspected.
  const bool inside = wait_until(
      [&] {
        const auto before = names_in(folder.path());
        const Ended viewed(folder.run({"repl", "--attach", hosts.endpoint(), "-e", ":nodes"}));
        return count_of(viewed.out, "computing") == 3 && names_in(folder.path()) == before;
      },
      60);
  folder.write("done", "");
  CHECK(inside);
  CHECK(hosts.wait(30) == std::vector<int>{0, 0, 0});
}

TEST_CASE("the files of a killed run are ignored, even if another process has its process id") {
  const JobFolder folder;
  std::filesystem::create_directory(folder.path() / "actorhost");
  std::filesystem::permissions(folder.path() / "actorhost", std::filesystem::perms::owner_all);
  const std::string left = "actorhost/" + std::to_string(getpid());
  folder.write(left + ".json", R"({"url":"ipc:///nowhere.sock","meeting":"","job":"old.lua","started":1,"begun":1})");
  folder.write(left + ".sock", "");
  CHECK_THAT(Ended(folder.run({"status"}), 3).err, Contains("no run of yours"));
  CHECK(names_in(folder.path() / "actorhost").empty());
}

TEST_CASE("status shows the worker that peers wait for, under rules with and without a sample", "[deep]") {
  const JobFolder folder;
  const auto& [rule, place] = GENERATE(table<std::string, Words>({{"bsp", {"-n", "3"}},
                                                                  {"ssp:1", {"-n", "3", "--isolate"}},
                                                                  {"pbsp:9@sticky", {"-n", "3", "--isolate"}},
                                                                  {"asp", {"-n", "3"}}}));
  Process run = folder.start(with(place, {"jobs/status.lua", "peers", "done", rule}));
  // At the start peers may also wait for worker 2 while it waits itself.
  const auto is_settled = [](const json& s) {
    size_t long_ones = 0;
    for (const json& node : s["nodes"]) long_ones += node.contains("for") && node.value("since", 0.0) > 2 ? 1U : 0U;
    return long_ones == 2 && count_in(s, "for", json({2})) == 2;
  };
  const json state = state_when(folder, {}, is_settled);
  CHECK(count_in(state, "cause", "peer") == 2);
  if (rule != "asp") {
    const json waiting = state["barrier"][0]["waiting"];
    CHECK(waiting.size() == 2);
    for (const json& one : waiting) CHECK(one["for"] == json({2}));
  }
  CHECK_THAT(Ended(folder.run({"status"})).out,
             Contains(rule == "asp" ? "for worker 2" : "at the barrier for worker 2"));
  folder.write("done", "");
  const Ended ended({run}, 20);
}
