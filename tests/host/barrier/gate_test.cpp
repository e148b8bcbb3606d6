#include "host/barrier/gate.hpp"

#include "host/base/random.hpp"
#include "tests/host/barrier/progress_rules.hpp"
#include "tests/test.hpp"

namespace {

std::vector<NodeId> poll(Gate& gate, double now) {
  std::vector<NodeId> passed;
  REQUIRE(gate.poll(now, passed).ok());
  return passed;
}

void complete(Progress& progress, Gate& gate, NodeId id, double now) {
  progress.start(id, now);
  progress.complete(id, now);
  gate.request(id, now);
}

/// A rule that counts the evaluated workers, and answers as the test sets.
class ScriptedRule final : public BarrierRule {
 public:
  Decision decision;
  Watch watched = Watch::event;
  size_t evaluated = 0;
  bool broken = false;
  uint64_t swaps = 0;

  Status decide(const Progress&, std::span<const Slot> requesters, double, std::span<Decision> out) override {
    if (broken) return Error{Code::aborted, "the rule raised"};
    evaluated += requesters.size();
    std::fill(out.begin(), out.end(), decision);
    return {};
  }
  Watch watch() const override { return watched; }
  uint64_t version() const override { return swaps; }
};

/// A random schedule of `workers` workers under `rule`: returns the widest difference of clocks.
int32_t widest_spread(BarrierRule& rule, uint32_t workers, uint64_t seed, int completions) {
  Progress progress;
  Gate gate(progress, rule);
  Rng rng(seed);
  std::vector<NodeId> running;
  for (NodeId id = 0; id < workers; ++id) {
    REQUIRE(progress.add(id, 0).ok());
    running.push_back(id);
  }
  int32_t widest = 0;
  for (int i = 0; i < completions; ++i) {
    REQUIRE_FALSE(running.empty());  // otherwise all of them wait: a deadlock
    const auto at = static_cast<size_t>(rng.below(running.size()));
    const NodeId id = running[at];
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
    complete(progress, gate, id, i);
    widest = std::max(widest, progress.max() - progress.min());
    for (const NodeId next : poll(gate, i)) running.push_back(next);
  }
  return widest;
}

}  // namespace

TEST_CASE("under BSP all wait for the last worker and then pass in the order of their requests") {
  Progress progress;
  const auto rule = native_bsp();
  Gate gate(progress, *rule);
  for (NodeId id : {0, 1, 2}) REQUIRE(progress.add(id, 0).ok());
  complete(progress, gate, 2, 1);
  CHECK(poll(gate, 1).empty());
  complete(progress, gate, 0, 2);
  CHECK(poll(gate, 2).empty());
  CHECK(progress.waiting() == 2);
  complete(progress, gate, 1, 3);
  CHECK(poll(gate, 3) == std::vector<NodeId>{2, 0, 1});
  CHECK(progress.waiting() == 0);
}

TEST_CASE("BSP never lets clocks differ by more than 1, SSP(s) by more than s + 1, and nothing deadlocks") {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    INFO("seed " << seed);
    CHECK(widest_spread(*native_bsp(), 7, seed, 2000) == 1);
    CHECK(widest_spread(*native_ssp(4), 7, seed, 2000) == 5);
    CHECK(widest_spread(*native_asp(), 7, seed, 2000) > 6);
    widest_spread(*native_pbsp(2, {}, seed), 7, seed, 2000);
  }
}

TEST_CASE("the others no longer wait for a lost worker") {
  Progress progress;
  const auto rule = native_bsp();
  Gate gate(progress, *rule);
  for (NodeId id : {0, 1, 2}) REQUIRE(progress.add(id, 0).ok());
  complete(progress, gate, 0, 1);
  complete(progress, gate, 1, 1);
  CHECK(poll(gate, 1).empty());
  CHECK(progress.remove(2));
  CHECK(poll(gate, 2) == std::vector<NodeId>{0, 1});
}

TEST_CASE("a worker that is lost while it waits does not pass") {
  Progress progress;
  const auto rule = native_bsp();
  Gate gate(progress, *rule);
  for (NodeId id : {0, 1, 2}) REQUIRE(progress.add(id, 0).ok());
  complete(progress, gate, 0, 1);
  CHECK(poll(gate, 1).empty());
  CHECK(progress.remove(0));
  complete(progress, gate, 1, 2);
  complete(progress, gate, 2, 2);
  CHECK(poll(gate, 2) == std::vector<NodeId>{1, 2});
}

