// `actorhost sim` for a user: tables, processes, resumed sweeps, misbehaving rules, usage errors.

#include <sys/stat.h>

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

constexpr const char* kMedian = "return function(view) return view.step <= view:quantile(0.5) + 2 end\n";

Finished sim(const TempDir& dir, std::vector<std::string> args, double seconds = 30) {
  args.insert(args.begin(), "sim");
  ProcessOptions options{.cwd = dir.path()};
  return run_program(actorhost_binary(), std::move(args), seconds, options);
}

}  // namespace

TEST_CASE("a rule file beside the classic rules gives a table with a row for each barrier and repeat") {
  const TempDir dir;
  dir.write("rules/median.lua", kMedian);
  const std::vector<std::string> args = {"rules/median.lua",
                                         "--barrier",
                                         "bsp,ssp:4,asp,pbsp:10,pssp:10:4",
                                         "--nodes",
                                         "40",
                                         "--time",
                                         "40",
                                         "--work",
                                         "1+exp(1)",
                                         "--repeat",
                                         "3",
                                         "--seed",
                                         "1"};
  auto with = [&](const std::string& file, const std::string& jobs) {
    auto all = args;
    all.insert(all.end(), {"--csv", file, "-j", jobs});
    return sim(dir, all);
  };
  const Ended one(with("one.csv", "1"));
  CHECK_THAT(one.out, Contains("rules/median.lua") && Contains("pssp:10:4") && Contains("±"));
  std::vector<std::string> rows;
  for (const std::string& line : lines_of(read_text(dir / "one.csv"))) {
    if (!line.starts_with("#")) rows.push_back(line);
  }
  REQUIRE(rows.size() == 1 + 6 * 3);
  CHECK_THAT(rows[0],
             Catch::StartsWith("barrier,repeat,seed,nodes,time,mean_step,sd_step,min_step,max_step,checks,messages"));
  CHECK_THAT(rows[1], Catch::StartsWith("rules/median.lua,1,1,40,40,"));
  CHECK_THAT(rows[18], Catch::StartsWith("pssp:10:4,3,3,40,40,"));
  const Ended three(with("three.csv", "3"));
  CHECK(read_text(dir / "three.csv") == read_text(dir / "one.csv"));
}

TEST_CASE("composed rules around a rule file are simulated too") {
  const TempDir dir;
  dir.write("med.lua", kMedian);
  const Ended run(sim(dir, {"--barrier", "sample:{b}:med.lua,delay_bounded:0.5:med.lua", "--sweep", "b=1,4", "--nodes",
                            "9", "--csv", "out.csv"}));
  CHECK_THAT(read_text(dir / "out.csv"), Contains("# file=med.lua ") && Contains("\nsample:4:med.lua,") &&
                                             Contains("\ndelay_bounded:0.5:med.lua,"));
}

TEST_CASE("a table written to something other than a regular file is written in place") {
  const TempDir dir;
  const Ended out(sim(dir, {"--barrier", "bsp", "--nodes", "3", "--time", "5", "--csv", "-"}));
  CHECK_THAT(out.out, Contains("\nbarrier,repeat,seed") && Contains("\nbsp,1,1,3,5,"));
  CHECK_THAT(out.out, !Contains("mean step"));  // the summary would be in the way
  const std::string fifo = (dir / "pipe").string();
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  Process reader("cat", {fifo});
  const Finished piped = sim(dir, {"--barrier", "bsp", "--nodes", "3", "--time", "5", "--csv", fifo});
  CHECK(piped.status == 0);
  CHECK(reader.wait(10) == 0);
  CHECK(reader.out() == out.out);
}

