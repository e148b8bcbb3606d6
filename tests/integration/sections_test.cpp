// The sections of `status --json` besides the nodes: barrier, keys, links, stages, members, log, series, histograms.

#include "tests/integration/observer.hpp"
#include "tests/test.hpp"

using nlohmann::json;

namespace {

/// The first row of a section with `value` under `name`.
json row_of(const json& state, const char* section, const char* name, const json& value) {
  for (const json& row : state.value(section, json::array())) {
    if (row.value(name, json()) == value) return row;
  }
  return nullptr;
}

/// Two workers wait, and all possible steps have begun: 4, 4 and 3.
bool two_wait(const json& state) {
  const json barrier = state.value("barrier", json::array());
  const json once = state.value("series", json::object()).value("only once", json::array());
  return once.size() == 4 && !barrier.empty() && barrier[0].at("waiting").size() == 2 && barrier[0].at("passed") >= 11;
}

}  // namespace

TEST_CASE(
    "status shows waiting workers and their causes, keys, reports, log and members, in threads, processes and hosts") {
  const JobFolder folder;
  const std::string place = GENERATE(from_range(places()));
  PlacedRun run(folder, place, {"--servers", "2", "--seed", "1", "jobs/sections.lua", "param", "done"});
  const json state = state_when(folder, run.attach(), two_wait);
  INFO(state.dump(1));
  const json& barrier = state.at("barrier").at(0);
  CHECK(barrier.at("run") == 1);
  CHECK(barrier.at("rule") == "ssp(1)");
  CHECK(barrier.at("passed") == 11);
  CHECK(barrier.at("refused").get<int>() >= 2);
  CHECK(barrier.at("waiting")[0].at("step") == 4);
  CHECK(barrier.at("waiting")[0].at("for") == json({1}));
  CHECK(barrier.at("waited").size() == 3);
  const json w1 = row_of(state, "keys", "key", "w1");
  CHECK(w1.at("shape") == json({4, 3}));
  CHECK(w1.at("dtype") == "float32");
  CHECK(w1.at("bytes") == 48);
  CHECK(w1.at("updates") == 10);
  CHECK(row_of(state, "keys", "key", "name").at("dtype") == "lua");
  CHECK(state.at("series").at("only once").size() == 4);
  std::set<int> reporters;
  for (const json& point : state.at("series").at("loss")) {
    reporters.insert(point.at("id").get<int>());
    CHECK(point.at("value").is_null() == (point.at("step") == 1));
  }
  CHECK(reporters == std::set<int>{0, 1, 2});
  const json line = row_of(state, "log", "text", "ready to push");
  CHECK(line.at("level") == "warn");
  CHECK(line.at("who") == "rank 0");
  CHECK_THAT(state.at("members").at(0).at("text").get<std::string>(), Contains("3 workers"));
  CHECK(state.at("histograms").at("step_seconds").at("count") == 10);
  CHECK(state.at("histograms").at("wait_seconds").at("count").get<int>() > 10);
  CHECK(state.at("histograms").at("message_bytes").at("sum").get<double>() > 480);
  if (place != "threads") {
    CHECK(row_of(state, "links", "from", 1).at("received").get<int>() > 0);
    CHECK(state.at("histograms").at("latency_seconds").at("count").get<int>() > 0);
  }
  if (run.hosts) {
    // Worker 2 waits; the run continues without it.
    const std::string host = row_of(state, "nodes", "name", "rank 2").at("host");
    Hosts& hosts = *run.hosts;
    hosts[host.ends_with(":" + std::to_string(hosts[1].pid())) ? 1 : 2].signal(SIGKILL);
    const json after = state_when(folder, run.attach(), [](const json& s) { return s.at("members").size() >= 3; });
    CHECK_THAT(after.at("members").dump(), Contains("is lost with 1 worker: "));
  }
  folder.write("done", "");
  if (run.alone) CHECK(run.alone->wait(20) == 0);
  if (run.hosts) CHECK((*run.hosts)[0].wait(20) == 0);
}

TEST_CASE("actor.report names wrong arguments, and drops series over its limit") {
  const Ended run(JobFolder().run({"-n", "1", "jobs/sections.lua", "reports"}));
  CHECK_THAT(run.out, Contains("bad argument 'name' to actor.report: expected string, got number") &&
                          Contains("bad argument 'value' to actor.report: expected number, got string") &&
                          Contains("bad argument 'step' to actor.report: expected number, got string") &&
                          Contains("bad argument 'value' to actor.report: expected number, got nil"));
  CHECK(count_of(run.err, "there are 64 series already, 'series 65' is left out, and further ones") == 1);
}

TEST_CASE("the stages of map-reduce are shown during and after their run") {
  const JobFolder folder;
  Process run = folder.start({"-n", "2", "jobs/sections.lua", "stages", "done"});
  const json state = state_when(folder, {}, [](const json& s) {
    const json stages = s.value("stages", json::array());
    return !stages.empty() && stages[0].at("done") == 7;
  });
  INFO(state.dump(1));
  const json stage = state.at("stages").at(0);
  CHECK(stage.at("tasks") == 8);
  CHECK(stage.at("running") == 1);
  CHECK_THAT(stage.at("name").get<std::string>(), Contains("parallelize, map"));
  CHECK_THAT(stage.at("where").get<std::string>(), Contains("sections.lua:"));
  folder.write("done", "");
  const json after = state_when(folder, {}, [](const json& s) { return s.at("stages").size() >= 2; });
  CHECK(after.at("stages").at(0).at("done") == 8);
  CHECK(after.at("stages").at(0).at("running") == 0);
  folder.write("done2", "");
  CHECK(run.wait(20) == 0);
  CHECK(run.out() == "2\n");
}
