// The lead of an averaging: logged waits, late joiners, and the end of a session. Rounds are tested in
// tests/integration/jobs.

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
  void report(NodeId node, Report::Kind kind, double now, bool warm = false, bool fresh = false) {
    REQUIRE(lead.on_frame(node, average_kind::report, pack(Report{kind, node, fresh, warm, {}}), now).ok());
    wake = lead.tick(now);
  }
  void pass(double now) { wake = lead.tick(now); }
  /// Makes the next round of `nodes`, of which these have copied their models. Returns the weights of the participants.
  std::map<NodeId, bool> round(const std::vector<NodeId>& nodes, const std::set<NodeId>& copied) {
    const double now = ++rounds;  // more than the interval later, less than the deadline
    pass(now);
    for (const NodeId node : nodes) {
      const RoundReady ready{rounds, {{node, copied.contains(node), {}}}};
      REQUIRE(lead.on_frame(node, average_kind::ready, pack(ready), now).ok());
    }
    pass(now);
    for (const auto& [node, weighted] : weights) {
      REQUIRE(lead.on_frame(node, average_kind::done, pack(RoundDone{rounds, true}), now).ok());
    }
    pass(now);
    return std::exchange(weights, {});
  }

  std::vector<std::string> log_lines;
  std::map<NodeId, bool> weights;  // of the participants of the newest round
  AverageLead lead{1,
                   [this](ProcessId, Kind kind, const std::string& meta) {
                     if (kind != average_kind::go) return;
                     const auto go = required(unpack<RoundGo>(meta));
                     for (const auto& one : go->participants) weights[one.node] = one.weighted;
                   },
                   [this](const std::string& line) { log_lines.push_back(line); }};
  double wake = 0;
  uint32_t rounds = 0;
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

TEST_CASE("a late joiner has no weight in its first round with the others, whatever rounds it makes alone") {
  using ReportKind = Report::Kind;
  using Weights = std::map<NodeId, bool>;
  LeadDriver world(3);
  world.report(0, ReportKind::join, 0);
  world.report(1, ReportKind::join, 0);
  world.report(2, ReportKind::join, 0, false, true);
  const std::vector<NodeId> all = {0, 1, 2};
  CHECK(world.round(all, {2}) == Weights{{2, true}});
  CHECK(world.round(all, {2}) == Weights{{2, true}});
  CHECK(world.round(all, {0, 2}) == Weights{{0, true}, {2, false}});
  CHECK(world.round(all, {0, 2}) == Weights{{0, true}, {2, true}});
}

TEST_CASE("late joiners continue with their own mean when all others have left") {
  using ReportKind = Report::Kind;
  using Weights = std::map<NodeId, bool>;
  LeadDriver world(3);
  world.report(0, ReportKind::join, 0);
  world.report(1, ReportKind::join, 0, false, true);
  world.report(2, ReportKind::join, 0, false, true);
  world.report(0, ReportKind::leave, 0);
  CHECK(world.round({1, 2}, {1}) == Weights{{1, true}});
  CHECK(world.round({1, 2}, {1, 2}) == Weights{{1, true}, {2, false}});
}