TEST_CASE("an interrupted sweep leaves its rows beside the table, and resumes from there", "[deep]") {
  const TempDir dir;
  const std::vector<std::string> args = {"sim",  "--barrier", "ssp:{s}", "--sweep", "s=0:40:1", "--nodes",
                                         "3000", "--time",    "60",      "--csv",   "out.csv"};
  ProcessOptions options{.cwd = dir.path()};
  Process cut(actorhost_binary(), args, options);
  const auto rows = [&dir] {
    return std::filesystem::exists(dir / "out.csv.part") ? lines_of(read_text(dir / "out.csv.part")).size() : 0;
  };
  wait_until([&] { return !cut.running() || rows() > 15; }, 60);
  cut.signal(SIGINT);
  INFO(cut.describe());
  REQUIRE(cut.wait(20) == 130);
  CHECK_FALSE(std::filesystem::exists(dir / "out.csv"));
  const std::string before = read_text(dir / "out.csv.part");
  REQUIRE(lines_of(before).size() > 15);
  auto resumed = std::vector<std::string>(args.begin() + 1, args.end());
  resumed.emplace_back("--resume");
  const Ended rest(sim(dir, resumed, 60));
  CHECK_FALSE(std::filesystem::exists(dir / "out.csv.part"));
  CHECK(read_text(dir / "out.csv").starts_with(before.substr(0, before.rfind('\n') + 1)));
  resumed.pop_back();
  resumed.back() = "whole.csv";
  REQUIRE(sim(dir, resumed, 60).status == 0);
  CHECK(read_text(dir / "whole.csv") == read_text(dir / "out.csv"));
}

TEST_CASE("a sweep does not resume with another rule, nor with damaged rows") {
  const TempDir dir;
  dir.write("rule.lua", kMedian);
  const std::vector<std::string> args = {"rule.lua", "--nodes", "9",     "--time", "9",
                                         "--repeat", "3",       "--csv", "out.csv"};
  REQUIRE(sim(dir, args).status == 0);
  const std::string whole = read_text(dir / "out.csv");
  auto resumed = args;
  resumed.emplace_back("--resume");
  std::string damaged = whole;
  damaged.replace(damaged.find("rule.lua,2,2,9,9,") + 17, 3, "abc");
  dir.write("out.csv", damaged);
  REQUIRE(sim(dir, resumed).status == 0);
  CHECK(read_text(dir / "out.csv") == whole);
  dir.write("rule.lua", "return function(view) return view.step <= view:min() end\n");
  const Ended other(sim(dir, resumed), 2);
  CHECK_THAT(other.err, Contains("belongs to another sweep"));
  CHECK(read_text(dir / "out.csv") == whole);
}

TEST_CASE(
    "a rule file's modules are in its folder or the current folder, and a sweep does not resume with a changed "
    "module") {
  const TempDir dir;
  dir.write("rules/mine.lua",
            "local inner = require 'inner'\nlocal bound = require('lib.bound')\n"
            "return function(view) return inner(view) <= bound end\n");
  dir.write("rules/inner.lua", "require \"deep\" return function(view) return view.step - view:min() end\n");
  dir.write("rules/deep/init.lua", "return true\n");
  dir.write("lib/bound.lua", "return 2\n");
  const auto args = [](const char* file, const char* jobs) {
    return std::vector<std::string>{"rules/mine.lua", "--nodes", "9",       "--time", "20", "--repeat", "3", "-j", jobs,
                                    "--csv",          file,      "--resume"};
  };
  for (const char* jobs : {"1", "2"}) {
    const Ended run(sim(dir, args("out.csv", jobs)));
    const std::string table = read_text(dir / "out.csv");
    for (const char* name : {"rules/inner", "rules/deep/init", "lib/bound"}) {
      CHECK_THAT(table, Contains("# file=" + std::string(name) + ".lua "));
    }
  }
  for (const char* name : {"rules/inner.lua", "rules/deep/init.lua", "lib/bound.lua"}) {
    const std::string before = read_text(dir / name);
    dir.write(name, before + " -- edited");
    const Ended run(sim(dir, args("out.csv", "1")), 2);
    CHECK_THAT(run.err, Contains("belongs to another sweep"));
    dir.write(name, before);
  }
  CHECK(sim(dir, args("out.csv", "1")).status == 0);
  dir.write("rules/inner.lua", "return function(");
  const Ended broken(sim(dir, args("other.csv", "2")), 1);
  CHECK_THAT(broken.err, Contains("module 'inner' does not load: rules/inner.lua:1"));
}

