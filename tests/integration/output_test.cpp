// What a script writes, and what is said of its errors.

#include <csignal>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

TEST_CASE("io.write speaks as print does: whole lines, on the first rank only") {
  const JobFolder folder;
  const Ended run(folder.run({"-n", "3", "jobs/output.lua", "writes"}));
  CHECK(run.out == "one 1\ntwo and a half\nthree and more\nthe end\n");
  CHECK(read_text(folder.path() / "own") == "mine");
}

TEST_CASE("with --print all every line of io.write is tagged") {
  const JobFolder folder;
  const Finished run = folder.run({"-n", "2", "--print", "all", "jobs/output.lua", "writes"});
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
  const Ended run(folder.run({"-n", "2", "jobs/output.lua", "sleep_lasts_as_long_as_it_should_and"}), 1);
  CHECK_THAT(run.out, Contains("true\tfalse\t") && Contains("bad argument 'seconds' to actor.sleep"));
  CHECK_THAT(run.err, Contains("rank 1: output.lua:23: broken"));
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
  const Ended run(folder.run({"-n", "1", "jobs/output.lua", "traceback_has_users_frames_and_librarys"}), 1);
  CHECK_THAT(run.err, Contains("output.lua:28: no 1") && Contains("\toutput.lua:30: in function 'count'") &&
                          Contains("\toutput.lua:33: in function <output.lua:27>") && Contains("in main chunk") &&
                          !Contains("\tstdlib/") && !Contains("\t[C]"));
  CHECK_THAT(
      folder.run({"-n", "1", "--log-level", "debug", "jobs/output.lua", "traceback_has_users_frames_and_librarys"}).err,
      Contains("\tstdlib/") && Contains("\t[C]"));
}

TEST_CASE("an error that is a table is told by its contents") {
  const JobFolder folder;
  folder.write("job.lua", "error { code = 3, why = 'full', tried = { 'a', 'b' } }");
  const Ended run(folder.run({"-n", "1", "job.lua"}), 1);
  CHECK_THAT(run.err, Contains("actorhost: rank 0: {code = 3, tried = {\"a\", \"b\"}, why = \"full\"}"));
}
