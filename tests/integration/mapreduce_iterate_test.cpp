// dataset:iterate under barrier rules: against a plain loop, with workers that are slow, die or join late.

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;

using Catch::Contains;

namespace {

Words job(const Words& flags) { return with({"jobs/mapreduce_iterate.lua", "job"}, flags); }

double number_after(const Finished& run, const std::string& start) { return std::stod(line_after(run.out, start)); }

void check_like_model(const Finished& run, double off) {
  CHECK(run.status == 0);
  CHECK(line_after(run.out, "rounds ") == "60 steps");
  CHECK(number_after(run, "off ") <= off);
}

}  // namespace

TEST_CASE("iterate under bsp matches the plain loop, with the same bits for any number of nodes") {
  const JobFolder folder;
  const Words flags = GENERATE(Words{}, Words{"--cached"}, Words{"--tensors"}, Words{"--partitions", "1"},
                               Words{"--rows", "3", "--partitions", "16"});
  const Finished one = folder.run(with({"-n", "1"}, job(flags)));
  INFO(one.description);
  check_like_model(one, 1e-12);
  for (const char* n : {"2", "3", "8"}) {
    const Ended run(folder.run(with({"-n", n}, job(flags))));
    CHECK(run.out == one.out);
  }
}

TEST_CASE("iterate runs in threads, processes and hosts") {
  const JobFolder folder;
  const Finished one = folder.run(with({"-n", "1"}, job({})));
  REQUIRE(one.status == 0);
  for (const std::string& place : places()) {
    const Ended run(run_at(place, folder, job({})));
    CHECK(line_after(run.out, "state ") == line_after(one.out, "state "));
  }
}

TEST_CASE("iterate folds the contributions of a worker") {
  const JobFolder folder;
  const std::string n = GENERATE("1", "3", "8");
  const Words flags = GENERATE(Words{"--fold"}, Words{"--fold", "--tensors"});
  const Finished run = folder.run(with({"-n", n}, job(flags)));
  INFO(run.description);
  check_like_model(run, 1e-12);
}

TEST_CASE("iterate converges to the same state under any rule, with any number of servers") {
  const JobFolder folder;
  folder.write("rule.lua", "return function(view) return view.step <= view:quantile(0.5) + 2 end");
  const std::string rule = GENERATE("ssp:2", "asp", "pbsp:2", "pssp:2:3", "rule.lua");
  const Words flags = GENERATE(Words{}, Words{"--fold"});
  const Ended run(
      folder.run(with({"-n", "4", "--servers", "3", "--barrier", rule, "--inject", "straggler=0.25:4x"}, job(flags))));
  CHECK(std::stoi(line_after(run.out, "rounds ")) >= 60);
  CHECK(number_after(run, "off ") < 1e-9);
}

TEST_CASE("a worker that dies in iterate does not change the result") {
  const JobFolder folder;
  const Finished whole = folder.run(with({"-n", "3"}, job({})));
  REQUIRE(whole.status == 0);
  const std::string at = GENERATE("0", "1", "4", "50");
  const Words kept = GENERATE(Words{}, Words{"--cached"});
  const Ended run(folder.run(with({"-n", "3", "--isolate"}, job(with({"--kill", "2", "--at", at}, kept)))));
  CHECK_THAT(run.err, Contains("(workers 2)"));
  CHECK(line_after(run.out, "state ") == line_after(whole.out, "state "));
}

TEST_CASE("other workers redo the work of a worker that dies in iterate with fold or under another rule") {
  const JobFolder folder;
  const std::string rule = GENERATE("bsp", "ssp:1", "asp");
  const Ended run(folder.run(
      with({"-n", "3", "--isolate", "--barrier", rule}, job({"--fold", "--kill", "2", "--at", "10", "--cached"}))));
  CHECK(number_after(run, "off ") < 1e-9);
}

TEST_CASE("an iterate over an empty dataset still runs its rounds") {
  const JobFolder folder;
  folder.write("empty.txt", "");
  const std::string n = GENERATE("1", "3");
  const Ended run(folder.run({"-n", n, "jobs/mapreduce_iterate.lua", "iterate_over_no_rows_at_all_has_its"}));
  CHECK(run.out == "3\t3\tsteps\n");
}