TEST_CASE("a misbehaving rule ends the simulation with its name and its fault", "[deep]") {
  const TempDir dir;
  struct Case {
    const char* text;
    const char* expected;
  };
  // Rules that do not return get a fifth of a second, other rules enough time.
  const Case cases[] = {
      {"return function(view) error('boom') end", "rule.lua:1: boom"},
      {"return function(view) end", "returned nil, expected true, false"},
      {"return function(view) return view.step < 3 end", "deadlock at"},
      {"return function(view", "rule.lua:1"},
      {"return 7", "has to return a rule or a table of named rules"},
      {"return function(view) while true do end end", "did not return within 0.2 s; it was shown view.id = "},
      {"return function(view) local n = 0 while true do n = n + view:min() end end", "did not return within 0.2 s"},
      {"jit.off() return function(view) while true do end end", "did not return within 0.2 s"},
      {"while true do end", "barrier rule file 'rule.lua' did not return within 0.2 s while loading"},
      {"jit.off() while true do end", "barrier rule file 'rule.lua' did not return within 0.2 s while loading"},
  };
  size_t jobs = 1;
  for (const Case& bad : cases) {
    dir.write("rule.lua", bad.text);
    jobs = 3 - jobs;
    const bool hangs = std::string(bad.expected).find("within 0.2 s") != std::string::npos;
    const Ended run(sim(dir, {"rule.lua", "--nodes", "5", "--repeat", "2", "-j", std::to_string(jobs), "--rule-timeout",
                              hangs ? "0.2" : "30"}),
                    1);
    CHECK_THAT(run.err, Contains(bad.expected));
    CHECK_THAT(run.err, !Contains("stdlib/") && !Contains("scripts/") && !Contains("interrupted"));
  }
}

TEST_CASE("an invalid command line exits with 2", "[deep]") {
  const TempDir dir;
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--nods", "3"}, "did you mean --nodes?"},
      {{"--nodes"}, "--nodes wants a value"},
      {{"--nodes", "many"}, "--nodes wants a whole number, got 'many'"},
      {{"--time", "-3"}, "time has to be a number of seconds above 0"},
      {{"--work", "exp(-1)"}, "out of range"},
      {{"--barrier", "bps"}, "did you mean bsp?"},
      {{"nowhere.lua"}, "nowhere.lua: No such file"},
      {{"--sweep", "nodes=5:1:1"}, "never gets from 5 to 1"},
      {{"--sweep", "topology=oracle,server:2", "--svg", "x.svg"}, "give --plot cdf"},
      {{"--sweep", "rate=1,2", "--train", "linear"}, "no {rate} in a rule or in --train"},
      {{"--csv", "/nowhere/x.csv"}, "/nowhere/x.csv"},
      {{"--svg", "/nowhere/x.svg", "--nodes", "2", "--time", "2"}, "/nowhere/x.svg"},
      {{"-j", "0"}, "--jobs wants"},
      {{"-j0"}, "--jobs wants"},
      {{"--nodes", "-3"}, "nodes has to be from 1"},
      {{"--service", "const(1)"}, "give --topology server:SHARDS"},
      {{"--plot", "mean"}, "give --svg or --png"},
      {{"--resume"}, "give its --csv or --json"},
      {{"--speed", "const(0)"}, "takes no time"},
      {{"--barrier", "bsp,bsp"}, "bsp is given twice"},
      {{"--sweep", "nodes=20,20"}, "has 20 twice"},
      {{"--csv", "a.out", "--json", "./a.out"}, "--csv as well"},
      {{"--csv", ""}, "wants a file's name"},
      {{"--seed", "-1"}, "--seed wants a whole number"},
      {{"--seed", "9007199254740992"}, "--seed wants a whole number"},
      {{"--topology", "ring"}, "oracle, server:SHARDS"},
      {{"--replay", "/nowhere/trace.csv"}, "/nowhere/trace.csv"},
      {{"--log", "z", "--svg", "x.svg"}, "--log wants x, y or xy, got 'z'"},
      {{"--log", "x"}, "--log is for a plot: give --svg or --png with it"},
      {{"--repeat", "0"}, "--repeat wants a number"},
  };
  for (const auto& [args, expected] : cases) {
    const Ended run(sim(dir, args), 2);
    CHECK_THAT(run.err, Contains(expected));
  }
}

