// The one table of callbacks that param.run and peer.run take: ctx in every callback, keys divided by ctx.owns, options
// that peers refuse.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

std::string any_engine() { return GENERATE(as<std::string>(), "param", "peer"); }

}  // namespace

TEST_CASE("after the loss of a worker the ctx of the others has the new size, and they own its keys", "[deep]") {
  const std::string engine = any_engine();
  for (const std::string step : {"0", "7"}) {
    const JobFolder folder;
    Hosts hosts(folder, 4, {"-n", "1", "jobs/context.lua", engine, "loses", step});
    const std::vector<int> codes = hosts.wait(60);
    INFO(hosts.describe());
    CHECK(std::count(codes.begin(), codes.end(), 0) == 3);
    CHECK(count_of(hosts.err(), "24 of 24 keys have an owner.") == 3);
  }
}

TEST_CASE("errors of both engines name the user's function") {
  const std::string engine = any_engine();
  const Ended wrong(JobFolder().run({"-n", "2", "jobs/context.lua", engine, "original", "wrong"}), 1);
  CHECK_THAT(wrong.err,
             Contains("push (" + place_in("context.lua", "register_push") + "): expected {{key, value}, ...}"));
}