TEST_CASE("a worker that is parked while it waits and requests again gets one answer") {
  Progress progress;
  const auto rule = native_bsp();
  Gate gate(progress, *rule);
  for (NodeId id : {0, 1}) REQUIRE(progress.add(id, 0).ok());
  complete(progress, gate, 0, 1);
  CHECK(poll(gate, 1).empty());
  CHECK(progress.park(0));
  CHECK(progress.unpark(0));
  CHECK(gate.request(0, 1));
  complete(progress, gate, 1, 2);
  CHECK(poll(gate, 2) == std::vector<NodeId>{0, 1});
}

TEST_CASE("a rule is evaluated only when its answer can have changed") {
  Progress progress;
  ScriptedRule rule;
  Gate gate(progress, rule);
  for (NodeId id : {0, 1, 2}) REQUIRE(progress.add(id, 0).ok());
  complete(progress, gate, 0, 1);
  CHECK(poll(gate, 1).empty());
  CHECK(rule.evaluated == 1);
  CHECK(poll(gate, 2).empty());
  CHECK(rule.evaluated == 1);

  SECTION("event: at each completion") {
    progress.complete(1, 3);
    CHECK(poll(gate, 3).empty());
    CHECK(rule.evaluated == 2);
  }
  SECTION("floor: when the minimum clock moves, new requests at once") {
    rule.watched = Watch::floor;
    complete(progress, gate, 1, 3);
    CHECK(poll(gate, 3).empty());
    CHECK(rule.evaluated == 2);
    complete(progress, gate, 2, 3);
    CHECK(poll(gate, 3).empty());
    CHECK(rule.evaluated == 5);
  }
  SECTION("timer: at no completion of another") {
    rule.watched = Watch::timer;
    progress.complete(1, 3);
    CHECK(poll(gate, 3).empty());
    CHECK(rule.evaluated == 1);
  }
}

TEST_CASE("an answer that names a worker holds until that worker has completed so many steps") {
  Progress progress;
  ScriptedRule rule;
  rule.watched = Watch::worker;
  rule.decision.worker = 2;
  rule.decision.step = 2;
  Gate gate(progress, rule);
  for (NodeId id : {0, 1, 2, 3}) REQUIRE(progress.add(id, 0).ok());
  complete(progress, gate, 0, 1);
  CHECK(poll(gate, 1).empty());
  CHECK(rule.evaluated == 1);
  complete(progress, gate, 1, 2);  // the new request alone
  CHECK(poll(gate, 2).empty());
  CHECK(rule.evaluated == 2);
  progress.complete(2, 3);  // one step of two
  progress.suspect(3, true);
  CHECK(poll(gate, 3).empty());
  CHECK(rule.evaluated == 2);

  SECTION("it reaches the step: all waiters that named it are evaluated") {
    rule.decision.pass = true;
    progress.complete(2, 4);
    CHECK(poll(gate, 4) == std::vector<NodeId>{0, 1});
    CHECK(rule.evaluated == 4);
  }
  SECTION("it leaves, or is parked") {
    rule.decision.pass = true;
    if (GENERATE(true, false)) {
      progress.remove(2);
    } else {
      progress.park(2);
    }
    CHECK(poll(gate, 4) == std::vector<NodeId>{0, 1});
  }
  SECTION("each waits for its own worker") {
    rule.decision.worker = 3;
    rule.decision.step = 1;
    complete(progress, gate, 2, 4);  // all of them now name worker 3
    CHECK(poll(gate, 4).empty());
    CHECK(rule.evaluated == 5);
    rule.decision.worker = 0;
    rule.decision.step = 2;
    rule.decision.recheck_seconds = 1;
    complete(progress, gate, 3, 5);
    CHECK(poll(gate, 5).empty());
    CHECK(rule.evaluated == 9);
    CHECK(gate.next_time() == 6);  // a recheck time counts beside it
    CHECK(poll(gate, 6).empty());
    CHECK(rule.evaluated == 13);
  }
  SECTION("a waiter that names no worker is evaluated at each completion, the others are not") {
    rule.decision.step = 0;
    complete(progress, gate, 3, 4);
    CHECK(poll(gate, 4).empty());
    CHECK(rule.evaluated == 3);
    progress.suspect(3, false);
    CHECK(poll(gate, 5).empty());
    CHECK(rule.evaluated == 4);
  }
  SECTION("a rule with another watch does not hold its answers") {
    rule.watched = Watch::event;
    ++rule.swaps;
    CHECK(poll(gate, 4).empty());
    CHECK(rule.evaluated == 4);
    progress.suspect(3, false);
    CHECK(poll(gate, 5).empty());
    CHECK(rule.evaluated == 6);
  }
}

