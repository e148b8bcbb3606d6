#include "host/barrier/gate.hpp"

#include "host/base/random.hpp"
#include "tests/host/barrier/progress_rules.hpp"
#include "tests/test.hpp"

namespace {

/// A gate with workers 0 .. count-1.
struct GateWorld {
  GateWorld(BarrierRule& rule, NodeId count) : gate(progress, rule) {
    for (NodeId id = 0; id < count; ++id) REQUIRE(progress.add(id, 0).ok());
  }
  std::vector<NodeId> poll(double now) {
    std::vector<NodeId> passed;
    REQUIRE(gate.poll(now, passed).ok());
    return passed;
  }
  void complete(NodeId id, double now) {
    progress.start(id, now);
    progress.complete(id, now);
    gate.request(id, now);
  }

  Progress progress;
  Gate gate;
};

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
  GateWorld world(rule, workers);
  Rng rng(seed);
  std::vector<NodeId> running(workers);
  std::iota(running.begin(), running.end(), NodeId{0});
  int32_t widest = 0;
  for (int i = 0; i < completions; ++i) {
    REQUIRE_FALSE(running.empty());  // otherwise all of them wait: a deadlock
    const auto at = static_cast<size_t>(rng.below(running.size()));
    const NodeId id = running[at];
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
    world.complete(id, i);
    widest = std::max(widest, world.progress.max() - world.progress.min());
    for (const NodeId next : world.poll(i)) running.push_back(next);
  }
  return widest;
}

}  // namespace

TEST_CASE("under BSP all wait for the last worker and then pass in the order of their requests") {
  const auto rule = native_bsp();
  GateWorld world(*rule, 3);
  world.complete(2, 1);
  CHECK(world.poll(1).empty());
  world.complete(0, 2);
  CHECK(world.poll(2).empty());
  CHECK(world.progress.waiting() == 2);
  world.complete(1, 3);
  CHECK(world.poll(3) == std::vector<NodeId>{2, 0, 1});
  CHECK(world.progress.waiting() == 0);
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
  const auto rule = native_bsp();
  GateWorld world(*rule, 3);
  world.complete(0, 1);
  world.complete(1, 1);
  CHECK(world.poll(1).empty());
  CHECK(world.progress.remove(2));
  CHECK(world.poll(2) == std::vector<NodeId>{0, 1});
}

TEST_CASE("a worker that is lost while it waits does not pass") {
  const auto rule = native_bsp();
  GateWorld world(*rule, 3);
  world.complete(0, 1);
  CHECK(world.poll(1).empty());
  CHECK(world.progress.remove(0));
  world.complete(1, 2);
  world.complete(2, 2);
  CHECK(world.poll(2) == std::vector<NodeId>{1, 2});
}

TEST_CASE("a worker that is parked while it waits and requests again gets one answer") {
  const auto rule = native_bsp();
  GateWorld world(*rule, 2);
  world.complete(0, 1);
  CHECK(world.poll(1).empty());
  CHECK(world.progress.park(0));
  CHECK(world.progress.unpark(0));
  CHECK(world.gate.request(0, 1));
  world.complete(1, 2);
  CHECK(world.poll(2) == std::vector<NodeId>{0, 1});
}

TEST_CASE("a rule is evaluated only when its answer can have changed") {
  ScriptedRule rule;
  GateWorld world(rule, 3);
  world.complete(0, 1);
  CHECK(world.poll(1).empty());
  CHECK(rule.evaluated == 1);
  CHECK(world.poll(2).empty());
  CHECK(rule.evaluated == 1);

  SECTION("event: at each completion") {
    world.progress.complete(1, 3);
    CHECK(world.poll(3).empty());
    CHECK(rule.evaluated == 2);
  }
  SECTION("floor: when the minimum clock moves, new requests at once") {
    rule.watched = Watch::floor;
    world.complete(1, 3);
    CHECK(world.poll(3).empty());
    CHECK(rule.evaluated == 2);
    world.complete(2, 3);
    CHECK(world.poll(3).empty());
    CHECK(rule.evaluated == 5);
  }
  SECTION("timer: at no completion of another") {
    rule.watched = Watch::timer;
    world.progress.complete(1, 3);
    CHECK(world.poll(3).empty());
    CHECK(rule.evaluated == 1);
  }
}

