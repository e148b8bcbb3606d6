// The interface of param.run besides its rules: values by several keys, the output of callbacks on servers, the
// original names.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

Finished run_param(const std::string& place, const Words& job, const Words& flags = {}) {
  return run_at(place, JobFolder(), with(with(flags, {"jobs/param.lua"}), job));
}

}  // namespace

TEST_CASE("the output of callbacks on a server reaches the user with its origin", "[deep]") {
  const Ended run(run_param(GENERATE(as<std::string>(), "threads", "isolate", "hosts"),
                            {"output_of_server_callbacks_reaches_user"}));
  for (const std::string line : {"init", "stop 0", "stop 2", "pull", "rule\t1"}) {
    CHECK_THAT("\n" + run.out, Contains("\n[server 0] " + line + "\n"));
  }
  CHECK(count_of(run.out, "everybody's line\n") == 1);
  CHECK(count_of("\n" + run.out, "\nover\n") == 1);
}

TEST_CASE("the log appends arguments that its format does not use") {
  const Ended run(run_param("threads", {"log_appends_unused_arguments"}));
  for (const std::string line : {"text 7 nil true", "3 of ten% more 1", "100%", "7 text"}) {
    CHECK_THAT(run.err, Contains("rank 0: " + line + "\n"));
  }
}

TEST_CASE("with --callback-timeout a callback on a server that does not return ends the run with its place", "[deep]") {
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate");
  const Words callbacks = {"none", "init", "stop", "pull"};
  const auto runs = run_together(callbacks.size(), [&](size_t i) {
    return run_param(place, {"stuck", callbacks[i]}, {"--callback-timeout", "0.3"});
  });
  CHECK(runs[0].status == 0);
  for (size_t i = 1; i < runs.size(); ++i) {
    INFO(runs[i].description);
    CHECK(runs[i].status == 1);
    CHECK_THAT(runs[i].err, Contains("actorhost: server 0: " + callbacks[i] + " (" +
                                     place_in("param.lua", "while true do") + ") did not return within 0.3 s"));
    CHECK_THAT(runs[i].err, !Contains("interrupted"));
  }
}

TEST_CASE("flags that no engine of a job uses are reported at its end, and other flags are not", "[deep]") {
  const bool runs = GENERATE(false, true);
  const Ended run(run_at(GENERATE(as<std::string>(), "threads", "isolate"), JobFolder(),
                         {"--barrier", "ssp:2", "--inject", "delay=0.001", "--record", "trace.csv", "--seconds", "100",
                          "--checkpoint", "saved", "jobs/param.lua", runs ? "runs" : "waits"}));
  const std::string warning = "rank 0: --barrier, --inject, --record, --seconds, --checkpoint had no effect";
  CHECK(count_of(run.err, warning) == (runs ? 0 : 1));
  CHECK(count_of(run.err, "had no effect") == (runs ? 0 : 1));
}

TEST_CASE("the mean of a step's pushes needs a BSP rule") {
  const Ended run(run_param("threads", {"mean"}, {"--barrier", "ssp:1"}), 1);
  CHECK_THAT(run.err, Contains("needs a barrier rule that is BSP") && Contains("not ssp(1)"));
}

TEST_CASE("the flag --merge uses a rule of a file on every host, and overrides the job's rule", "[deep]") {
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const JobFolder folder;
  folder.write("rules.lua", "return { none = function(view) return view.version < 3 and 1 or 'drop' end }");
  const Ended run(
      run_at(place, folder, {"--merge", "rules.lua:none", "--barrier", "asp", "jobs/param_policy.lua", "dropped"}));
  CHECK_THAT(run.out, Contains("merged 3"));
}

TEST_CASE("a wrong --merge exits with 2, and a rule that fails ends the run, with its name and line", "[deep]") {
  const JobFolder folder;
  const auto [rule, status, message] = GENERATE(table<std::string, int, std::string>({
      {"drip:2", 2, "--merge 'drip:2': there is no rule 'drip'; did you mean drop?"},
      {"drop:x", 2, "later_than has to be a whole number of at least 0, not 'x'"},
      {"missing.lua", 2, "--merge: cannot read 'missing.lua'"},
      {"raises.lua", 1, "merge rule 'raises.lua' (raises.lua:1): raises.lua:2: attempt to"},
      {"later.lua", 1, "merge rule 'later.lua' (later.lua:1): returned string 'later', expected a finite weight"},
      {"forgets.lua", 1, "returned nil, expected a finite weight"},
      {"loops.lua", 1, "merge rule 'loops.lua' (loops.lua:1) did not return within 0.3 s"},
  }));
  folder.write("raises.lua", "return function(view, push)\n  return push.nonsense + 1\nend");
  folder.write("later.lua", "return function() return 'later' end");
  folder.write("forgets.lua", "return function() local weight = 1 end");
  folder.write("loops.lua", "return function() while true do end end");
  const Ended run(folder.run({"-n", "2", "--rule-timeout", "0.3", "--merge", rule, "jobs/param_policy.lua", "dropped"}),
                  status);
  CHECK_THAT(run.err, Contains(message) && !Contains("interrupted"));
}

TEST_CASE("a NaN loss ends param.train with step, rank and layer") {
  const Ended run(run_param("threads", {"param_train_meets_nan", "default"}), 1);
  CHECK_THAT(run.err, Contains("the loss is") && Contains("nan in step 4 on rank 1; the first non-finite value is in "
                                                          "layer 1 'linear' (its result)"));
}

TEST_CASE(
    "a server's script that ends before the workers' param.run ends the run at once, with the line and the cause") {
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const Words hows = {"before", "second shard", "between", "after values", "of all but rank 0"};
  const double began = now();
  const auto runs = run_together(hows.size(), [&](size_t i) {
    const bool alone = hows[i] == "of all but rank 0";  // other ranks would end first
    if (!alone) return run_param(place, {"server_ends", hows[i]}, {"--servers", "2"});
    return JobFolder().run({"-n", "1", "jobs/param.lua", "server_ends", hows[i]});
  });
  CHECK(now() - began < 8 * patience());
  for (const Finished& run : runs) {
    INFO(run.description);
    CHECK(run.status == 1);
    CHECK_THAT(run.err, Contains(" has come to the end of its script, but rank ") &&
                            Contains(" is in param.run at " + place_in("param.lua", "param.run(run) -- no server")) &&
                            Contains("actor.rank and actor.id are nil") && Contains("guard with actor.role"));
  }
  CHECK_THAT(runs[1].err, Contains("server 1 has come to the end"));
}

TEST_CASE("a server's script that raises or exits before param.run ends the run with its own error", "[deep]") {
  const std::string how = GENERATE("raises", "exits");
  const Ended run(run_param(GENERATE(as<std::string>(), "threads", "isolate", "hosts"), {"server_ends", how}), 1);
  CHECK_THAT(run.err, Contains("server 0") && Contains(how == "raises" ? "broken" : "os.exit would end every node"));
}
