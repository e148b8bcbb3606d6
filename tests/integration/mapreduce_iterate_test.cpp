// dataset:iterate under barrier rules: against a plain loop, with workers that are slow, die or join late.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

Words job(const Words& flags) { return with({"jobs/mapreduce_iterate.lua", "job"}, flags); }

}  // namespace

TEST_CASE("iterate under bsp matches the plain loop, with the same bits for any number of nodes", "[deep]") {
  const JobFolder folder;
  const Words flags = GENERATE(Words{}, Words{"--cached"}, Words{"--tensors"}, Words{"--partitions", "1"},
                               Words{"--rows", "3", "--partitions", "16"});
  const Ended one(folder.run(with({"-n", "1"}, job(flags))));
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

TEST_CASE("a worker that dies in iterate does not change the result", "[deep]") {
  const JobFolder folder;
  const Finished whole = folder.run(with({"-n", "3"}, job({})));
  REQUIRE(whole.status == 0);
  const std::string at = GENERATE("0", "1", "4", "50");
  const Words kept = GENERATE(Words{}, Words{"--cached"});
  const Ended run(folder.run(with({"-n", "3", "--isolate"}, job(with({"--kill", "2", "--at", at}, kept)))));
  CHECK_THAT(run.err, Contains("(workers 2)"));
  CHECK(line_after(run.out, "state ") == line_after(whole.out, "state "));
}

TEST_CASE("errors of iterate name the function and the cause", "[deep]") {
  const auto place = [](const char* text) { return place_in("mapreduce_iterate.lua", text); };
  const std::string at = place("rows:iterate(options)");
  const std::string nothing = " (" + place("local function nothing") + ") returned nothing (is a 'return' missing?)";
  const auto [name, wanted] = GENERATE_COPY(table<const char*, std::string>({
      {"step", "iterate (" + at + "), partition 2: " + place("step = { step = function") + ": no luck"},
      {"nothing", "step" + nothing},
      {"prepare", "prepare" + nothing},
      {"merge", "mapreduce.iterate: merge" + nothing},
      {"endless", at + ": mapreduce.iterate: without steps= or stop= (or --seconds on the command line)"},
      {"stop", "mapreduce.iterate: stop (" + place("local function one") + ") returned number, expected a boolean"},
      {"unknown", at + ": unknown option 'step_size' to mapreduce.iterate (known: barrier, checkpoint, fold, "
                       "merge,"},
      {"state", at + ": mapreduce.iterate: state "},
      {"row", "map (" + place("if case == \"row\"") + ") failed: it returned nothing"},
      {"barrier", "'bps'"},
      {"wide", place("if case == \"wide\"") + ": mapreduce.reduce_by_key cannot honour barrier 'ssp:2'"},
  }));
  const std::string n = GENERATE("1", "3");
  const Finished run = JobFolder().run({"-n", n, "jobs/mapreduce_iterate.lua", "errors_of_iterate_are_reported", name});
  INFO(name << "\n" << run.description);
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains(wanted));
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