TEST_CASE("errors of iterate name the function and the cause") {
  const JobFolder folder;
  const auto [name, wanted] = GENERATE(table<const char*, const char*>({
      {"step", "iterate (mapreduce_iterate.lua:101), partition 2: mapreduce_iterate.lua:79: no luck"},
      {"nothing", "step (mapreduce_iterate.lua:81) returned nothing (is a 'return' missing?)"},
      {"prepare", "prepare (mapreduce_iterate.lua:83) returned nothing (is a 'return' missing?)"},
      {"merge", "mapreduce.iterate: merge (mapreduce_iterate.lua:85) returned nothing (is a 'return' missing?)"},
      {"endless",
       "mapreduce_iterate.lua:101: mapreduce.iterate: without steps= or stop= (or --seconds on the command line)"},
      {"stop", "mapreduce.iterate: stop (mapreduce_iterate.lua:89) returned number, expected a boolean"},
      {"unknown",
       "mapreduce_iterate.lua:101: unknown option 'step_size' to mapreduce.iterate (known: barrier, checkpoint, fold, "
       "merge,"},
      {"state", "mapreduce_iterate.lua:101: mapreduce.iterate: state "},
      {"row", "map (mapreduce_iterate.lua:95) failed: it returned nothing"},
      {"barrier", "'bps'"},
      {"wide", "mapreduce_iterate.lua:99: mapreduce.reduce_by_key cannot honour barrier 'ssp:2'"},
  }));
  const std::string n = GENERATE("1", "3");
  const Finished run = folder.run({"-n", n, "jobs/mapreduce_iterate.lua", "errors_of_iterate_are_reported", name});
  INFO(name << "\n" << run.description);
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains(wanted));
}

TEST_CASE("an iterate ends after --seconds, and a following action and iterate run") {
  const JobFolder folder;
  const Ended run(
      folder.run({"-n", "2", "--seconds", "2", "jobs/mapreduce_iterate.lua", "iterate_ends_after_seconds_and_action"}));
  CHECK(run.out == "count 100\nseconds steps true\n");
}

TEST_CASE("map-reduce and the parameter server run in one job") {
  const JobFolder folder;
  for (const std::string& place : places()) {
    const Ended run(run_at(place, folder, {"jobs/mapreduce_iterate.lua", "map_reduce_and_parameter_server_go"}));
    CHECK_THAT(run.out, Contains("100 true 50\n"));
  }
}

TEST_CASE("k-means and PageRank on tensors match plain Lua") {
  const JobFolder folder;
  const std::string dims = GENERATE("1", "2", "3", "7");
  const std::string n = GENERATE("1", "3");
  const Ended run(folder.run({"-n", n, "jobs/mapreduce_iterate.lua", "k_means_and_pagerank_on_tensors", dims}));
  CHECK(run.out == "centroids true\nranks true\n");
}

TEST_CASE("rounds with tensors without copies have the same bits as with copies") {
  const JobFolder folder;
  // A little more than two chunks of ranks.
  for (const std::string& place : places()) {
    const Ended run(run_at(place, folder, {"jobs/mapreduce_iterate.lua", "rounds_with_tensors_that_are_not_copied"}));
    CHECK_THAT(run.out, Contains("true 1.000000\n"));
  }
}

TEST_CASE("an iterate before a checkpointed run is repeated when the job is resumed") {
  const JobFolder folder;
  const Ended whole(folder.run(
      {"-n", "1", "--checkpoint", "saved", "jobs/mapreduce_iterate.lua", "iterate_before_checkpointed_run_is_done"}));
  CHECK(whole.out == "30 5 35 32\n");
  const Ended resumed(folder.run({"-n", "1", "--checkpoint", "saved", "--resume", "saved", "jobs/mapreduce_iterate.lua",
                                  "iterate_before_checkpointed_run_is_done"}));
  CHECK(resumed.out == whole.out);
}
