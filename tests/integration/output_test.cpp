// The output of scripts, and the reports of their errors.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

/// How often each thread of the process has waited.
std::map<std::string, long> waits_of(const Process& process) {
  const std::filesystem::path tasks = "/proc/" + std::to_string(process.pid()) + "/task";
  std::map<std::string, long> waits;
  for (const std::string& task : names_in(tasks)) {
    const std::string status = read_text(tasks / task / "status");
    const std::string name = "\nvoluntary_ctxt_switches:";
    const size_t at = status.find(name);
    if (at != std::string::npos) waits[task] = std::stol(status.substr(at + name.size()));
  }
  return waits;
}

}  // namespace

TEST_CASE("io.write prints like print: whole lines, on the first rank only") {
  const JobFolder folder;
  const Ended run(folder.run({"-n", "3", "jobs/output.lua", "writes"}));
  CHECK(run.out == "one 1\ntwo and a half\nthree and more\nthe end\n");
  CHECK(read_text(folder.path() / "own") == "mine");
}

TEST_CASE("print shows the contents of tables, and the text of a table with __tostring") {
  const JobFolder folder;
  folder.write("job.lua", R"(
    local actor = require "actor"
    local me = { 1 }
    me.me = me
    print(actor.tensor.zeros({ 28, 28 }).shape, { name = "a", list = { true, "b" } }, {})
    print(me, setmetatable({}, { __tostring = function() return "mine" end }))
    print("metatable", (tostring(setmetatable({}, {})):gsub("0x%x+", "ADDRESS")), 1.5, nil)
    local long = {}
    for i = 1, 100000 do long[i] = i end
    print(long)
  )");
  const Ended run(folder.run({"-n", "1", "job.lua"}));
  CHECK(run.out ==
        "{ 28, 28 }\t{ list = { true, \"b\" }, name = \"a\" }\t{}\n"
        "{ 1, me = <the table around it> }\tmine\n"
        "metatable\ttable: ADDRESS\t1.5\tnil\n"
        "{ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, ... 99980 more }\n");
}

TEST_CASE("with --print all every line of io.write is tagged") {
  const Finished run = JobFolder().run({"-n", "2", "--print", "all", "jobs/output.lua", "writes"});
  INFO(run.description);
  for (const std::string rank : {"[rank 0] ", "[rank 1] "}) {
    for (const std::string line : {"one 1\n", "two and a half\n", "three and more\n", "the end\n"}) {
      CHECK_THAT(run.out, Contains(rank + line));
    }
  }
  CHECK(count_of(run.out, "\n") == 8);
}

TEST_CASE("printed lines arrive while the script sleeps, and Ctrl-C ends its sleep") {
  const JobFolder folder;
  folder.write("job.lua", "for i = 1, 100 do print('line ' .. i) end require('actor').sleep(1000) print('slept')");
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate");
  Words words = {"-n", "2", "job.lua"};
  if (place == "isolate") words = with({"--isolate"}, words);
  Process run = folder.start(words);
  CHECK(run.wait_for_output("line 100\n", 20));
  run.signal(SIGINT);
  const Ended ended({run}, 10, 130);
  CHECK(count_of(run.out(), "line ") == 100);
  CHECK(count_of(run.out(), "slept") == 0);
}

TEST_CASE("a run without a terminal does not wake up five times a second for its progress bar", "[deep]") {
  const JobFolder folder;
  folder.write("job.lua", "print('on') require('actor').sleep(100)");
  Process run = folder.start({"-n", "1", "job.lua"}, "on");
  std::this_thread::sleep_for(std::chrono::seconds(1));  // the run is announced
  std::map<std::string, long> before = waits_of(run);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  INFO(run.describe());
  REQUIRE(before.size() > 3);
  for (const auto& [thread, waits] : waits_of(run)) {
    CAPTURE(thread);
    CHECK(waits - before[thread] < 10);  // of the main thread about one a second
  }
}

TEST_CASE("a sleep lasts the given time, and ends when another node fails") {
  const Ended run(JobFolder().run({"-n", "2", "jobs/output.lua", "sleep_lasts_as_long_as_it_should_and"}), 1);
  CHECK_THAT(run.out, Contains("true\tfalse\t") && Contains("bad argument 'seconds' to actor.sleep"));
  CHECK_THAT(run.err, Contains("rank 1: output.lua:23: broken"));
}

TEST_CASE("earlier output precedes an error if both are written to one file") {
  const JobFolder folder;
  folder.write("job.lua", "for i = 1, 5 do print('line ' .. i) end error('broken')");
  const Finished run = run_program("sh", {"-c", shell_word(actorhost_binary()) + " -n 1 --log-level warn job.lua 2>&1"},
                                   20, folder.options());
  INFO(run.description);
  CHECK(run.out.find("line 5\nactorhost: rank 0: job.lua:1: broken") != std::string::npos);
}

TEST_CASE("a traceback has the user's frames, and the library's with --log-level debug") {
  const JobFolder folder;
  const Ended run(folder.run({"-n", "1", "jobs/output.lua", "traceback_has_users_frames_and_librarys"}), 1);
  CHECK_THAT(run.err, Contains("output.lua:28: no 1") && Contains("\toutput.lua:30: in function 'count'") &&
                          Contains("\toutput.lua:33: in function <output.lua:27>") && Contains("in main chunk") &&
                          !Contains("\tstdlib/") && !Contains("\t[C]"));
  CHECK_THAT(
      folder.run({"-n", "1", "--log-level", "debug", "jobs/output.lua", "traceback_has_users_frames_and_librarys"}).err,
      Contains("\tstdlib/") && Contains("\t[C]"));
}