TEST_CASE("a recheck time evaluates that worker alone again") {
  Progress progress;
  ScriptedRule rule;
  rule.watched = Watch::timer;
  rule.decision.recheck_seconds = 0.5;
  Gate gate(progress, rule);
  for (NodeId id : {0, 1}) REQUIRE(progress.add(id, 0).ok());
  complete(progress, gate, 0, 1);
  CHECK(poll(gate, 1).empty());
  CHECK(gate.next_time() == 1.5);
  complete(progress, gate, 1, 1.25);
  CHECK(poll(gate, 1.25).empty());
  CHECK(rule.evaluated == 2);
  CHECK(gate.next_time() == 1.5);
  CHECK(poll(gate, 1.5).empty());
  CHECK(rule.evaluated == 3);
  CHECK(gate.next_time() == 1.75);
  rule.decision.pass = true;
  CHECK(poll(gate, 1.75) == std::vector<NodeId>{1});
  CHECK(poll(gate, 2.0) == std::vector<NodeId>{0});
  CHECK(gate.next_time() == kForever);
}

TEST_CASE("a rule with a recheck time of zero does not stop the clock") {
  Progress progress;
  ScriptedRule rule;
  rule.decision.recheck_seconds = 0;
  Gate gate(progress, rule);
  REQUIRE(progress.add(0, 0).ok());
  complete(progress, gate, 0, 1);
  CHECK(poll(gate, 1).empty());
  CHECK(gate.next_time() == 1 + Waiting::kMinRecheck);
}

TEST_CASE("a new rule is evaluated for all waiting workers") {
  Progress progress;
  const auto bsp = native_bsp();
  const auto asp = native_asp();
  Gate gate(progress, *bsp);
  for (NodeId id : {0, 1}) REQUIRE(progress.add(id, 0).ok());
  complete(progress, gate, 0, 1);
  CHECK(poll(gate, 1).empty());
  gate.set_rule(*asp);
  CHECK(poll(gate, 1) == std::vector<NodeId>{0});
}

TEST_CASE("a rule's error is returned by poll") {
  Progress progress;
  ScriptedRule rule;
  rule.broken = true;
  Gate gate(progress, rule);
  REQUIRE(progress.add(0, 0).ok());
  complete(progress, gate, 0, 1);
  std::vector<NodeId> passed;
  CHECK(gate.poll(1, passed).error().message == "the rule raised");
  CHECK(passed.empty());
}

TEST_CASE("a round whose answers were lost is repeated") {
  Progress progress;
  ScriptedRule rule;
  rule.watched = Watch::timer;
  rule.broken = true;
  Gate gate(progress, rule);
  REQUIRE(progress.add(0, 0).ok());
  complete(progress, gate, 0, 1);
  std::vector<NodeId> passed;
  CHECK_FALSE(gate.poll(1, passed).ok());
  rule.broken = false;
  rule.decision.pass = true;
  CHECK(poll(gate, 1) == std::vector<NodeId>{0});
}

TEST_CASE("a rule that changes is evaluated for all waiting workers") {
  Progress progress;
  ScriptedRule rule;
  rule.watched = Watch::timer;
  Gate gate(progress, rule);
  REQUIRE(progress.add(0, 0).ok());
  complete(progress, gate, 0, 1);
  CHECK(poll(gate, 1).empty());
  rule.decision.pass = true;
  CHECK(poll(gate, 2).empty());
  ++rule.swaps;
  CHECK(poll(gate, 3) == std::vector<NodeId>{0});
}
