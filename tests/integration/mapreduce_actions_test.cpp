// Actions of map-reduce and the narrow operations, compared with plain Lua on the same rows, and the error messages of
// tasks.

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;

namespace {

// The error message of a failing job.
std::string message_of(const JobFolder& folder, const std::string& job) {
  folder.write("job.lua", "local mr = require 'actor.mapreduce'\n" + job);
  const Ended run(folder.run({"-n", "2", "--memory", "20M", "job.lua"}), 1);
  return run.err;
}

}  // namespace

TEST_CASE("actions and narrow operations match plain Lua") {
  const JobFolder folder;
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const Ended run(run_at(place, folder, {"jobs/mapreduce_actions.lua", "model", "11"}));
  CHECK(count_of(run.out, "the model agrees") == 1);  // only rank 0 prints; the others compare too
}

TEST_CASE("a seeded sample is the same for any number of nodes") {
  const JobFolder folder;
  const Finished one = folder.run({"-n", "1", "jobs/mapreduce_actions.lua", "samples"});
  INFO(one.description);
  const auto figure = [&](const std::string& text, const char* what) {
    return line_after(text, std::string(what) + ": ");
  };
  CHECK(std::stoi(figure(one.out, "native")) > 5700);
  CHECK(std::stoi(figure(one.out, "native")) < 6300);
  CHECK(figure(one.out, "Lua") == figure(one.out, "native"));
  CHECK(std::stoi(figure(one.out, "twice")) > 2800);
  CHECK(std::stoi(figure(one.out, "twice")) < 3200);
  CHECK(std::stoi(figure(one.out, "again")) > 49000);
  CHECK(std::stoi(figure(one.out, "again")) < 51000);
  const Finished three = folder.run({"-n", "3", "jobs/mapreduce_actions.lua", "samples"});
  INFO(three.description);
  for (const char* what : {"native", "Lua", "twice", "again"}) CHECK(figure(three.out, what) == figure(one.out, what));
}

TEST_CASE("a hundred chained narrow operations run") {
  const JobFolder folder;
  const Finished run = folder.run({"-n", "2", "jobs/mapreduce_actions.lua", "hundred_narrow_operations_behind_each"});
  INFO(run.description);
  CHECK(run.out == "1055\t1055\t1055\n");
}

TEST_CASE("operations before and after many unions, and repeatedly cut and changed texts, run") {
  const JobFolder folder;
  const Finished run = folder.run({"-n", "2", "jobs/mapreduce_actions.lua", "operations_behind_and_before_many"});
  INFO(run.description);
  CHECK(run.out == "20\t1470\ta b c\n");
}

TEST_CASE("functions with a native twin are accepted by name too") {
  const JobFolder folder;
  const Finished run = folder.run({"-n", "2", "jobs/mapreduce_actions.lua", "functions_with_native_twin_are_given_by"});
  INFO(run.description);
  CHECK(run.out ==
        "a1 b3 c1\na1 b3 c1\na1 b2 c1\na6 b8 c6\n4\t11\t4\t4\t10\t1\n"
        "mapreduce_actions.lua:152: mapreduce.map: 'loewer' is the name of no function for 'fn' (known: count, "
        "identity, lower, max, "
        "min, one, sum, tonumber, upper, words)\n");
}

TEST_CASE("take reads few partitions") {
  const JobFolder folder;
  const Finished run = folder.run({"-n", "2", "jobs/mapreduce_actions.lua", "take_reads_few_partitions"});
  INFO(run.description);
  CHECK(line_after(run.out, "took ") == "1 2 3");
  CHECK(std::stoi(line_after(run.out, "looked at ")) <= 256);  // a batch of one partition
}