TEST_CASE("an output file that is a link remains a link, even without its target") {
  const TempDir dir;
  std::filesystem::create_directory(dir / "data");
  const std::vector<std::string> kinds = {"csv", "json", "svg"};
  for (const std::string& kind : kinds) std::filesystem::create_symlink("data/" + kind, dir / kind);
  for (int i = 0; i < 2; ++i) {  // the second time the targets exist
    const Ended run(sim(
        dir, {"--barrier", "bsp", "--nodes", "3", "--time", "3", "--csv", "csv", "--json", "json", "--svg", "svg"}));
    for (const std::string& kind : kinds) {
      INFO(kind);
      CHECK(std::filesystem::is_symlink(dir / kind));
      CHECK(std::filesystem::is_regular_file(std::filesystem::symlink_status(dir / "data" / kind)));
      CHECK(read_text(dir / "data" / kind).size() > 100);
    }
  }
  std::filesystem::create_symlink("nowhere/csv", dir / "lost");
  const Ended lost(sim(dir, {"--barrier", "bsp", "--nodes", "3", "--time", "3", "--csv", "lost"}), 2);
  CHECK_THAT(lost.err, Contains("No such file"));
  CHECK(std::filesystem::is_symlink(dir / "lost"));
}

TEST_CASE("an unwritable summary is an error") {
  const TempDir dir;
  for (const char* more : {"", " --csv /dev/full", " --json - ", " --svg /dev/full", " --list", " --help"}) {
    const Finished run =
        run_program("/bin/sh",
                    {"-c", "exec \"$0\" sim --barrier bsp --nodes 3 --time 3" + std::string(more) + " > /dev/full",
                     actorhost_binary()},
                    30);
    INFO(run.description);
    CHECK((run.status == 1 || run.status == 2));
    CHECK_THAT(run.err, Contains("No space left on device"));
  }
}

TEST_CASE("a run without remaining nodes is noted beside the table") {
  const TempDir dir;
  for (const char* jobs : {"1", "2"}) {
    const Ended run(sim(dir, {"--barrier", "bsp", "--nodes", "4", "--churn", "0:1", "--repeat", "2", "-j", jobs}));
    CHECK_THAT(run.err, Contains("bsp: no node was left at the end of 2 of 2 runs") &&
                            Contains("the last node disappeared at "));
  }
}

TEST_CASE("a recorded run is simulated under its own rule and under others") {
  const TempDir dir;
  ProcessOptions options{.cwd = dir.path()};
  double percent = 100;
  // The goal is 10 on a quiet machine; a machine that stalls for a moment measures something else.
  for (int attempt = 0; attempt < 4 && std::abs(percent) >= 20; ++attempt) {
    const Ended job(run_program(actorhost_binary(),
                                {"-n", "4", "--seed", "1", "--seconds", "2", "--barrier", "ssp:2", "--record",
                                 "run.csv", "--inject", "delay=exp(0.03),straggler=0.25:3x", "--no-progress",
                                 (source_dir() / "tests/integration/jobs/sim.lua").string()},
                                60, options));
    const Ended run(sim(dir, {"--replay", "run.csv", "--barrier", "ssp:2,asp"}));
    CHECK_THAT(run.out, Contains("recorded: ssp:2, 4 workers"));
    const std::string after = run.out.substr(run.out.find("simulated under the same rule: "));
    percent = std::stod(after.substr(after.find(", ") + 2));
  }
  CHECK(std::abs(percent) < 20);
}
