// Map-reduce as a user runs it: word counts that match a plain map, in threads, processes and hosts, and a worker lost
// in the middle.

#include <csignal>
#include <map>
#include <random>
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;

namespace {

/// Words of few letters, some of them frequent, in lines of every length; the last line has no line end.
std::string random_text(uint32_t seed, size_t words) {
  std::mt19937 random(seed);
  std::string text;
  for (size_t i = 0; i < words; ++i) {
    const size_t letters = 1 + random() % 4;
    for (size_t k = 0; k < letters; ++k) text += static_cast<char>('a' + std::min(random() % 6, random() % 26));
    text += random() % 9 == 0 ? "\n" : random() % 40 == 0 ? " \t\n\n" : " ";
  }
  return text + "end";
}

std::string counted(const std::string& text) {
  std::map<std::string, size_t> counts;
  std::istringstream words(text);
  for (std::string word; words >> word;) ++counts[word];
  std::string out;
  for (const auto& [word, count] : counts) out += word + " " + std::to_string(count) + "\n";
  return out;
}

}  // namespace

TEST_CASE("word counts match a plain map, for any number of nodes") {
  const JobFolder folder;
  const uint32_t seed = std::random_device()();
  INFO("seed " << seed);
  const std::string text = random_text(seed, 400000);
  folder.write("text", text);
  const std::string expected = counted(text);
  for (const char* nodes : {"1", "2", "3", "8"}) {
    for (const char* job : {"count", "count_natively"}) {
      const Finished run = folder.run({"-n", nodes, "jobs/mapreduce.lua", job, "text"}, 60);
      INFO(run.description.substr(0, 2000));
      CHECK(run.status == 0);
      CHECK((run.out == expected));
    }
  }
}

TEST_CASE("word counts are the same in processes and on hosts") {
  const JobFolder folder;
  const std::string text = random_text(7, 100000);
  folder.write("text", text);
  for (const std::string& place : places()) {
    const Finished run = run_at(place, folder, {"jobs/mapreduce.lua", "count", "text"}, 60);
    INFO(place << ": " << run.description.substr(0, 2000));
    CHECK(run.status == 0);
    CHECK((run.out == counted(text)));
  }
}

TEST_CASE("a worker killed in a stage leaves its tasks to the others") {
  const JobFolder folder;
  Process run = folder.start({"-n", "3", "--isolate", "jobs/mapreduce.lua", "one_stays"});
  const auto process = run.wait_for_match("stays in process ([0-9]+)\\.", 30);
  REQUIRE(process);
  kill(std::stoi(*process), SIGKILL);
  CHECK(run.wait(30) == 0);
  INFO(run.describe());
  CHECK(run.out() == "keys:\t100\n");
}

TEST_CASE("k-means with a worker killed in iteration 5 of 10 gives the same centroids") {
  const JobFolder folder;
  const Ended undisturbed(folder.run({"-n", "3", "--isolate", "jobs/mapreduce.lua", "means"}));
  CHECK(count_of(undisturbed.out, "\n") == 4);
  Process run = folder.start({"-n", "3", "--isolate", "jobs/mapreduce.lua", "means", "stay"});
  const auto process = run.wait_for_match("stays in process ([0-9]+)\\.", 30);
  REQUIRE(process);
  kill(std::stoi(*process), SIGKILL);
  CHECK(run.wait(30) == 0);
  INFO(run.describe());
  CHECK(run.out() == undisturbed.out);
}

TEST_CASE("a worker that enters a completed action has its figures too") {
  const JobFolder folder;
  const Ended run(folder.run({"-n", "2", "jobs/mapreduce.lua", "worker_joins_after_action"}));
  CHECK(run.out.find("rows:\t10\n") == 0);
  CHECK(run.out.find("\nmapreduce.count: ") != std::string::npos);
}

TEST_CASE("cached rows survive the removal of their file") {
  const JobFolder folder;
  folder.write("text", random_text(3, 5000));
  for (const char* nodes : {"1", "3"}) {
    folder.write("text", random_text(3, 5000));
    const Ended run(folder.run({"-n", nodes, "jobs/mapreduce.lua", "cached", "text"}));
    CHECK(run.out.find("first:\t5001\nagain:\t5001\t") == 0);
    CHECK(run.out.find("tasks' rows were there\n") != std::string::npos);
  }
}