TEST_CASE("the accumulator additions of a task count once although its worker was lost") {
  const JobFolder folder;
  const Finished run =
      folder.run({"-n", "3", "--isolate", "jobs/mapreduce_actions.lua", "accumulations_of_task_count_once"});
  INFO(run.description);
  CHECK(line_after(run.out, "partitions: ") == "40");
  CHECK(line_after(run.out, "added: ") == "80200");
  CHECK_THAT(run.err, Catch::Contains("outputs are lost with"));
}

TEST_CASE("an error of a task names the operation, the line and the record") {
  const JobFolder folder;
  // If the message names the record, all rows are in one partition: with several partitions, any may fail first.
  const auto [job, message] = GENERATE(table<std::string, std::string>({
      {"mr.range(1, 9, 1, 1):map(function(x) return x end)\n:map(function(x) return #x end):count()",
       "map (job.lua:3) failed: job.lua:3: attempt to get length of local 'x' (a number value); record: 1"},
      {"mr.parallelize({ ('\\nx'):rep(100) }):filter(function(x) error('no good') end):count()",
       "filter (job.lua:2) failed: job.lua:2: no good; record: \"\\nx\\nx"},
      {"mr.range(1, 9, 1, 1):map(function(x) if x < 5 then return x end end):count()",
       "map (job.lua:2) failed: it returned nothing (filter and flatmap leave rows out); record: 5"},
      {"mr.range(1, 9):map(function(x) return nil, x end):keys():collect()",
       "map (job.lua:2) failed: it returned nil and a value: a pair has a key; record: "},
      {"mr.range(1, 6, 1, 3):reduce(function(a, b) if b ~= 4 then return a + b end end)",
       "reduce (job.lua:2) failed: it returned nothing (is a 'return' missing?); record: 4"},
      {"mr.range(1, 6, 1, 3):reduce(function(a, b) if b ~= 11 then return a + b end end)",
       "job.lua:2: mapreduce.reduce: it returned nothing (is a 'return' missing?)"},
      {"mr.range(1, 6, 1, 1):fold({}, function(t, x) t[x] = true end)",
       "fold (job.lua:2) failed: it returned nothing (is a 'return' missing?); record: 1"},
      {"mr.range(1, 6, 1, 3):aggregate(0, function(a, b) return a + b end, function() end)",
       "job.lua:2: mapreduce.aggregate: it returned nothing (is a 'return' missing?)"},
      {"mr.range(1, 6, 1, 1):prefix_sum(function(a, b) if b ~= 3 then return a + b end end):collect()",
       "prefix_sum (job.lua:2) failed: it returned nothing (is a 'return' missing?); record: 3"},
      {"mr.range(1, 9):filter(string.rep):count()", "filter (job.lua:2) failed: bad argument #2"},
      {"mr.range(1, 9, 1, 1):flatmap(function(x) return function() error('inside') end end):count()",
       "flatmap (job.lua:2) failed: job.lua:2: inside; record: 1"},
      {"mr.range(1, 9):map(function(x) return 'k', x end):reduce_by_key(function(a, b) return a .. {} end):count()",
       "reduce_by_key (job.lua:2) failed: job.lua:2: attempt to concatenate a table value"},
      {"mr.range(1, 9):flatten():count()",
       "flatten (job.lua:2) failed: flatten takes rows that are arrays, got a number"},
      {"mr.range(1, 9, 1, 1):map(tostring):sum()",
       "sum (job.lua:2) failed: sum takes numbers, got a string; record: 1"},
      {"mr.range(1, 9, 1, 1):map(function(x) return x, x end):top(1)",
       "top (job.lua:2) failed: pairs need a function that gives what they are compared by; record: 1"},
      {"mr.parallelize({ a = 1, b = 2 }):count()",
       "job.lua:2: mapreduce.parallelize: the table is no array without gaps"},
      {"mr.parallelize({ 1, nil, 3 }):count()", "job.lua:2: mapreduce.parallelize: the table is no array without gaps"},
      {"mr.parallelize({ 1, 'a' }, 2):top(1)", "job.lua:2: mapreduce.top: a number and a string cannot be compared"},
      {"local other = mr.range(1, 3)\nmr.range(1, 9):map(function(x) return x + other:count() end):sum()",
       "map (job.lua:3) failed: job.lua:3: mapreduce.count: a function of an operation cannot run an action"},
      {"local other = mr.range(1, 3)\nmr.range(1, 9, 1, 2):reduce(function(a, b) return a + other:count() end)",
       "job.lua:3: mapreduce.count: a function of an operation cannot run an action"},
      {"mr.range(1, 9, 1, 1):map_partition(function(rows) rows() error('part') end)"
       ":map_partition(function(rows) rows() end):count()",
       "map_partition (job.lua:2) failed: job.lua:2: part; record: 1"},
      {"mr.range(1, 9):foreach(function(x) if x == 7 then error('seven') end end)",
       "foreach (job.lua:2) failed: job.lua:2: seven; record: 7"},
      {"mr.range(1, 9):take(-1)",
       "job.lua:2: bad argument 'n' to mapreduce.take: expected an integer of at least 0, got -1"},
      {"mr.range(1, 9):sample(1.5)", "job.lua:2: bad argument 'fraction' to mapreduce.sample"},
      {"mr.apply(function(inputs) return 7 end, { a = mr.range(1, 9) }):count()",
       "apply (job.lua:2) failed: what it returns has to be an array or an iterator, got a number"},
      {"mr.apply(function(inputs) return { y = {} } end, { a = mr.range(1, 9) }, { 'x' }).x:count()",
       "apply (job.lua:2) failed: it returned 'y', which is no output"},
      {"mr.apply(print, { a = mr.range(1, 9, 1, 2), b = mr.range(1, 9, 1, 3) }):count()",
       "job.lua:2: mapreduce.apply: input 'a' has 2 partitions and 'b' 3; coalesce or shuffle them to as many"},
      {"mr.accumulator(0):add(1)", "job.lua:2: accumulators are added to by functions of operations"},
      {"mr.accumulator({})", "job.lua:2: mapreduce.accumulator: a zero of type table needs a function"},
      {"mr.range(1, 1000000):collect()", "job.lua:2: mapreduce.collect: the result has"},
  }));
  INFO(job);
  const std::string err = message_of(folder, job);
  CHECK_THAT(err, Catch::Contains(message));
  if (err.find(" failed: ") != std::string::npos) CHECK_THAT(err, Catch::Contains("first on rank "));
}

