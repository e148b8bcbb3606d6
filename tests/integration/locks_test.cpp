// collective.lock, and partitions shared under locks, in whole runs.

#include <csignal>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

TEST_CASE("an unprotected counter is correct under a lock, in threads, processes and hosts") {
  const JobFolder folder;
  for (const std::string nodes : {"1", "2", "3", "8"}) {
    std::filesystem::remove(folder.path() / "count");
    const Ended run(folder.run({"-n", nodes, "jobs/locks.lua", "counter", "40"}));
    CHECK(line_after(run.out, "mutual: ") == "0");
    CHECK(line_after(run.out, "count: ") == std::to_string(40 * std::stoi(nodes)));
  }
  for (const std::string place : {"isolate", "hosts"}) {
    std::filesystem::remove(folder.path() / "count");
    const Ended run(run_at(place, folder, {"jobs/locks.lua", "counter", "60"}));
    CHECK(line_after(run.out, "mutual: ") == "0");
    CHECK(line_after(run.out, "count: ") == "180");
  }
}

TEST_CASE("no update of a shared value is lost, and a value is never torn") {
  const JobFolder folder;
  const std::string place = GENERATE(as<std::string>(), "1", "2", "8", "threads", "isolate", "hosts");
  const Ended run(place.size() == 1 ? folder.run({"-n", place, "jobs/locks.lua", "shared"})
                                    : run_at(place, folder, {"jobs/locks.lua", "shared"}));
  CHECK(line_after(run.out, "tensors: ") == "0\ttrue");
  CHECK(line_after(run.out, "updates: ") == "0");
  CHECK(line_after(run.out, "withdrawn: ") == "false lock: rank 0 has not published id 0 of table 3");
}

TEST_CASE("a lock that is not granted in time reports its holder and the holder's line") {
  const JobFolder folder;
  const std::string place = GENERATE(from_range(places()));
  const Ended run(run_at(place, folder, {"jobs/locks.lua", "timeout"}));
  CHECK(line_after(run.out, "late:") ==
        "\tnil\tlock: \"w\" not granted within 0.05 s (held by rank 1 at locks.lua:96)\ttimeout");
  CHECK_THAT(line_after(run.out, "at once:"), Contains("lock: 7 not granted within 0 s (held by rank 1"));
  CHECK(line_after(run.out, "free:") == "\tmine");
  CHECK(line_after(run.out, "then:") == "\tmine");
}

TEST_CASE("a lock whose holder is killed passes to the next rank, with the old values") {
  const JobFolder folder;
  const std::string what = GENERATE(as<std::string>(), "named", "shared");
  Process run = folder.start({"-n", "3", "--isolate", "--print", "all", "jobs/locks.lua", "killed", what});
  ::kill(process_of(run, "holds"), SIGKILL);
  const auto status = run.wait(20);
  INFO(run.describe());
  CHECK(status == 0);
  CHECK(count_of(run.out(), what == "named" ? "named:\tfree" : "shared: old") == 2);
}

TEST_CASE("an error under a lock releases it and propagates unchanged") {
  const JobFolder folder;
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate");
  const Ended inside(run_at(place, folder, {"jobs/locks.lua", "errors", "inside"}), 1);
  CHECK_THAT(inside.err, Contains("rank 1: locks.lua:144: attempt to index local 'nothing' (a nil value)"));
  CHECK_THAT(inside.err, Contains("locks.lua:144: in function"));  // the traceback of the error itself
  const Ended caught(run_at(place, folder, {"jobs/locks.lua", "errors", "caught"}));
  CHECK_THAT(line_after(caught.out, "caught: "), Contains("false locks.lua:144: attempt to index") && Contains("true"));
  CHECK(line_after(caught.out, "again:") == "\tfree");
  const Ended left(run_at(place, folder, {"--print", "all", "jobs/locks.lua", "errors", "left"}));
  CHECK(count_of(left.out, "after:\tfree") == 2);
}

TEST_CASE("wrong calls of lock are errors at the user's line") {
  const JobFolder folder;
  const auto [what, message] = GENERATE(table<std::string, std::string>({
      {"nested",
       "locks.lua:156: lock: rank 0 holds a lock already, taken at locks.lua:156; ask for all keys in one call"},
      {"key", "locks.lua:158: bad argument 'keys[2]' to collective.lock: expected an integer, got 1.5"},
      {"keys", "locks.lua:160: bad argument 'keys' to collective.lock: expected at least one key"},
      {"function", "locks.lua:162: bad argument 'fn' to collective.lock: expected function, got nil"},
      {"option", "locks.lua:164: unknown option 'timout' to collective.lock (known: timeout)"},
  }));
  const Ended run(folder.run({"-n", "1", "jobs/locks.lua", "errors", what}), 1);
  CHECK_THAT(run.err, Contains(message));
}
