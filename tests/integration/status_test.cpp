// `actorhost status` and `top`: looking into runs of this machine and of others.

#include <csignal>
#include <fstream>

#include <nlohmann/json.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;
using nlohmann::json;

namespace {

/// What `status --json` says once `there` holds for it.
json status_when(const JobFolder& folder, const Words& words, const std::function<bool(const json&)>& there) {
  json state;
  std::string said;
  const bool came = wait_until(
      [&] {
        const Finished looked = folder.run(with(with({"status"}, words), {"--json"}));
        said = looked.description;
        state = json::parse(looked.out, nullptr, false);
        return looked.status == 0 && state.is_object() && there(state);
      },
      20);
  INFO(said);
  REQUIRE(came);
  return state;
}

size_t count_in(const json& state, const std::string& name, const json& value) {
  size_t count = 0;
  for (const json& node : state.at("nodes")) count += node.value(name, json()) == value ? 1U : 0U;
  return count;
}

}  // namespace

TEST_CASE("status shows who computes and who waits for whom, in threads, processes and hosts") {
  const auto folder = std::make_unique<JobFolder>();
  for (const Words& place : {Words{"-n", "3"}, Words{"-n", "3", "--isolate"}}) {
    const std::string file = "done" + std::to_string(place.size());
    Process run = folder->start(with(place, {"jobs/status.lua", "computing", file}));
    const json state = status_when(
        *folder, {}, [](const json& s) { return count_in(s, "cause", "collective") == 2 && s.contains("collective"); });
    CHECK(state["collective"]["missing"] == json({2}));
    CHECK(state["run"]["job"] == "status.lua");
    CHECK(count_in(state, "straggler", true) <= 1);
    const Ended table(folder->run({"status", "--sort", "wait"}));
    CHECK_THAT(table.out, Contains("status.lua: 3 workers on 1 machine") && Contains("in allreduce for worker 2"));
    const Ended twice(folder->run({"top", "--count", "2", "--every", "0.1"}));
    CHECK(count_of(twice.out, "status.lua: 3 workers") == 2);
    folder->write(file, "");
    INFO(run.describe());
    CHECK(run.wait(20) == 0);
  }
  Hosts hosts(*folder, 3, {"-n", "2", "jobs/status.lua", "computing", "done"});
  const json state = status_when(*folder, {"--attach", hosts.endpoint()},
                                 [](const json& s) { return count_in(s, "cause", "collective") == 5; });
  CHECK(state["collective"]["missing"].size() == 1);
  CHECK(state["hosts"].size() == 3);
  CHECK(state["run"]["size"] == 6);
  (void)status_when(*folder, {"--attach"}, [](const json& s) { return count_in(s, "cause", "collective") == 5; });
  {
    Process second = folder->start({"-n", "1", "jobs/status.lua", "computing", "never"});
    Finished several;
    CHECK(wait_until([&] { return (several = folder->run({"status"})).status == 3; }, 20));
    CHECK_THAT(several.err, Contains("several runs") && Contains("--attach"));
  }
  // The host whose worker computes stays: without it the others' call, and with it the run, would be over.
  const std::string computes = state["nodes"].back()["host"];
  hosts[computes.ends_with(":" + std::to_string(hosts[1].pid())) ? 2 : 1].signal(SIGKILL);
  const json after = status_when(*folder, {"--attach", hosts.endpoint()},
                                 [](const json& s) { return count_in(s, "state", "lost") == 2; });
  CHECK(after["run"]["size"] == 4);
  const Ended shown(folder->run({"status", "--attach", hosts.endpoint()}));
  CHECK_THAT(shown.out, Contains("2 lost") && Contains("lost: "));
}

TEST_CASE("status says what is wrong when it cannot look") {
  const JobFolder folder;
  const Finished nothing = folder.run({"status"});
  CHECK(nothing.status == 3);
  CHECK_THAT(nothing.err, Contains("no run of yours") && Contains("--attach HOST:PORT"));
  const FreePort port;
  const Finished nobody = folder.run({"status", "--attach", port.endpoint()});
  CHECK(nobody.status == 3);
  CHECK_THAT(nobody.err, Contains("cannot attach to " + port.endpoint()));
  for (const Words& words : {Words{"status", "--sort", "x"}, Words{"status", "here"}, Words{"top", "--every", "0"},
                             Words{"status", "--jason"}, Words{"top", "--sort", "x"}}) {
    const Finished wrong = folder.run(words);
    INFO(wrong.description);
    CHECK(wrong.status == 2);
  }
  Process run = folder.start({"-n", "1", "jobs/status.lua", "computing", "done"});
  (void)status_when(folder, {}, [](const json& s) { return count_in(s, "state", "computing") == 1; });
  folder.write("token", "this is another token than theirs");
  std::filesystem::permissions(folder.path() / "token", std::filesystem::perms::owner_read);
  const Finished stranger = folder.run({"status", "--token-file", "token"});
  CHECK(stranger.status == 3);
  CHECK_THAT(stranger.err, Contains("--token-file"));
  folder.write("done", "");
  CHECK(run.wait(20) == 0);
  CHECK(folder.run({"status"}).status == 3);
  CHECK(names_in(folder.path() / "actorhost").empty());  // no file and no socket is left
}
