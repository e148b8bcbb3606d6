// DESIGN section 11, Visibility, over recorded runs: each worker adds 1 to its place in a vector at each step, and
// prints the values that it reads for all workers. Clocks begin with 0, so an update of clock c is the worker's (c +
// 1)th.

#include <regex>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;

namespace {

constexpr int kSteps = 25;

struct Seen {
  int worker, clock, updates, of;
};

std::vector<Seen> history(const std::string& out) {
  static const std::regex kLine("worker (\\d+) clock (\\d+) saw (\\d+) of (\\d+)");
  std::vector<Seen> all;
  for (std::sregex_iterator at(out.begin(), out.end(), kLine), end; at != end; ++at) {
    all.push_back({std::stoi((*at)[1]), std::stoi((*at)[2]), std::stoi((*at)[3]), std::stoi((*at)[4])});
  }
  return all;
}

/// Every violation of the guarantee of staleness `s`, as text.
std::string violations(const std::vector<Seen>& all, int s) {
  std::ostringstream wrong;
  for (const Seen& seen : all) {
    const int clock = seen.clock;
    const bool own = seen.worker == seen.of;
    const int least = own ? clock : std::max(0, clock - s);  // updates of clock <= clock - s - 1
    const int most = own || s == 0 ? clock : clock + s + 1;  // no worker may be further ahead
    if (seen.updates >= least && seen.updates <= most) continue;
    wrong << "worker " << seen.worker << " at clock " << clock << " saw " << seen.updates << " updates of worker "
          << seen.of << ", not " << least << " to " << most << "\n";
  }
  return wrong.str();
}

void check_visibility(const std::string& rule, int s, const std::string& servers, const Words& options) {
  const JobFolder folder;
  for (const std::string place : {"threads", "isolate"}) {
    const Words flags = {"--print",
                         "all",
                         "--barrier",
                         rule,
                         "--servers",
                         servers,
                         "--inject",
                         "straggler=0.34:3x,delay=uniform(0,0.002)",
                         "jobs/visibility.lua"};
    const Finished run = run_at(place, folder, with(flags, options));
    INFO(place << ", " << servers << " servers\n" << run.err);
    REQUIRE(run.status == 0);
    const std::vector<Seen> all = history(run.out);
    std::set<std::pair<int, int>> pushes;
    for (const Seen& seen : all) pushes.insert({seen.worker, seen.clock});
    CHECK(pushes.size() >= 3 * kSteps);
    CHECK(all.size() == pushes.size() * 12);
    CHECK(violations(all, s) == "");
  }
}

}  // namespace

TEST_CASE("the history checker finds violations of a rule") {
  CHECK(violations({{0, 3, 3, 0}, {0, 3, 3, 1}}, 0).empty());
  CHECK(!violations({{0, 3, 2, 0}}, 0).empty());
  CHECK(!violations({{0, 3, 2, 1}}, 0).empty());
  CHECK(!violations({{0, 3, 4, 1}}, 0).empty());
  CHECK(violations({{0, 3, 1, 1}, {0, 3, 6, 1}, {0, 1, 0, 1}}, 2).empty());
  CHECK(!violations({{0, 3, 0, 1}}, 2).empty());
  CHECK(!violations({{0, 3, 7, 1}}, 2).empty());
  CHECK(!violations({{0, 3, 2, 0}}, 2).empty());
  CHECK(!violations({{0, 3, 4, 0}}, 2).empty());
}

TEST_CASE("under BSP a push sees all updates of earlier clocks and none of its own") {
  const std::string servers = GENERATE(as<std::string>(), "1", "3");
  check_visibility("bsp", 0, servers, {});
}

TEST_CASE("under SSP a push sees its own updates and all updates that are s + 1 clocks old") {
  const std::string servers = GENERATE(as<std::string>(), "1", "3");
  check_visibility("ssp:2", 2, servers, {});
}

TEST_CASE("workers that select their own keys get the guarantees of BSP and SSP") {
  const std::string servers = GENERATE(as<std::string>(), "1", "3");
  check_visibility("bsp", 0, servers, {"--local"});
  check_visibility("ssp:2", 2, servers, {"--local"});
}

TEST_CASE("a pull in Lua preserves the guarantees of BSP and SSP") {
  const std::string servers = GENERATE(as<std::string>(), "1", "3");
  check_visibility("bsp", 0, servers, {"--lua_pull", "--width", "100"});
  check_visibility("ssp:2", 2, servers, {"--lua_pull", "--width", "100"});
}
