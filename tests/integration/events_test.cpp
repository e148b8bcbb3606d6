// collective.send_event, get_event and wait_event in whole runs.

#include <csignal>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

TEST_CASE("events with all kinds of values reach their receivers in order, in threads, processes and hosts") {
  const JobFolder folder;
  const std::string place = GENERATE(as<std::string>(), "1", "2", "8", "threads", "isolate", "hosts");
  const Words words = {"--print", "all", "jobs/events.lua", "events"};
  const Ended run(place.size() == 1 ? folder.run(with({"-n", place}, words), 60) : run_at(place, folder, words, 60));
  CHECK(count_of(run.out, "all is well") == (place.size() == 1 ? std::stoul(place) : 3));
}

TEST_CASE("waiting for an event of a killed node ends after its sent events are taken") {
  const JobFolder folder;
  Process run = folder.start({"-n", "3", "--isolate", "jobs/events.lua", "lost"});
  ::kill(process_of(run, "stays"), SIGKILL);
  const auto status = run.wait(20);
  INFO(run.describe());
  CHECK(status == 0);
  CHECK(line_after(run.out(), "word: ") == "5");
  CHECK(line_after(run.out(), "lost:") == "\tnil\twait_event: rank 1 lost while waiting for 'more'\tpeer_lost");
}

TEST_CASE("waiting for an event is an error when all other ranks have ended") {
  const JobFolder folder;
  const auto runs = run_together(places().size(), [&](size_t i) {
    return run_at(places()[i], folder, {"jobs/events.lua", "ends"});
  });
  for (const Finished& run : runs) {
    INFO(run.description);
    CHECK(run.status == 0);
    CHECK(line_after(run.out, "bye: ") == "1");
    CHECK_THAT(line_after(run.out, "anybody:"), Contains("every other worker has come to the end of its script"));
    CHECK_THAT(line_after(run.out, "rank 1:"),
               Contains("rank 1 has come to the end of its script") && Contains("peer_lost"));
  }
}

TEST_CASE("wrong calls of events are errors at the user's line") {
  const JobFolder folder;
  const auto [what, message] = GENERATE(table<std::string, std::string>({
      {"value", "events.lua:88: collective.send_event: value.f is a function"},
      {"name", "events.lua:90: bad argument 'name' to collective.send_event: expected string, got number"},
      {"to", "events.lua:92: bad argument 'to' to collective.send_event: expected an integer from 0 to 1, got 2"},
      {"word",
       "events.lua:94: bad argument 'to' to collective.send_event: expected a rank, 'all' or 'local', got string"},
      {"from", "events.lua:96: bad argument 'from' to collective.wait_event: expected an integer from 0 to 1, got -1"},
      {"option", "events.lua:98: unknown option 'form' to collective.wait_event (known: from, timeout)"},
  }));
  const Ended run(folder.run({"-n", "2", "jobs/events.lua", "wrong", what}), 1);
  CHECK_THAT(run.err, Contains(message));
}
