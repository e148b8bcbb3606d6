// Rules written in Lua, driven as the engines drive them: the same answers as the native rules, errors, swapping.
#include "bindings/modules/engine/barrier_api.hpp"

#include "bindings/vm/vm.hpp"
#include "host/base/random.hpp"
#include "tests/bindings/vm_fixture.hpp"
#include "tests/host/barrier/progress_rules.hpp"
#include "tests/test.hpp"

namespace {

struct RuleFixture : VmFixture {
  /// Leaves the value of `expression` on the stack.
  void value(const std::string& expression) {
    Status status = vm->load("local barrier = require 'actor.barrier'; return " + expression, "@job.lua");
    if (status.ok()) status = vm->call(0, 1);
    if (!status.ok()) FAIL(status.error().message);
  }

  /// The evaluator of `expression`, as a rule.
  std::unique_ptr<LuaRule> rule(const std::string& expression) {
    value(expression);
    auto made = LuaRule::pop(*vm);
    if (!made.ok()) FAIL(made.error().message);
    return std::move(*made);
  }
};

/// One cluster of workers under one rule. Two clusters with the same events can be compared.
struct Cluster {
  explicit Cluster(BarrierRule& rule) : gate(progress, rule) {}

  void complete(NodeId id, double now) {
    progress.start(id, now);
    progress.complete(id, now + 0.5);
    gate.request(id, now + 0.5);
  }

  std::vector<NodeId> poll(double now) {
    std::vector<NodeId> passed;
    const Status status = gate.poll(now, passed);
    if (!status.ok()) FAIL(status.error().message);
    return passed;
  }

  Progress progress;
  Gate gate;
};

/// Drives both clusters through one random sequence of completions, departures, joins and time, and compares.
class Duel {
 public:
  Duel(BarrierRule& one, BarrierRule& other, uint64_t seed) : one_(one), other_(other), rng_(seed) {
    for (int i = 0; i < 12; ++i) join();
  }

  void play(int moves) {
    for (int i = 0; i < moves; ++i) {
      now_ += rng_.uniform();
      const uint64_t what = rng_.below(40);
      if (what == 0 && members_.size() > 3) {
        leave();
      } else if (what == 1) {
        join();
      } else if (!running_.empty()) {
        complete();
      }
      compare();
    }
  }

  size_t passes() const { return passes_; }

 private:
  NodeId pick(const std::set<NodeId>& from) {
    auto it = from.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(rng_.below(from.size())));
    return *it;
  }

  void join() {
    REQUIRE(one_.progress.join(next_).ok());
    REQUIRE(other_.progress.join(next_).ok());
    members_.insert(next_);
    running_.insert(next_++);
  }

  void leave() {
    const NodeId id = pick(members_);
    one_.progress.remove(id);
    other_.progress.remove(id);
    members_.erase(id);
    running_.erase(id);
  }

  void complete() {
    const NodeId id = pick(running_);
    one_.complete(id, now_);
    other_.complete(id, now_);
    running_.erase(id);
  }

  void compare() {
    const std::vector<NodeId> passed = one_.poll(now_);
    REQUIRE(other_.poll(now_) == passed);
    REQUIRE(one_.gate.next_time() == other_.gate.next_time());
    running_.insert(passed.begin(), passed.end());
    passes_ += passed.size();
  }

  Cluster one_;
  Cluster other_;
  Rng rng_;
  std::set<NodeId> members_;
  std::set<NodeId> running_;
  NodeId next_ = 0;
  double now_ = 0;
  size_t passes_ = 0;
};

}  // namespace

TEST_CASE("Lua and native rules give the same answers for the same events and seed") {
  const Resample sticky{Resample::Kind::sticky, 0};
  const Resample poll{Resample::Kind::poll, 1.5};
  RuleFixture lua;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const std::string end = ", " + std::to_string(seed) + ")";
    const auto duel = [&](const char* spec, std::unique_ptr<BarrierRule> native) {
      INFO(spec << ", seed " << seed);
      const auto rule = lua.rule("barrier.evaluator('" + std::string(spec) + "'" + end);
      Duel game(*native, *rule, seed);
      game.play(2000);
      CHECK(game.passes() > 500);
    };
    duel("bsp", native_bsp());
    duel("ssp:3", native_ssp(3));
    duel("asp", native_asp());
    duel("pbsp:4", native_pbsp(4, {}, seed));
    duel("pbsp:0", native_asp());
    duel("pbsp:1000", native_bsp());
    duel("pssp:4:2@sticky", native_pssp(4, 2, sticky, seed));
    duel("pbsp:3@poll:1.5", native_pbsp(3, poll, seed));
  }
}

