// Workers as peers: the overlay in whole runs.

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

namespace {

void check_peers(const Ended& run) {
  INFO(run.out << run.err);
  CHECK(line_after(run.out, "settled:") == "\t0");
  CHECK(line_after(run.out, "all:") == "\t0");
  CHECK(line_after(run.out, "some:") == "\t0\t0");
  CHECK(line_after(run.out, "around:") == "\t0");
  CHECK(line_after(run.out, "met:") == "\t0");
}

}  // namespace

TEST_CASE("workers find each other as peers and sample each other, for each number of nodes") {
  const JobFolder folder;
  for (const std::string nodes : {"1", "2", "3", "5", "8"}) {
    INFO(nodes << " nodes");
    check_peers(Ended(folder.run({"-n", nodes, "jobs/peers.lua"})));
  }
}

TEST_CASE("peers find each other in processes and over TCP, and notice a departure") {
  const JobFolder folder;
  const std::string place = GENERATE(from_range(places()));
  const Ended run(run_at(place, folder, {"jobs/peers.lua", "leave"}));
  check_peers(run);
  CHECK(line_after(run.out, "left:") == "\t0");
}

TEST_CASE("keys survive when all workers but one leave and return at once") {
  const JobFolder folder;
  const std::string place = GENERATE(from_range(places()));
  const Ended run(run_at(place, folder, {"jobs/peers.lua", "back"}));
  check_peers(run);
  CHECK(line_after(run.out, "lost:") == "\t0");
}

TEST_CASE("the last peer leaves at once, with its keys") {
  const JobFolder folder;
  folder.write("last.lua", R"(
    local actor = require "actor"
    local began = actor.now()
    for i = 1, 3 do
      actor.peer.set("k", i)
      assert(actor.peer.get("k") == i)
      actor.peer.leave()
      assert(actor.peer.get("k") == nil)
    end
    print(actor.now() - began < 2)
  )");
  CHECK(Ended(folder.run({"-n", "1", "last.lua"})).out == "true\n");
}

TEST_CASE("a wrong call to actor.peer names the argument") {
  const JobFolder folder;
  for (const auto& [call, why] :
       std::vector<std::pair<std::string, std::string>>{{"sample(-1)", "'beta'"},
                                                        {"sample(1.5)", "'beta'"},
                                                        {"sample('x')", "'beta'"},
                                                        {"sample(1, { timeout = -1 })", "'timeout'"},
                                                        {"sample(1, { time = 1 })", "unknown option 'time'"}}) {
    folder.write("wrong_peer.lua", "require('actor').peer." + call);
    const Ended wrong(folder.run({"-n", "1", "wrong_peer.lua"}), 1);
    CHECK_THAT(wrong.err, Contains(why));
    CHECK_THAT(wrong.err, Contains("wrong_peer.lua:1"));
  }
}
