// Retained rows: persist, cache, unpersist and checkpoint; which rows are recomputed after the loss of a worker.

#include <map>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

namespace {

namespace fs = std::filesystem;

struct Made {
  std::multiset<int> all;
  std::set<int> by_2;
};

/// The records of `noted`, before the line "--" or after it.
Made made_in(const JobFolder& folder, bool behind = false) {
  Made made;
  std::istringstream lines(read_text(folder.path() / "made"));
  bool now = !behind;
  for (std::string line; std::getline(lines, line);) {
    if (line == "--") {
      now = !now;
      continue;
    }
    if (!now) continue;
    const int part = std::stoi(line.substr(line.find(' ')));
    made.all.insert(part);
    if (line[0] == '2') made.by_2.insert(part);
  }
  return made;
}

Finished run_persist_job(const JobFolder& folder, const std::string& job, const Words& words = {"-n", "2"}) {
  return folder.run(with(words, {"jobs/mapreduce_persist.lua", job}));
}

/// Runs a script of a few lines.
Finished run_noted(const JobFolder& folder, const std::string& job, const Words& words = {"-n", "2"}) {
  folder.write("noted_rows.lua", job_text("noted_rows.lua"));
  folder.write("job.lua", "local mr, noted = require('actor').mapreduce, require('noted_rows').noted\n" + job);
  return folder.run(with(words, {"job.lua"}));
}

}  // namespace

TEST_CASE("retained rows are computed once, in any storage, until they are released") {
  const JobFolder folder;
  const std::string keep = GENERATE(as<std::string>(), "cache()", "persist()", "persist { disk = true }");
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const Ended run(run_at(place, folder, {"jobs/mapreduce_persist.lua", "persisted", keep}));
  CHECK(count_of(run.out, "sum 4501500 7\nsum 4501500\n") == 1);
  CHECK(count_of(run.out, keep == "persist { disk = true }" ? ", kept on disk\n" : ", kept\n") == 1);
  CHECK(count_of(run.out, "; 30 tasks' rows were there") == 1);
  CHECK(line_after(run.out, "again ") == "4501500");
  CHECK(made_in(folder).all.size() == 60);
}

TEST_CASE("rows retained on disk are written at once, even with free memory, and leave no file") {
  const JobFolder folder;
  fs::create_directory(folder.path() / "tmp");
  ProcessOptions options = folder.options();
  options.env["TMPDIR"] = (folder.path() / "tmp").string();
  for (const auto& [memory, spilled] : std::map<std::string, std::string>{{"256M", "false"}, {"16M", "true"}}) {
    const Ended run(run_program(
        actorhost_binary(),
        {"-n", "2", "--memory", memory, "jobs/mapreduce_persist.lua", "rows_persisted_on_disk_are_written_at_once"}, 60,
        options));
    CHECK(line_after(run.out, "memory ") == spilled + " 500000500000");
    CHECK(line_after(run.out, "disk ") == "true 500000500000");
  }
  CHECK(names_in(folder.path() / "tmp").empty());
}

TEST_CASE("cached datasets that are garbage or unpersisted release their rows on every node") {
  const JobFolder folder;
  const Words nodes = GENERATE(Words{"-n", "2"}, Words{"-n", "2", "--isolate"});
  const std::string how = GENERATE(as<std::string>(), "garbage", "unpersist", "held");
  // 200 MB in all, 4 MB at a time: unreleased rows would be spilled.
  const Ended run(folder.run(
      with(nodes, {"--memory", "128M", "jobs/mapreduce_persist.lua", "cached_datasets_that_are_garbage_or_not", how})));
  CHECK(line_after(run.out, "spilled ") == (how == "held" ? "true" : "false"));
}

TEST_CASE("a dataset that one node has released is available to pending actions") {
  const JobFolder folder;
  // Rank 1 enters each action long after rank 0 has released the rows.
  const Ended run(run_persist_job(folder, "dataset_that_one_node_no_longer_holds"));
  CHECK(run.out == "all there\n");
  CHECK(made_in(folder).all.size() == 4 * 30);
}

TEST_CASE("a single node may inspect a plan") {
  const JobFolder folder;
  const Ended run(run_persist_job(folder, "one_node_may_explain_plan"));
  CHECK(line_after(run.out, "sum ") == "4501500 4501500");
  CHECK(made_in(folder).all.size() == 30);
}

TEST_CASE("only the retained rows of a lost worker are recomputed") {
  const JobFolder folder;
  const std::string keep = GENERATE(as<std::string>(), "cache()", "persist { disk = true }");
  const Finished run = folder.run({"-n", "3", "--isolate", "jobs/mapreduce_persist.lua", "persisted_and_lost", keep});
  INFO(run.description);
  CHECK(line_after(run.out, "count ") == "3000");
  CHECK(line_after(run.out, "sum ") == "4501500");
  const Made first = made_in(folder);
  CHECK(first.all.size() == 30);
  REQUIRE_FALSE(first.by_2.empty());
  const Made again = made_in(folder, true);
  CHECK(std::set<int>(again.all.begin(), again.all.end()) == first.by_2);
}

