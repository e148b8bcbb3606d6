#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

Finished run_short(const JobFolder& folder, const std::string& rule) {
  return folder.run({"-n", "3", "--barrier", rule, "jobs/barriers.lua", "short"});
}

}  // namespace

TEST_CASE("every rule of the library runs a job with a straggler", "[deep]") {
  const JobFolder folder;
  const Words rules = lines_of(folder.run({"-n", "1", "jobs/barriers.lua", "list"}).out);
  for (const std::string& rule : rules) {
    const Ended run(folder.run({"-n", "3", "--barrier", rule, "--inject", "straggler=0.34:4x,delay=uniform(0,0.002)",
                                "jobs/barriers.lua", "counting"}));
  }
  CHECK(rules.size() >= 17);
}

TEST_CASE("a rule file is found by its full path") {
  const JobFolder folder;
  const TempDir elsewhere;
  const Ended run(run_short(folder, elsewhere.write("mine.lua", "return function() return true end").string()));
}

TEST_CASE("a run with an unknown --barrier exits with 2 before the job starts") {
  const JobFolder folder;
  const auto [rule, message] = GENERATE(table<std::string, std::string>({
      {"bps", "there is no rule 'bps'; did you mean bsp?"},
      {"nope", "there is no rule 'nope' (known: asp, "},
      {"ssp", "it is written ssp:S"},
      {"ssp:x", "s has to be a whole number of at least 0, not 'x'"},
      {"ssp:-1", "s has to be a whole number of at least 0, not '-1'"},
      {"quorum:2", "fraction has to be a number from 0 to 1, not '2'"},
      {"bsp@sticky", "bsp does not sample"},
      {"delay_bounded:x:one.lua", "seconds has to be"},
      {"sample:2:one.lua@often", "'often' is none of event, sticky, poll:SECONDS"},
      {"pbsp:2@often", "'often' is none of event, sticky, poll:SECONDS"},
  }));
  const Ended run(run_short(folder, rule), 2);
  CHECK_THAT(run.err, Contains("actorhost: --barrier '" + rule + "': ") && Contains(message));
  CHECK(count_of(run.err, "\n") == 1);
  CHECK(run.out.empty());
}

TEST_CASE("a run with a missing --barrier file exits with 2 and names it") {
  const JobFolder folder;
  const Ended run(run_short(folder, GENERATE(as<std::string>(), "missing.lua", "delay_bounded:1:missing.lua:x")), 2);
  CHECK_THAT(run.err, Contains("actorhost: --barrier: cannot read 'missing.lua': No such file or directory"));
  CHECK(run.out.empty());
}

TEST_CASE("a --barrier file that returns no rule ends the run with 1 and an error") {
  const JobFolder folder;
  folder.write("syntax.lua", "return function(view) retrun true end");
  folder.write("nothing.lua", "local x = 1");
  folder.write("two.lua", "return { one = function() return true end, two = function() return true end }");
  const auto [rule, message] = GENERATE(table<std::string, std::string>({
      {"syntax.lua", "syntax.lua:1: '=' expected near 'true'"},
      {"nothing.lua", "nothing.lua has to return a rule or a table of named rules, not nothing"},
      {"two.lua", "name one of them as two.lua:NAME (one, two)"},
      {"two.lua:three", "two.lua has no rule 'three'"},
  }));
  const Ended run(run_short(folder, rule), 1);
  CHECK_THAT(run.err, Contains("barrier '" + rule + "'") && Contains(message));
  CHECK(run.out.empty());
}

TEST_CASE("a rule that does not return ends the run, and the error shows the rule's input", "[deep]") {
  const JobFolder folder;
  folder.write("compiled.lua",
               "return function(view) local n = 0 while view.step > 2 do n = n + 1 end return true end");
  folder.write("interpreted.lua", "jit.off() return function(view) while view.step > 2 do end return true end");
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const std::string rule = GENERATE(as<std::string>(), "compiled.lua", "interpreted.lua");
  const Ended run(run_at(place, folder, {"--rule-timeout", "0.3", "--barrier", rule, "jobs/barriers.lua", "counting"}),
                  1);
  CHECK_THAT(run.err, Contains("server 0: barrier rule '" + rule + "'"));
  CHECK_THAT(run.err, Contains("did not return within 0.3 s; it was shown view.id = ") && Contains("view.step = "));
  CHECK_THAT(run.err, !Contains("interrupted") && !Contains("stdlib/"));
}

TEST_CASE("a swapped-in rule that does not return is reported") {
  const Ended run(run_at("threads", JobFolder(),
                         {"--rule-timeout", "0.5", "--barrier", "bsp", "jobs/barriers.lua",
                          "of_rule_that_was_put_in_while_job_runs"}),
                  1);
  CHECK_THAT(run.err, Contains("barrier rule '" + place_in("barriers.lua", "local function stuck") +
                               "' did not return within 0.5 s") &&
                          !Contains("'bsp'"));
}

TEST_CASE("a rule that raises or returns a wrong value ends the run with 1, its file and line") {
  const JobFolder folder;
  folder.write("raises.lua", "return function(view)\n  return view.step < view.nonsense\nend");
  folder.write("answers.lua", "return function(view) return 'perhaps' end");
  folder.write("recheck.lua", "return function(view) return false, 'soon' end");
  folder.write("forgets.lua", "return function(view)\n  local pass = view.step < 3\nend");
  folder.write("never.lua", "return function(view) return false end");
  const auto [rule, message] = GENERATE(table<std::string, std::string>({
      {"raises.lua", "raises.lua:2: "},
      {"answers.lua", "returned string 'perhaps', expected true, false"},
      {"forgets.lua",
       "barrier rule 'forgets.lua' (forgets.lua:1): returned nil, expected true, false, or false and the "
       "seconds until its next evaluation (is a 'return' missing?)"},
      {"recheck.lua", "returned false, string 'soon', expected true, false"},
      {"never.lua", "its rule would never let a worker pass"},
  }));
  const Ended run(run_short(folder, rule), 1);
  CHECK_THAT(run.err, Contains(message));
  CHECK(count_of(run.err, "stack traceback") <= 1);
  CHECK(count_of(run.err, "server 0: ") == 1);
}