TEST_CASE("a script that catches an action's error continues, and so do its servers") {
  const JobFolder folder;
  const Ended run(
      folder.run({"-n", "2", "--servers", "2", "jobs/mapreduce_actions.lua", "script_continues_after_caught_error"}));
  CHECK(run.out == "true\ttrue\ttrue\t6\t4\n");
}

TEST_CASE("nodes whose broadcasts differ do not run an action together") {
  const JobFolder folder;
  const Ended run(folder.run({"-n", "2", "--memory", "20M", "jobs/mapreduce_actions.lua", "broadcasts_differ"}), 1);
  CHECK_THAT(run.err, Catch::Contains("nodes disagree on what to compute"));
}

TEST_CASE("tables of every shape pass through Lua functions unchanged") {
  const JobFolder folder;
  const std::string seed = std::to_string(Catch::rngSeed());
  for (const char* n : {"1", "3"}) {
    const Ended run(
        folder.run({"-n", n, "jobs/mapreduce_actions.lua", "tables_of_every_shape_pass_through_lua", seed}));
    CHECK(run.out == "ok\n");
  }
}

TEST_CASE("a frozen function makes the same tables as its original") {
  const JobFolder folder;
  const Finished run = folder.run({"-n", "1", "jobs/mapreduce_actions.lua", "frozen_function_makes_tables_as_its"});
  INFO(run.description);
  CHECK(run.out == "ok\n");
}