TEST_CASE("an answer that names a worker holds until that worker has completed so many steps") {
  ScriptedRule rule;
  rule.watched = Watch::worker;
  rule.decision.worker = 2;
  rule.decision.step = 2;
  GateWorld world(rule, 4);
  world.complete(0, 1);
  CHECK(world.poll(1).empty());
  CHECK(rule.evaluated == 1);
  world.complete(1, 2);  // the new request alone
  CHECK(world.poll(2).empty());
  CHECK(rule.evaluated == 2);
  world.progress.complete(2, 3);  // one step of two
  world.progress.suspect(3, true);
  CHECK(world.poll(3).empty());
  CHECK(rule.evaluated == 2);

  SECTION("it reaches the step: all waiters that named it are evaluated") {
    rule.decision.pass = true;
    world.progress.complete(2, 4);
    CHECK(world.poll(4) == std::vector<NodeId>{0, 1});
    CHECK(rule.evaluated == 4);
  }
  SECTION("it leaves, or is parked") {
    rule.decision.pass = true;
    if (GENERATE(true, false)) {
      world.progress.remove(2);
    } else {
      world.progress.park(2);
    }
    CHECK(world.poll(4) == std::vector<NodeId>{0, 1});
  }
  SECTION("each waits for its own worker") {
    rule.decision.worker = 3;
    rule.decision.step = 1;
    world.complete(2, 4);  // all of them now name worker 3
    CHECK(world.poll(4).empty());
    CHECK(rule.evaluated == 5);
    rule.decision.worker = 0;
    rule.decision.step = 2;
    rule.decision.recheck_seconds = 1;
    world.complete(3, 5);
    CHECK(world.poll(5).empty());
    CHECK(rule.evaluated == 9);
    CHECK(world.gate.next_time() == 6);  // a recheck time counts beside it
    CHECK(world.poll(6).empty());
    CHECK(rule.evaluated == 13);
  }
  SECTION("a waiter that names no worker is evaluated at each completion, the others are not") {
    rule.decision.step = 0;
    world.complete(3, 4);
    CHECK(world.poll(4).empty());
    CHECK(rule.evaluated == 3);
    world.progress.suspect(3, false);
    CHECK(world.poll(5).empty());
    CHECK(rule.evaluated == 4);
  }
  SECTION("a rule with another watch does not hold its answers") {
    rule.watched = Watch::event;
    ++rule.swaps;
    CHECK(world.poll(4).empty());
    CHECK(rule.evaluated == 4);
    world.progress.suspect(3, false);
    CHECK(world.poll(5).empty());
    CHECK(rule.evaluated == 6);
  }
}

TEST_CASE("a recheck time evaluates that worker alone again") {
  ScriptedRule rule;
  rule.watched = Watch::timer;
  rule.decision.recheck_seconds = 0.5;
  GateWorld world(rule, 2);
  world.complete(0, 1);
  CHECK(world.poll(1).empty());
  CHECK(world.gate.next_time() == 1.5);
  world.complete(1, 1.25);
  CHECK(world.poll(1.25).empty());
  CHECK(rule.evaluated == 2);
  CHECK(world.gate.next_time() == 1.5);
  CHECK(world.poll(1.5).empty());
  CHECK(rule.evaluated == 3);
  CHECK(world.gate.next_time() == 1.75);
  rule.decision.pass = true;
  CHECK(world.poll(1.75) == std::vector<NodeId>{1});
  CHECK(world.poll(2.0) == std::vector<NodeId>{0});
  CHECK(world.gate.next_time() == kForever);
}

TEST_CASE("a rule with a recheck time of zero does not stop the clock") {
  ScriptedRule rule;
  rule.decision.recheck_seconds = 0;
  GateWorld world(rule, 1);
  world.complete(0, 1);
  CHECK(world.poll(1).empty());
  CHECK(world.gate.next_time() == 1 + Waiting::kMinRecheck);
}

TEST_CASE("a new rule is evaluated for all waiting workers") {
  const auto bsp = native_bsp();
  const auto asp = native_asp();
  GateWorld world(*bsp, 2);
  world.complete(0, 1);
  CHECK(world.poll(1).empty());
  world.gate.set_rule(*asp);
  CHECK(world.poll(1) == std::vector<NodeId>{0});
}

TEST_CASE("a rule's error is returned by poll") {
  ScriptedRule rule;
  rule.broken = true;
  GateWorld world(rule, 1);
  world.complete(0, 1);
  std::vector<NodeId> passed;
  CHECK(world.gate.poll(1, passed).error().message == "the rule raised");
  CHECK(passed.empty());
}

TEST_CASE("a round whose answers were lost is repeated") {
  ScriptedRule rule;
  rule.watched = Watch::timer;
  rule.broken = true;
  GateWorld world(rule, 1);
  world.complete(0, 1);
  std::vector<NodeId> passed;
  CHECK_FALSE(world.gate.poll(1, passed).ok());
  rule.broken = false;
  rule.decision.pass = true;
  CHECK(world.poll(1) == std::vector<NodeId>{0});
}

TEST_CASE("a rule that changes is evaluated for all waiting workers") {
  ScriptedRule rule;
  rule.watched = Watch::timer;
  GateWorld world(rule, 1);
  world.complete(0, 1);
  CHECK(world.poll(1).empty());
  rule.decision.pass = true;
  CHECK(world.poll(2).empty());
  ++rule.swaps;
  CHECK(world.poll(3) == std::vector<NodeId>{0});
}