TEST_CASE("a rule's staleness and watch reach the engine, also after a swap") {
  RuleFixture lua;
  lua.run("evaluator = require('actor.barrier').evaluator('ssp:3')");
  const auto rule = lua.rule("evaluator");
  CHECK(rule->staleness() == 3);
  CHECK(rule->watch() == Watch::floor);
  const uint64_t version = rule->version();
  lua.run("evaluator:set(function(view) return view.step < 5 end)");
  CHECK(rule->staleness() == -1);
  CHECK(rule->watch() == Watch::event);
  CHECK(rule->version() == version + 1);
  lua.run("evaluator:set(require('actor.barrier').elastic())");
  CHECK(rule->watch() == Watch::worker);
}

TEST_CASE("a rule sees the number of updates in the merge rule, also in a sample") {
  RuleFixture lua;
  for (const char* rule : {"function(view) return view.buffered == 3 end",
                           "barrier.sample(1, function(view) return view.buffered == 3 end)"}) {
    const auto made = lua.rule(std::string("barrier.evaluator(") + rule + ")");
    Cluster cluster(*made);
    REQUIRE(cluster.progress.add(0, 0).ok());
    cluster.complete(0, 1);
    CHECK(cluster.poll(1).empty());
    cluster.progress.set_buffered(3);
    cluster.complete(0, 2);
    CHECK(cluster.poll(3) == std::vector<NodeId>{0});
  }
}

TEST_CASE("a rule swapped in while workers wait decides about them at once") {
  RuleFixture lua;
  lua.run("evaluator = require('actor.barrier').evaluator('bsp')");
  const auto rule = lua.rule("evaluator");
  Cluster cluster(*rule);
  for (const NodeId id : {0U, 1U}) REQUIRE(cluster.progress.add(id, 0).ok());
  cluster.complete(0, 1);
  CHECK(cluster.poll(1).empty());
  lua.run("evaluator:set(require('actor.barrier').asp())");
  CHECK(cluster.poll(1) == std::vector<NodeId>{0});
}

TEST_CASE("a rule that raises or returns nonsense ends the poll with its name, place and traceback") {
  RuleFixture lua;
  const auto failure = [&](const std::string& function) {
    const auto rule = lua.rule("barrier.evaluator(barrier.sample(2, " + function + "))");
    Cluster cluster(*rule);
    for (const NodeId id : {0U, 1U, 2U}) REQUIRE(cluster.progress.add(id, 0).ok());
    cluster.complete(0, 1);
    std::vector<NodeId> passed;
    const Status status = cluster.gate.poll(1, passed);
    CHECK(failure_of(status).code == Code::script);
    return status.error().message;
  };
  const std::string raised = failure("function(view) return view.steps[3] > 0 end");
  INFO(raised);
  CHECK(raised.find("barrier rule 'sample(2, job.lua:1)' (job.lua:1)") == 0);
  CHECK(raised.find("job.lua:1: view.steps[3] is out of range: 2 workers are seen") != std::string::npos);
  CHECK(raised.find("stack traceback") != std::string::npos);
  CHECK(failure("function(view) return 1 end").find("returned number 1, expected true, false") != std::string::npos);
  CHECK(failure("function(view) end").find("returned nil") != std::string::npos);
  CHECK(failure("function(view) return false, 0/0 end").find("returned false, ") != std::string::npos);
  CHECK(failure("function(view) return false, -1 end").find("returned false, number -1, expected") !=
        std::string::npos);
  CHECK(failure("function(view) return false, '1' end").find("returned false, string '1', expected") !=
        std::string::npos);
}

TEST_CASE("only an evaluator is accepted as an evaluator") {
  RuleFixture lua;
  for (const char* text : {"nil", "{}", "barrier.bsp()", "{batch = 1, evaluate_one = print, evaluate_all = print}",
                           "{batch = 7LL, evaluate_one = print, evaluate_all = print}"}) {
    INFO(text);
    lua.value(text);
    CHECK(failure_of(LuaRule::pop(*lua.vm)).message.find("expected an evaluator of actor.barrier") == 0);
    CHECK(lua_gettop(lua.vm->state()) == 0);
  }
}
