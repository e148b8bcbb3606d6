// `actorhost advise`: of a recorded run, of a run in progress, and its errors.

#include <nlohmann/json.hpp>

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

using nlohmann::json;

namespace {

/// Four workers whose last takes ten times as long for a step, until `stop` holds.
std::string job_with(const std::string& stop) {
  return R"(local actor = require 'actor'
    local steps = 0
    actor.param.run {
      init = function() return { w = actor.tensor.zeros(1) } end, schedule_local = function() return { "w" } end,
      push = function(ctx)
        steps = steps + 1
        actor.sleep((ctx.id == 3 and 10 or 1) * actor.rng(1, ctx.id * 2 ^ 20 + steps):uniform(0.01, 0.02))
        return { { "w", actor.tensor.ones(1) } }
      end,
      pull = actor.optim.add(), barrier = "bsp", stop = function(ctx) return )" +
         stop + " end }";
}

}  // namespace

TEST_CASE("advise ranks the rules for a recorded run with a straggler, the same for every -j") {
  const JobFolder folder;
  folder.write("job.lua", job_with("ctx.seconds > 5"));
  const Ended recorded(folder.run({"rehearse", "--hosts", "4", "--record", "run.csv", "job.lua"}));
  const Words words = {"advise", "--train", "linear rate=0.05", "--repeat", "4", "--time", "2", "--json", "run.csv"};
  const Ended run(folder.run(with(words, {"--svg", "run.svg", "-j", "2"}), 100));
  const json report = json::parse(run.out);
  CHECK(report["workers"] == 4);
  CHECK(report["refused"] == json::array());
  CHECK(report["target"]["name"] == "loss");
  REQUIRE(report["ranked"].size() == 11);
  const json& best = report["ranked"][0];
  CHECK(best["factor_low"] > 2);
  CHECK(best["barrier"] != "bsp");
  size_t ours = 0;
  for (const json& one : report["ranked"]) {
    if (!one["recorded"]) continue;
    ++ours;
    CHECK(one["barrier"] == "bsp");
    CHECK(one["merge"] == "all");
  }
  CHECK(ours == 1);
  CHECK_THAT(read_text(folder.path() / "run.svg"), Contains("bsp (recorded)"));
  CHECK(json::parse(Ended(folder.run(with(words, {"-j", "1"}), 100)).out) == report);
  const Ended table(
      folder.run({"advise", "--train", "linear rate=0.05", "--repeat", "4", "--time", "2", "run.csv"}, 100));
  CHECK_THAT(table.out, Contains("recorded: bsp, 4 workers") && Contains("target: loss 0.") && Contains("best: "));
}

TEST_CASE("advise records a run in progress and swaps its rules, and records it again", "[deep]") {
  const JobFolder folder;
  folder.write("job.lua", job_with("false"));
  Process job = folder.start({"-n", "4", "job.lua"});
  REQUIRE(wait_until([&] { return folder.run({"status"}).status == 0; }, 20));
  const Words words = {"advise", "--train", "linear rate=0.05", "--repeat", "3", "--watch", "4", "--swap", "job.lua"};
  const Ended first(folder.run(with(words, {"--record", "kept.csv"}), 100));
  INFO(job.describe());
  CHECK_THAT(first.out, Contains("recorded: bsp, 4 workers") && Contains("; it was bsp"));
  CHECK_THAT(read_text(folder.path() / "kept.csv"),
             Catch::Matchers::StartsWith("# actorhost trace 1\n") && Contains("# barrier=bsp\n"));
  const Ended second(folder.run(words, 100));
  CHECK_THAT(second.out, !Contains("recorded: bsp,") && Contains("recorded: "));
  job.signal(SIGINT);
  CHECK(job.wait(20) == 130);
}

TEST_CASE("advise records what a run has left, and says so", "[deep]") {
  const JobFolder folder;
  folder.write("job.lua", job_with("ctx.seconds > 6"));
  Process job = folder.start({"-n", "4", "job.lua"});
  REQUIRE(wait_until([&] { return folder.run({"status"}).status == 0; }, 20));
  const Ended run(
      folder.run({"advise", "--train", "linear rate=0.05", "--repeat", "2", "--watch", "100", "job.lua"}, 100));
  CHECK_THAT(run.err, Contains("recorded less than asked for: the run has ended"));
  CHECK_THAT(run.out, Contains("recorded: bsp, 4 workers"));
  CHECK(job.wait(20) == 0);
}

