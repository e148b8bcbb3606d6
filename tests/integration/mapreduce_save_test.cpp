// Dataset:save: the content of the folder, which is written once, and completely or not at all.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

namespace fs = std::filesystem;

Finished run_save_job(const JobFolder& folder, const std::string& job, const Words& words = {"-n", "2"}) {
  return folder.run(with(words, {"jobs/mapreduce_save.lua", job}));
}

}  // namespace

TEST_CASE("texts with a leading byte order mark survive a save in every format") {
  const JobFolder folder;
  const std::string format = GENERATE(as<std::string>(), "text", "csv", "jsonl");
  const Words packing = GENERATE(Words{}, Words{"gz"});
  const Ended run(run_mapreduce(folder,
                                "local mark, format, packing = '\\239\\187\\191', ...\n"
                                "local rows = { mark .. 'first', 'x', mark, mark .. mark }\n"
                                "mr.parallelize(rows, 1):save('out', { format = format, compress = packing })\n"
                                "for i, row in ipairs(mr.load('out', { format = format }):collect()) do\n"
                                "print((type(row) == 'table' and row[1] or row) == rows[i]) end",
                                with({format}, packing)));
  CHECK(run.out == "true\ntrue\ntrue\ntrue\n");
}

TEST_CASE("an existing folder is replaced only on request, and only if a save has made it") {
  const JobFolder folder;
  const std::string save = "print(mr.range(1, 4, 1, 2):save('out', { overwrite = ... == 'again' }).rows)";
  REQUIRE(run_mapreduce(folder, save).status == 0);
  const std::string mark = read_text(folder.path() / "out/_SUCCESS");

  const Ended refused(run_mapreduce(folder, "mr.range(1, 1e6):foreach(function() end)\n" + save), 1);
  CHECK_THAT(refused.err,
             Catch::Contains("job.lua:3: mapreduce.save: ") && Catch::Contains("out: exists; overwrite = true"));
  CHECK(read_text(folder.path() / "out/_SUCCESS") == mark);

  folder.write("job.lua", kUseMapreduce + "mr.range(5, 9, 1, 1):save('out', { overwrite = true })");
  CHECK(folder.run({"-n", "2", "job.lua"}).status == 0);
  CHECK(read_text(folder.path() / "out/part-00000") == "5\n6\n7\n8\n9\n");
  CHECK(names_in(folder.path() / "out") == std::set<std::string>{"_SUCCESS", "part-00000"});

  folder.write("out/thesis.tex", "years of work");
  const Finished kept = folder.run({"-n", "2", "job.lua"});
  CHECK(kept.status == 1);
  CHECK_THAT(kept.err, Catch::Contains("is not replaced, since it holds 'thesis.tex'"));
  CHECK(names_in(folder.path() / "out").count("thesis.tex") == 1);
}

TEST_CASE("a failed save reports the error and leaves nothing") {
  const JobFolder folder;
  folder.write("file", "no folder");
  const Ended below(run_mapreduce(folder, "mr.range(1, 4):save('file/out')"), 1);
  CHECK_THAT(below.err,
             Catch::Contains("job.lua:2: mapreduce.save: ") && Catch::Contains("file/out: cannot be written: "));

  // Limits files to a KiB, which simulates a full disk.
  folder.write("full.lua", kUseMapreduce + "mr.range(1, 100000):map(function(x) return ('x'):rep(50) end):save('out')");
  const std::string command = "trap '' XFSZ; ulimit -f 1; exec " + shell_word(actorhost_binary()) + " -n 2 full.lua";
  const Ended full(run_program("sh", {"-c", command}, 30, folder.options()), 1);
  CHECK_THAT(full.err, Catch::Contains("save (full.lua:2) failed: ") && Catch::Contains("File too large"));
  CHECK(names_in(folder.path()).count("out") == 0);
  for (const std::string& name : names_in(folder.path())) CHECK(name.find("saving") == std::string::npos);

  const Ended failed(
      run_mapreduce(folder, "mr.range(1, 9):map(function(x) return x + (x == 5 and {} or 1) end):save('out')"), 1);
  CHECK(names_in(folder.path()).count("out") == 0);
  for (const std::string& name : names_in(folder.path())) CHECK(name.find("saving") == std::string::npos);
}

// Worker 1 begins the save and is lost with its report, when worker 0 has already used it and worker 2 is about to.
TEST_CASE("a save whose beginning is lost before all workers have read it is still a single save") {
  const JobFolder folder;
  const Ended run(run_save_job(folder, "save_with_lost_beginning_is_single", {"-n", "3", "--isolate"}));
  CHECK_THAT(run.err, Catch::Contains("some of the result was lost before all workers had it"));
  CHECK(line_after(run.out, "saved ") == "40 400");
  CHECK(names_in(folder.path() / "out").size() == 41);
  for (const std::string& name : names_in(folder.path())) CHECK(name.find("saving") == std::string::npos);
}

// Worker 2 has written a part when its host is stopped until it is declared failed; it resumes, and its save fails.
TEST_CASE("a host declared failed does not touch the output of the others", "[deep]") {
  const JobFolder folder;
  Hosts hosts(folder, 3, {"-n", "1", "jobs/mapreduce_save.lua", "failed_host_does_not_touch_output"});
  std::optional<size_t> waits;
  const auto found = [&] {
    for (size_t host = 0; host < hosts.size(); ++host) {
      if (fs::exists(folder.path() / ("worker 2 waits in " + std::to_string(hosts[host].pid())))) waits = host;
    }
    return waits.has_value();
  };
  REQUIRE(wait_until(found, 20));
  Process& stopped = hosts[*waits];
  stopped.signal(SIGSTOP);
  REQUIRE(hosts[0].wait_for_output("no heartbeat for", 20));
  stopped.signal(SIGCONT);
  CHECK(stopped.wait(20) == 3);
  folder.write("worker 2 has ended", "");
  for (size_t host = 0; host < hosts.size(); ++host) CHECK(hosts[host].wait(20) == (host == *waits ? 3 : 0));
  INFO(hosts.describe());
  CHECK(names_in(folder.path() / "out").size() == 4);
  for (const std::string& name : names_in(folder.path())) CHECK(name.find("saving") == std::string::npos);
}
