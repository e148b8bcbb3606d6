// What a script writes, and what is said of its errors.

#include <csignal>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

namespace {

constexpr const char* kWrites = R"(
io.write("one ", 1)
io.write("\n", "two")
io.stdout:write(" and"):write(" a half\nthree")
print(" and more")
io.stderr:write("errors\n")
local file = io.open("own", "w")
file:write("mine")
file:close()
io.write("the end")
)";

}  // namespace

TEST_CASE("io.write speaks as print does: whole lines, on the first rank only") {
  const JobFolder folder;
  folder.write("job.lua", kWrites);
  const Finished run = folder.run({"-n", "3", "job.lua"});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out == "one 1\ntwo and a half\nthree and more\nthe end\n");
  CHECK(read_text(folder.path() / "own") == "mine");
}

TEST_CASE("with --print all every line of io.write is tagged") {
  const JobFolder folder;
  folder.write("job.lua", kWrites);
  const Finished run = folder.run({"-n", "2", "--print", "all", "job.lua"});
  INFO(run.description);
  for (const std::string rank : {"[rank 0] ", "[rank 1] "}) {
    for (const std::string line : {"one 1\n", "two and a half\n", "three and more\n", "the end\n"}) {
      CHECK_THAT(run.out, Contains(rank + line));
    }
  }
  CHECK(count_of(run.out, "\n") == 8);
}

TEST_CASE("lines printed at once arrive while the script sleeps, and Ctrl-C ends its sleep") {
  const JobFolder folder;
  folder.write("job.lua", "for i = 1, 100 do print('line ' .. i) end require('actor').sleep(1000) print('slept')");
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate");
  Words words = {"-n", "2", "job.lua"};
  if (place == "isolate") words = with({"--isolate"}, words);
  Process run = folder.start(words);
  CHECK(run.wait_for_output("line 100\n", 20));
  run.signal(SIGINT);
  CHECK(run.wait(10) == 130);
  INFO(run.describe());
  CHECK(count_of(run.out(), "line ") == 100);
  CHECK(count_of(run.out(), "slept") == 0);
}

TEST_CASE("a sleep lasts as long as it should, and ends when another node fails") {
  const JobFolder folder;
  folder.write("job.lua", R"(local actor = require "actor"
local began = actor.now()
actor.sleep(0.05)
print(actor.now() - began >= 0.05, pcall(actor.sleep, -1))
actor.collective.barrier()
if actor.rank == 1 then error("broken") end
actor.sleep(1000)
)");
  const Finished run = folder.run({"-n", "2", "job.lua"});
  INFO(run.description);
  CHECK(run.status == 1);
  CHECK_THAT(run.out, Contains("true\tfalse\t") && Contains("bad argument 'seconds' to actor.sleep"));
  CHECK_THAT(run.err, Contains("rank 1: job.lua:6: broken"));
}

TEST_CASE("what was printed before an error stands before it where both go to one place") {
  const JobFolder folder;
  folder.write("job.lua", "for i = 1, 5 do print('line ' .. i) end error('broken')");
  const Finished run = run_program("sh", {"-c", shell_word(actorhost_binary()) + " -n 1 --log-level warn job.lua 2>&1"},
                                   20, folder.options());
  INFO(run.description);
  CHECK(run.out.find("line 5\nactorhost: rank 0: job.lua:1: broken") != std::string::npos);
}

TEST_CASE("a traceback has the user's frames, and the library's with --log-level debug") {
  const JobFolder folder;
  folder.write("job.lua", R"(local actor = require "actor"
local function broken(x) error("no " .. x) end
local function count()
  local n = actor.mapreduce.range(1, 3):map(function(x) broken(x) return x end):count()
  return n
end
local n = count()
)");
  const Finished run = folder.run({"-n", "1", "job.lua"});
  INFO(run.description);
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains("job.lua:2: no 1") && Contains("\tjob.lua:4: in function 'count'") &&
                          Contains("\tjob.lua:7: in main chunk") && !Contains("\tstdlib/") && !Contains("\t[C]"));
  CHECK_THAT(folder.run({"-n", "1", "--log-level", "debug", "job.lua"}).err,
             Contains("\tstdlib/") && Contains("\t[C]"));
}

TEST_CASE("an error that is a table is told by its contents") {
  const JobFolder folder;
  folder.write("job.lua", "error { code = 3, why = 'full', tried = { 'a', 'b' } }");
  const Finished run = folder.run({"-n", "1", "job.lua"});
  INFO(run.description);
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains("actorhost: rank 0: {code = 3, tried = {\"a\", \"b\"}, why = \"full\"}"));
}