TEST_CASE("an error with a table value prints the table's content") {
  const JobFolder folder;
  folder.write("job.lua", "error { code = 3, why = 'full', tried = { 'a', 'b' } }");
  const Ended run(folder.run({"-n", "1", "job.lua"}), 1);
  CHECK_THAT(run.err, Contains("actorhost: rank 0: {code = 3, tried = {\"a\", \"b\"}, why = \"full\"}"));
}

TEST_CASE("isolated nodes write whole lines into one pipe or file, lose none, and preserve each node's order",
          "[deep]") {
  const JobFolder folder;
  const auto [job, end] = GENERATE(table<std::string, std::string>({{"lines", " | cat > out"},
                                                                    {"lines", " > out"},
                                                                    {"lines", " >> out"},
                                                                    {"lines", " 2>&1 | cat > out"},
                                                                    {"error_lines", " 2> out"},
                                                                    {"error_lines", " 2>&1 | cat > out"}}));
  const int nodes = 4, lines = 1500;
  const std::string command = shell_word(actorhost_binary()) + " --isolate --log-level warn -n " +
                              std::to_string(nodes) + " --print all jobs/output.lua " + job + " " +
                              std::to_string(lines) + end;
  const Ended run(run_program("sh", {"-c", command}, 60, folder.options()));
  std::map<std::string, int> next;
  for (const std::string& line : lines_of(read_text(folder.path() / "out"))) {
    int number = 0, length = 0;
    char rank[16] = "";
    const bool whole = std::sscanf(line.c_str(), "[rank %15[0-9]] line %d of %d ", rank, &number, &length) == 3;
    INFO(line.substr(0, 200));
    REQUIRE(whole);
    REQUIRE(line.size() == line.find('x') + static_cast<size_t>(length));
    REQUIRE(number == ++next[rank]);
  }
  CHECK(next.size() == nodes);
  for (const auto& [rank, last] : next) CHECK(last == lines);
}

TEST_CASE("unwritable output is an error at the end of the job") {
  if (!std::filesystem::exists("/dev/full")) return;
  const JobFolder folder;
  folder.write("job.lua", "print('hello') require('actor').log.info('the job is done')");
  const std::string flags = GENERATE(as<std::string>(), "-n 1", "-n 2", "--isolate -n 2", "-n 2 --print all");
  const std::string command = shell_word(actorhost_binary()) + " " + flags + " job.lua > /dev/full";
  const Ended run(run_program("sh", {"-c", command}, 20, folder.options()), 1);
  CHECK_THAT(run.err, Contains("the job is done"));
  CHECK(count_of(run.err, "actorhost: standard output cannot be written: No space left on device\n") == 1);
}

TEST_CASE("a closed standard output is an error only for a job that prints") {
  const JobFolder folder;
  folder.write("silent.lua",
               "assert(require('actor').collective.allreduce(require('actor').tensor.ones { 1 }, 'sum'))");
  folder.write("job.lua", "print('hello')");
  const std::string flags = GENERATE(as<std::string>(), " -n 2 ", " --isolate -n 2 ");
  const std::string start = shell_word(actorhost_binary()) + flags;
  CHECK(run_program("sh", {"-c", start + "silent.lua >&- <&-"}, 20, folder.options()).status == 0);
  const Ended run(run_program("sh", {"-c", start + "job.lua >&-"}, 20, folder.options()), 1);
  CHECK_THAT(run.err, Contains("actorhost: standard output cannot be written: Bad file descriptor\n"));
}

TEST_CASE("each subcommand reports output that cannot be written", "[deep]") {
  if (!std::filesystem::exists("/dev/full")) return;
  const JobFolder folder;
  folder.write("job.lua", "print('hello')");
  const std::string words =
      GENERATE(as<std::string>(), "--version", "--help", "agent --help", "rehearse --help", "help", "help param.run",
               "sim --list", "sim --nodes 4 --time 4 --barrier bsp", "doctor --json", "status --help",
               "repl -n 1 -e 1+1", "rehearse --hosts 1 --seed 1 job.lua", "rehearse --hosts 1 --seeds 1:2 job.lua",
               "launch --hosts a --ssh false --dry-run job.lua");
  const std::string command = shell_word(actorhost_binary()) + " " + words + " > /dev/full";
  const Ended run(run_program("sh", {"-c", command}, 30, folder.options()), 1);
  CHECK_THAT(run.err, Contains("standard output cannot be written: No space left on device\n"));
}

TEST_CASE("a run ends silently when the reader of its output has closed", "[deep]") {
  const JobFolder folder;
  const std::string flags =
      GENERATE(as<std::string>(), "-n 1", "-n 3", "--isolate -n 3", "--isolate -n 3 --print all", "-n 3 --print all");
  const std::string both = GENERATE(as<std::string>(), "", " 2>&1");
  const std::string command = "(" + shell_word(actorhost_binary()) + " --log-level warn " + flags +
                              " jobs/output.lua prints_for_ever" + both + "; echo $? > code) | head -n 1";
  const Ended run(run_program("sh", {"-c", command}, 20, folder.options()));
  CHECK(count_of(run.out, "line 1") == 1);
  CHECK(run.err.empty());
  CHECK(read_text(folder.path() / "code") == "141\n");
}
