// --log-format json: each line of standard error is an object, in threads, processes and hosts, for any end of the run.

#include <regex>

#include <nlohmann/json.hpp>

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

constexpr const char* kJob =
    "local actor = require 'actor'\n"
    "if actor.role == 'worker' then actor.log.warn('two\\nlines \"of\" rank %d', actor.rank) end\n"
    "if (...) == 'break' and actor.rank == 1 then error('broken') end\n";

/// The objects of standard error, one per line.
std::vector<nlohmann::json> objects(const Finished& run) {
  std::vector<nlohmann::json> out;
  for (const std::string& line : lines_of(run.err)) {
    INFO(line);
    nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
    REQUIRE(object.is_object());
    CHECK(std::regex_match(object.at("t").get<std::string>(), std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)")));
    CHECK_THAT(object.at("host").get<std::string>(), Contains(":"));
    out.push_back(std::move(object));
  }
  return out;
}

}  // namespace

TEST_CASE("with --log-format json each line is an object with job, host and rank, in threads, processes and hosts") {
  const JobFolder folder;
  folder.write("job.lua", kJob);
  const std::string place = GENERATE(from_range(places()));
  const Ended run(run_at(place, folder, {"--log-format", "json", "job.lua"}));
  std::set<int> ranks;
  for (const auto& object : objects(run)) {
    CHECK(object.at("job") == "job.lua");
    if (object.at("level") != "warn") continue;
    ranks.insert(object.at("rank").get<int>());
    CHECK(object.at("who") == "rank " + std::to_string(object.at("rank").get<int>()));
    CHECK(object.at("text") == "two\\nlines \"of\" rank " + std::to_string(object.at("rank").get<int>()));
  }
  CHECK(ranks == std::set<int>{0, 1, 2});
}

TEST_CASE("with --log-format json an error and its traceback are an object too") {
  const JobFolder folder;
  folder.write("job.lua", kJob);
  const Ended run(folder.run({"-n", "2", "--log-format=json", "--log-level", "error", "job.lua", "break"}), 1);
  const auto lines = objects(run);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].at("level") == "error");
  CHECK(lines[0].at("rank") == 1);
  CHECK_THAT(lines[0].at("text").get<std::string>(), Contains("rank 1: job.lua:3: broken\nstack traceback:"));
}

TEST_CASE("an agent's log uses the format too, and the job's name once known") {
  const JobFolder folder;
  folder.write("job.lua", kJob);
  const FreePort port;
  Process agent = folder.start({"agent", "--once", "-n", "1", "--log-format", "json", "--join", port.endpoint()});
  Process host = folder.start({"-n", "1", "--nnodes", "2", "--rdzv-endpoint", port.endpoint(), "job.lua"});
  CHECK(host.wait(20) == 0);
  const auto status = agent.wait(20);
  const auto lines = objects({status, agent.out(), agent.err(), agent.describe()});
  REQUIRE(!lines.empty());
  CHECK(status == 0);
  CHECK(lines.back().at("job") == "job.lua");
  CHECK(count_of(agent.err(), R"("rank":)") == 1);
}

TEST_CASE("lines of text have the rank; an unknown format is refused") {
  const JobFolder folder;
  folder.write("job.lua", kJob);
  CHECK_THAT(Ended(folder.run({"-n", "2", "--log-format", "text", "job.lua"})).err, Contains(" warn] rank 1: two\\n"));
  CHECK_THAT(Ended(folder.run({"--log-format", "yaml", "job.lua"}), 2).err,
             Contains("--log-format wants text or json, got 'yaml'"));
}
