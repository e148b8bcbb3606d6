// The lead of an averaging: logged waits, and the end of a session. Rounds are tested in tests/integration/jobs.

#include "host/engine/average/lead.hpp"
#include "tests/test.hpp"

namespace {

/// A lead that receives a test's frames as frames of workers, each in its own process.
struct LeadDriver {
  explicit LeadDriver(uint32_t workers) {
    std::vector<Member> members;
    std::vector<ProcessInfo> processes;
    for (uint32_t i = 0; i < workers; ++i) {
      members.push_back({i, i});
      processes.push_back({i, "host" + std::to_string(i), ""});
    }
    lead.on_membership(std::make_shared<const Membership>(1, members, processes), 0);
  }
  void report(NodeId node, Report::Kind kind, double now, bool warm = false) {
    REQUIRE(lead.on_frame(node, average_kind::report, pack(Report{kind, node, false, warm, {}}), now).ok());
    wake = lead.tick(now);
  }
  void pass(double now) { wake = lead.tick(now); }

  std::vector<std::string> log_lines;
  AverageLead lead{1, [](ProcessId, Kind, const std::string&) {},
                   [this](const std::string& line) { log_lines.push_back(line); }};
  double wake = 0;
};

}  // namespace

TEST_CASE("waits in start, warm-up and abort log the missing workers after 10 s") {
  using ReportKind = Report::Kind;
  LeadDriver world(3);
  world.report(1, ReportKind::join, 1, true);
  CHECK(world.wake == 11);
  world.pass(11);
  CHECK(world.log_lines == std::vector<std::string>{"average.start: waiting for over 10 s for rank 0, rank 2"});
  world.report(0, ReportKind::join, 20, true);
  world.report(2, ReportKind::join, 21, true);
  world.report(0, ReportKind::sync, 22, true);
  world.report(2, ReportKind::sync, 23, true);
  CHECK(world.wake == 32);
  world.pass(32);
  CHECK(world.log_lines.back() == "average.step, in the warm-up: waiting for over 10 s for rank 1");
  CHECK(world.log_lines.size() == 2);
}

TEST_CASE("a wait in abort is logged once, whatever rounds by interval run meanwhile") {
  using ReportKind = Report::Kind;
  LeadDriver world(2);
  world.report(0, ReportKind::join, 0);
  world.report(1, ReportKind::join, 0);
  world.report(0, ReportKind::abort, 1);
  for (double now = 1; now < 40; now += 0.1) world.pass(now);
  CHECK(world.log_lines == std::vector<std::string>{"average.abort: waiting for over 10 s for rank 1"});
}

TEST_CASE("a session is over when all workers have left") {
  using ReportKind = Report::Kind;
  LeadDriver world(2);
  world.report(0, ReportKind::join, 0);
  CHECK_FALSE(world.lead.over());
  world.report(1, ReportKind::join, 0);
  world.report(0, ReportKind::rest, 0);
  world.report(1, ReportKind::rest, 0);
  world.report(0, ReportKind::leave, 1);
  CHECK_FALSE(world.lead.over());
  world.report(1, ReportKind::leave, 1);
  CHECK(world.lead.over());
}