TEST_CASE("advise names what is wrong with its arguments, its trace, its model or its run") {
  const JobFolder folder;
  struct Case {
    Words words;
    int code;
    std::string message;
  };
  folder.write("job.lua", job_with("ctx.seconds > 3"));
  const Ended recorded(folder.run({"rehearse", "--hosts", "4", "--record", "run.csv", "job.lua"}));
  folder.write("text.csv", "a,b\n");
  folder.write("model.lua", "return 1");
  folder.write("idle.lua", "require('actor').sleep(100)");
  for (const auto& [words, code, message] : std::vector<Case>{
           {{}, 2, "give a trace or a run"},
           {{"run.csv", "other.csv"}, 2, "give one trace or run, not 2"},
           {{"--target", "speed=3", "run.csv"}, 2, "--target wants loss=X or accuracy=X, got 'speed=3'"},
           {{"--repeat", "1", "run.csv"}, 2, "--repeat wants a number of at least 2"},
           {{"--swap", "run.csv"}, 2, "--swap needs a run in progress, and run.csv is a file"},
           {{"text.csv"}, 2, "text.csv:1: not a trace"},
           {{"run.csv#2"}, 2, "run.csv holds 1 run, so there is no run 2"},
           {{"--train", "model.lua", "run.csv"}, 2, "model.lua returns number; a model file returns a function"},
           {{"--train", "linear rate=9", "run.csv"}, 2, "does not learn under the recorded rules"},
           {{"--target", "accuracy=1", "run.csv"}, 2, "the model 'linear' has no accuracy"},
           {{"nothing.csv"}, 3, "nothing.csv is neither a file here nor a run"},
       }) {
    const Ended run(folder.run(with({"advise"}, words), 60), code);
    CHECK_THAT(run.err, Contains("actorhost advise: ") && Contains(message));
  }
  Process idle = folder.start({"-n", "2", "idle.lua"});
  REQUIRE(wait_until([&] { return folder.run({"status"}).status == 0; }, 20));
  const Ended run(folder.run({"advise", "--watch", "1", "idle.lua"}, 60), 3);
  CHECK_THAT(run.err, Contains("cannot record") && Contains("no step of param.run in 1 s"));
  folder.write("long.lua", job_with("ctx.seconds > 300"));
  Process to_file = folder.start({"-n", "4", "--record", "live.csv", "long.lua"});
  REQUIRE(wait_until([&] { return folder.run({"status", "--attach", "long.lua"}).status == 0; }, 20));
  const Ended refused(folder.run({"advise", "--watch", "1", "long.lua"}, 60), 3);
  CHECK_THAT(refused.err, Contains("records its steps into live.csv; give this file"));
}

TEST_CASE("advise and sim train a model of a file") {
  const JobFolder folder;
  folder.write("job.lua", job_with("ctx.seconds > 5"));
  folder.write("model.lua", R"(return function(options)
    return {
      init = function() return { x = 1 } end, gradient = function(params) return params.x end,
      apply = function(params, update, scale) params.x = params.x - scale * update end,
      loss = function(params) return params.x ^ 2 end, rate = options.slow or 0.1,
    }
  end)");
  const Ended recorded(folder.run({"rehearse", "--hosts", "4", "--record", "run.csv", "job.lua"}));
  const Ended advised(folder.run({"advise", "--train", "model.lua slow=0.05", "--repeat", "2", "run.csv"}, 100));
  CHECK_THAT(advised.out, Contains("model: model.lua slow=0.05; target: loss "));
  const Ended simulated(
      folder.run({"sim", "--train", "model.lua", "--nodes", "4", "--time", "5", "--csv", "steps.csv"}));
  CHECK_THAT(simulated.out, Contains("loss"));
  CHECK_THAT(read_text(folder.path() / "steps.csv"), Contains("file=model.lua "));
}
