#include "host/cluster/coordinator/process_roster.hpp"

#include <catch2/catch.hpp>

using namespace actorhost;

namespace {

/// Process 0 is the coordinator; processes 1 to 3 follow it.
struct RosterOfFour {
  RosterOfFour() : roster(0, DetectorTimes{}, log) {
    for (ProcessId id = 0; id < 4; ++id) roster.add({{id, "host" + std::to_string(id), "tcp://h:1"}, id, true}, 0);
  }
  ProcessId next_loss(double now) const {
    const auto loss = roster.next_loss(now);
    return loss ? loss->process : kNoProcess;
  }

  Log log{LogLevel::debug, [](const LogLine&) {}};
  ProcessRoster roster;
};

}  // namespace

TEST_CASE("a silent process fails only while its coordinator is in charge, and not after it has sent again") {
  RosterOfFour four;
  for (const ProcessId id : {1U, 2U}) four.roster.record_heartbeat(id, 4);
  (void)four.roster.tick(4, 0, false);
  CHECK(four.next_loss(4) == kNoProcess);
  for (const ProcessId id : {1U, 2U}) four.roster.record_heartbeat(id, 8);
  (void)four.roster.tick(8, 0, true);
  CHECK(four.next_loss(8) == 3);
  SECTION("a new lease gives it time") { four.roster.watch_all(8); }
  SECTION("the next check does not repeat the failure") { (void)four.roster.tick(8.25, 0, true); }
  CHECK(four.next_loss(8.25) == kNoProcess);
}

TEST_CASE("of two processes without a link to each other the process with more broken links is lost") {
  RosterOfFour four;
  four.roster.report_broken(1, 2, 0);
  four.roster.report_broken(3, 1, 1);
  CHECK(four.next_loss(3) == kNoProcess);
  CHECK(four.next_loss(4) == 1);
  REQUIRE(four.roster.remove(1).has_value());
  CHECK(four.next_loss(9) == kNoProcess);
}

TEST_CASE("a process that has yet to attach does not follow, and is lost after 4 s") {
  RosterOfFour four;
  four.roster.add({{2, "host2", ""}, ProcessRoster::kNoLink, true, 1.0}, 1);
  four.roster.linked(2, 77);
  four.roster.linked(1, 78);  // has attached: keeps its link
  CHECK(four.roster.find_link(77)->info.process == 2);
  CHECK(four.roster.find_link(78) == nullptr);
  CHECK(four.roster.followers(true) == std::vector<ProcessId>{1, 3});
  CHECK(four.next_loss(4.9) == kNoProcess);
  CHECK(four.next_loss(5) == 2);
}