TEST_CASE("operations before a checkpoint are not repeated when a worker is lost") {
  const JobFolder folder;
  const Finished run = folder.run(
      {"-n", "3", "--isolate", "jobs/mapreduce_persist.lua", "operations_before_checkpoint_are_not_repeated"});
  INFO(run.description);
  CHECK(line_after(run.out, "sum ") == "4501500");
  CHECK(line_after(run.out, "sum by key ") == "4501500");
  CHECK_THAT(run.out, Contains("stage 1: checkpoint; 30 tasks") && !Contains("range"));
  const Made made = made_in(folder);
  CHECK(made.all.size() == 30);
  CHECK_FALSE(made.by_2.empty());
  CHECK(names_in(folder.path() / "safe").size() == 31);
}

TEST_CASE("a checkpoint during which a worker is lost holds each row once") {
  const JobFolder folder;
  const Finished run =
      folder.run({"-n", "3", "--isolate", "jobs/mapreduce_persist.lua", "checkpoint_during_which_worker_is_lost"});
  INFO(run.description);
  CHECK(line_after(run.out, "sum ") == "4000 8002000");
  CHECK(names_in(folder.path() / "safe").size() == 41);
  for (const std::string& name : names_in(folder.path())) CHECK(name.find("saving") == std::string::npos);
}

TEST_CASE("later workers find the output that a single worker has written before its loss") {
  const JobFolder folder;
  // Worker 2 does all the work and is then lost, with its state; the others enter the same actions after that.
  const std::string what = GENERATE(as<std::string>(), "save", "overwrite", "checkpoint");
  const Finished run =
      folder.run({"-n", "3", "--isolate", "jobs/mapreduce_persist.lua", "output_of_one_worker_is_found", what});
  INFO(run.description);
  CHECK(line_after(run.out, "sum ") == "4501500");
  CHECK(names_in(folder.path() / "out").size() == 31);
  for (const std::string& name : names_in(folder.path())) CHECK(name.find("saving") == std::string::npos);
}

TEST_CASE("values of every kind and pairs are restored from a checkpoint, also on hosts") {
  const JobFolder folder;
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const Ended run(run_at(place, folder, {"jobs/mapreduce_persist.lua", "values_and_pairs_are_restored"}));
  CHECK(line_after(run.out, "values ") == "500500");
  CHECK_THAT(run.out,
             Contains("stage 2: reduce_by_key; 16 tasks  <- stage 1\n"));  // its keys are in the right partitions
}

TEST_CASE(
    "a repeated job resumes from its checkpoint if it computes the same rows, and otherwise reports the difference") {
  const JobFolder folder;
  const auto job = [](const std::string& before, const std::string& fn, const std::string& options) {
    return before + "local factor = tonumber((...)) or 1\nlocal rows = noted():map(" + fn + "):checkpoint('ck'" +
           options + ")\nprint('sum ' .. rows:sum())\n";
  };
  const std::string twice = "function(x) return 2 * factor * x end";
  const auto runs = [&] { return made_in(folder).all.size() / 30; };
  const Finished first = run_noted(folder, job("", twice, ""));
  INFO(first.description);
  CHECK(line_after(first.out, "sum ") == "9003000");
  CHECK(runs() == 1);

  const Finished refused = run_noted(folder, job("", twice, ""));
  CHECK(refused.status == 1);
  CHECK_THAT(refused.err, Contains("job.lua:3: mapreduce.checkpoint: ") &&
                              Contains("ck: holds a checkpoint; resume = true reads it"));
  CHECK(runs() == 1);

  // Lines may move, later operations may change, and the number of nodes may grow.
  const Finished resumed = run_noted(folder, job("\n\n", twice, ", { resume = true }"), {"-n", "3"});
  INFO(resumed.description);
  CHECK(line_after(resumed.out, "sum ") == "9003000");
  CHECK(runs() == 1);

  const Ended changed(run_noted(folder, job("", "function(x) return 3 * factor * x end", ", { resume = true }")), 1);
  CHECK_THAT(changed.err, Contains("job.lua:3: ") && Contains("ck: holds the checkpoint of another pipeline"));

  const Finished both = run_noted(folder, job("", twice, ", { resume = true }"));
  CHECK(line_after(both.out, "sum ") == "9003000");
  const Finished captured = folder.run({"-n", "2", "job.lua", "5"});
  CHECK_THAT(captured.err, Contains("ck: holds the checkpoint of another pipeline"));
  CHECK(runs() == 1);
  const Finished replaced =
      run_noted(folder, job("", "function(x) return 3 * factor * x end", ", { resume = true, overwrite = true }"));
  INFO(replaced.description);
  CHECK(line_after(replaced.out, "sum ") == "13504500");
  CHECK(runs() == 2);
}

