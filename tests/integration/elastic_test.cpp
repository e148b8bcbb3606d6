#include <regex>

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

TEST_CASE("hosts that join late get work") {
  const JobFolder folder;
  const FreePort port;
  const Words words = elastic_words(port, "1:3", {"-n", "1", "jobs/elastic.lua", "--workers", "3"});
  Process first = folder.start(words, "worker 0 works.");
  Process second = folder.start(words, "worker 1 works.");
  Process third = folder.start(words);
  const Ended all({first, second, third}, 20);
  CHECK_THAT(first.out(), Contains("worker 1 joined, now 2\n") && Contains("worker 2 joined, now 3\n"));
  CHECK_THAT(first.out(), Contains("ended with 3 workers, 3 keys\n"));
  CHECK_THAT(third.err(), Contains("worker 2 works."));
}

TEST_CASE("a host may leave an elastic run and another host join, under a new id") {
  const JobFolder folder;
  const FreePort port;
  const Words words = elastic_words(port, "1:3", {"-n", "1", "jobs/elastic.lua", "--workers", "100"});
  Process first = folder.start(words, "worker 0 works.");
  Process second = folder.start(words, "worker 1 works.");
  second.signal(SIGKILL);
  REQUIRE(first.wait_for_output("worker 1 lost, now 1", 20));
  Process third = folder.start(words);
  CHECK(third.wait_for_output("worker 2 works.", 20));
  CHECK(first.wait_for_output("worker 2 joined, now 2", 20));
  INFO(first.describe() << third.describe());
  CHECK(first.running());
}

TEST_CASE("late_join runs elastically and counts the late worker's updates") {
  const JobFolder folder;
  std::string out;
  // On a busy machine the second host may not join in time: then the test retries with more time.
  for (const char* seconds : {"1.5", "8", "40"}) {
    const FreePort port;
    const Words words = elastic_words(
        port, "1:3", {"-n", "1", (source_dir() / "examples/late_join.lua").string(), "--seconds", seconds});
    Process first = folder.start(words, "info] seed");
    Process second = folder.start(words);
    CHECK(first.wait(30) == 0);
    out = first.out();
    if (out.find("worker 1: ") == std::string::npos) continue;
    CHECK(second.wait(20) == 0);
    break;
  }
  INFO(out);
  CHECK(std::regex_search(out, std::regex("[0-9]+ updates \\(worker 0: [1-9][0-9]*, worker 1: [1-9][0-9]*\\)")));
}

TEST_CASE("a fourth host of 1:3 is refused") {
  const JobFolder folder;
  const FreePort port;
  const Words words = elastic_words(port, "1:3", {"-n", "1", "jobs/elastic.lua", "--workers", "100"});
  std::vector<Process> hosts;
  for (int i = 0; i < 3; ++i) {
    hosts.push_back(folder.start(words));
    REQUIRE(hosts.back().wait_for_output("worker " + std::to_string(i) + " works.", 20));
  }
  Process fourth = folder.start(words);
  const Ended ended({fourth}, 20, 3);
  CHECK_THAT(fourth.err(), Contains("refused by the coordinator"));
  CHECK(hosts[0].running());
}
