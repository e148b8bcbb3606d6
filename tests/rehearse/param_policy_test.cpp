// Errors and logged waits of runs of the parameter server and of peers (jobs param_policy.lua, merge_rules.lua).

#include "tests/rehearse/rehearsals.hpp"

TEST_CASE("a run of the parameter server that cannot continue ends with an error that names the workers") {
  const auto& [words, texts] = GENERATE(table<Words, Words>({
      {{"no_work"}, {"workers (0, 1, 2)", "stop does not return true"}},
      {{"entries_for_no_worker"}, {"worker '7'"}},
      {{"misfit"}, {"\"w\"", "worker 1"}},
      {{"infinite", "strict"}, {"\"w\"", "worker 2"}},
      {{"refused_rule", "norm"}, {"a rule that reads them needs one server, so leave out --servers"}},
      {{"refused_rule", "pull"}, {"merge rule 'median'", "needs an optimiser as pull"}},
      {{"refused_rule", "replace"}, {"a weight of the merge rule mixes a push with the stored value"}},
  }));
  Rehearsals rehearsals;
  const Run run = rehearsals.run({words[0], with({"--servers", "2", "jobs/param_policy.lua"}, words)}, 1);
  INFO(run.ended.description);
  CHECK(run.ended.status == 1);
  for (const std::string& text : texts) CHECK(run.ended.err.find(text) != std::string::npos);
}

TEST_CASE("peers refuse a merge rule that reads what no peer knows, by its name and the field") {
  const auto& [what, text] = GENERATE(table<std::string, std::string>({
      {"staleness", "it reads push.staleness: no peer knows it; param.run has a server that does"},
      {"held", "it reads view.held: no peer knows it"},
      {"hold", "returned string 'hold', expected a finite weight, \"drop\" or view:update(...): peers hold no pushes"},
      {"mix", "gave a weight of 0.5, but peers without pull cannot mix values"},
      {"library", "peer.run cannot honour merge rule 'ringmaster(2)'"},
  }));
  Rehearsals rehearsals;
  const Run run = rehearsals.run({"refused", {"jobs/merge_rules.lua", "refused_by_peers", what}}, 1);
  INFO(run.ended.description);
  CHECK(run.ended.status == 1);
  CHECK(run.ended.err.find(text) != std::string::npos);
}

TEST_CASE("a wait of over 10 s for a worker is logged once by each waiting node, and names the awaited worker") {
  const auto& [words, waiting, awaited, lines] = GENERATE(table<Words, std::string, std::string, size_t>({
      {{"--barrier", "bsp", "jobs/param_policy.lua", "long_step"},
       "workers 0, 2 have waited at the barrier for over 10 s",
       "worker 1 in step 3 for ",
       1},
      {{"--barrier", "asp", "jobs/param_policy.lua", "long_step"},
       "the end of the run has waited for over 10 s",
       "worker 1 in step 3 for ",
       1},
      {{"jobs/param_policy.lua", "late_worker"},
       "rank 0: starting the parameter servers: waiting for over 10 s",
       "for rank 2 (worker 2 on host 2) (nowhere yet)",
       2},
  }));
  Rehearsals rehearsals;
  const Run run = rehearsals.run({"waits", words}, 1);
  INFO(run.ended.description);
  CHECK(run.ended.status == 0);
  CHECK(count_of(run.ended.err, " for over 10 s") == lines);
  CHECK(run.ended.err.find(waiting) != std::string::npos);
  CHECK(run.ended.err.find(awaited) != std::string::npos);
}

TEST_CASE("a merge rule that merges nothing for 10 s is reported once, and its pushes are dropped at the end") {
  Rehearsals rehearsals;
  const Run run = rehearsals.run({"holds", {"jobs/param_policy.lua", "holds"}}, 1);
  INFO(run.ended.description);
  CHECK(run.ended.status == 0);
  CHECK(count_of(run.ended.err, "has merged nothing for over 10 s: it holds ") == 1);
  CHECK(run.ended.err.find("pushes of workers 0, 1, 2; held pushes are merged when") != std::string::npos);
}

TEST_CASE("the report of held pushes names the merge rule that replaced another rule") {
  Rehearsals rehearsals;
  const Run run = rehearsals.run({"replaced", {"jobs/param_policy.lua", "holds_later"}}, 1);
  INFO(run.ended.description);
  CHECK(run.ended.status == 0);
  CHECK(count_of(run.ended.err, "merge rule 'param_policy.lua:") == 1);
  CHECK(count_of(run.ended.err, "' has merged nothing for over 10 s: it holds ") == 1);
}