TEST_CASE("a damaged, truncated, missing or foreign checkpoint is an error with the file") {
  const JobFolder folder;
  const std::string job = "local rows = noted():checkpoint('ck', { resume = true })\nprint('sum ' .. rows:sum())\n";
  REQUIRE(run_noted(folder, job).status == 0);
  const fs::path part = folder.path() / "ck/part-00007";
  const std::string bytes = read_text(part);
  const auto error_with = [&](const std::string& text) {
    folder.write("ck/part-00007", text);
    const Ended run(run_noted(folder, job), 1);
    return run.err;
  };
  std::string damaged = bytes;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  CHECK_THAT(error_with(damaged), Contains("ck/part-00007, byte 32: the checkpoint is damaged"));
  CHECK_THAT(error_with(bytes.substr(0, bytes.size() - 10)),
             Contains("ck/part-00007, byte " + std::to_string(bytes.size() - 10) + ": the checkpoint is cut short"));
  CHECK_THAT(error_with(read_text(folder.path() / "ck/part-00008")), Contains("is part 8 under a wrong name"));
  fs::remove(part);
  const Finished without_part = run_noted(folder, job);
  CHECK_THAT(without_part.err, Contains("ck/part-00007: cannot open for reading: No such file") &&
                                   Contains("all hosts have to see the checkpoint"));
  folder.write("ck/part-00007", bytes);
  CHECK(run_noted(folder, job).status == 0);

  const Ended replaced(run_persist_job(folder, "checkpoint_that_is_damaged_cut_short"), 1);
  CHECK_THAT(replaced.err, Contains("other/part-00000, byte 0: the checkpoint belongs to another checkpoint") ||
                               Contains("byte 0: the checkpoint belongs to another checkpoint"));
}

TEST_CASE("every node iterates over rows in order, one partition at a time") {
  const JobFolder folder;
  const std::string keep = GENERATE(as<std::string>(), "", "cache()");
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const Ended run(run_at(place, folder, {"jobs/mapreduce_persist.lua", "iterated", keep}));
  for (const char* rank : {"0", "1", "2"}) CHECK(count_of(run.err, std::string("rank ") + rank + " has 114000.") == 1);
  CHECK(made_in(folder).all.size() == (keep.empty() ? 90 : 30));
}

TEST_CASE("an iteration continues when a worker is lost with rows") {
  const JobFolder folder;
  const Finished run =
      folder.run({"-n", "3", "--isolate", "jobs/mapreduce_persist.lua", "iteration_goes_on_when_worker_is_lost"});
  INFO(run.description);
  CHECK(line_after(run.out, "sum ") == "4501500");
}

TEST_CASE("a task that kills its process fails the job after three processes") {
  const JobFolder folder;
  // Rank 0, in the coordinator's process, enters the action after three deaths, or when the others have seen the
  // failure.
  const std::string when = GENERATE(as<std::string>(), "soon", "late");
  const Ended run(
      folder.run({"-n", "5", "--isolate", "jobs/mapreduce_persist.lua", "task_that_ends_each_process_that_runs", when}),
      3);
  CHECK_THAT(run.err, Contains("a process has ended 3 times while it ran stage ") && Contains("task 5 of 8"));
  CHECK(read_text(folder.path() / "deaths") == "xxx");
}

TEST_CASE("wrong arguments of persist, cache and checkpoint are errors at the user's line") {
  const JobFolder folder;
  const auto [job, message] = GENERATE(table<std::string, std::string>({
      {"mr.range(1, 4):persist { disc = true }", "unknown option 'disc' to mapreduce.persist"},
      {"mr.range(1, 4):persist { disk = 1 }", "expected boolean"},
      {"mr.range(1, 4):cache():persist { disk = true }", "are kept in memory; unpersist() first"},
      {"mr.range(1, 4).unpersist()", "call unpersist with a colon"},
      {"mr.range(1, 4):checkpoint()", "bad argument 'url' to mapreduce.checkpoint: expected string, got nil"},
      {"mr.range(1, 4):checkpoint('s3://out')", "mapreduce.checkpoint: 's3://' is not supported"},
      {"mr.range(1, 4):checkpoint('ck', { again = true })", "unknown option 'again' to mapreduce.checkpoint"},
      {"mr.range(1, 4):checkpoint('made/ck')", "made/ck: cannot be written: "},
      {"mr.range(1, 4).to_local_iterator()", "call to_local_iterator with a colon"},
  }));
  folder.write("made", "no folder");
  const Ended run(run_noted(folder, job), 1);
  CHECK_THAT(run.err, Contains("job.lua:2: ") && Contains(message));
}
