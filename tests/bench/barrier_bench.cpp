// Barrier decisions a second with 1,000 workers: rules written in Lua beside the same rules in C++, which maintain the
// same incremental minimum and make the same draws. As in a parameter server, a random worker completes a step and
// requests the next, and admitted workers continue. Both sides process the same events, in turns, in two modes:
//     all    each completion evaluates all waiting workers, as for a rule that watches events
//     gate   evaluates only workers whose decision can have changed: mostly one at a time under bsp and ssp
// Usage: barrier_bench [rounds]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bindings/modules/engine/barrier_api.hpp"
#include "bindings/vm/vm.hpp"
#include "host/base/random.hpp"
#include "tests/bench/in_turns.hpp"
#include "tests/host/barrier/progress_rules.hpp"

using namespace actorhost;
using namespace actorhost::test;

namespace {

constexpr NodeId kWorkers = 1000;
constexpr uint64_t kSeed = 7;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void must(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "barrier_bench: %s\n", status.error().message.c_str());
  std::exit(1);
}

/// Counts the calls of the inner rule and its decisions, so that both sides can be compared.
class Counted final : public BarrierRule {
 public:
  Counted(BarrierRule& rule, bool all) : rule_(rule), all_(all) {}
  Status decide(const Progress& progress, std::span<const Slot> slots, double now, std::span<Decision> out) override {
    evaluations += slots.size();
    return rule_.decide(progress, slots, now, out);
  }
  Watch watch() const override { return all_ ? Watch::event : rule_.watch(); }

  uint64_t evaluations = 0;

 private:
  BarrierRule& rule_;
  bool all_;
};

struct Figure {
  double rate = 0;  // decisions a second
  uint64_t decisions = 0;
  uint64_t passed = 0;
};

/// Workers that complete in random order and wait at the gate.
class Run {
 public:
  Run(BarrierRule& rule, bool all) : rule_(rule, all), gate_(progress_, rule_), rng_(kSeed) {
    for (NodeId id = 0; id < kWorkers; ++id) {
      must(progress_.add(id, 0));
      running_.push_back(id);
    }
  }

  Figure round(int events) {
    Figure figure;
    const uint64_t before = rule_.evaluations;
    const double start = seconds();
    for (int i = 0; i < events; ++i) {
      const auto at = static_cast<size_t>(rng_.below(running_.size()));
      const NodeId id = running_[at];
      running_[at] = running_.back();
      running_.pop_back();
      progress_.complete(id, now_ += 0.01);
      gate_.request(id, now_);
      passed_.clear();
      must(gate_.poll(now_, passed_));
      for (const NodeId next : passed_) progress_.start(next, now_);
      running_.insert(running_.end(), passed_.begin(), passed_.end());
      figure.passed += passed_.size();
    }
    figure.decisions = rule_.evaluations - before;
    figure.rate = static_cast<double>(figure.decisions) / (seconds() - start);
    return figure;
  }

 private:
  Counted rule_;
  Progress progress_;
  Gate gate_;
  Rng rng_;
  std::vector<NodeId> running_;
  std::vector<NodeId> passed_;
  double now_ = 0;
};

/// Runs `rounds` rounds on both sides in turns and prints the medians. False when their decisions differ.
bool compare(bool all, const char* spec, BarrierRule& native, BarrierRule& lua, int events, int rounds) {
  Run native_load(native, all);
  Run lua_load(lua, all);
  std::vector<double> native_rates;
  std::vector<double> lua_rates;
  for (int i = -1; i < rounds; ++i) {  // the first round warms up
    const Figure one = native_load.round(events);
    const Figure other = lua_load.round(events);
    if (one.passed != other.passed || one.decisions != other.decisions) {
      std::printf("%s: the rules disagree\n", spec);
      return false;
    }
    if (i < 0) continue;
    native_rates.push_back(one.rate / 1e6);
    lua_rates.push_back(other.rate / 1e6);
  }
  const double a = median(native_rates);
  const double b = median(lua_rates);
  std::printf("%-6s %-9s %10.2f %10.2f %8.2fx\n", all ? "all" : "gate", spec, a, b, b / a);
  return true;
}

std::unique_ptr<LuaRule> lua_rule(Vm& vm, const std::string& spec) {
  must(vm.load("return require('actor.barrier').evaluator('" + spec + "', " + std::to_string(kSeed) + ")", "@bench"));
  must(vm.call(0, 1));
  auto rule = LuaRule::pop(vm);
  if (!rule.ok()) must(rule.error());
  return std::move(*rule);
}

struct Job {
  int rounds = 0;
  bool same = true;
};

/// Runs as a C function called from Lua, because a parameter server calls its rule there.
int run_cases(lua_State* L) {
  Vm& vm = Vm::from(L);
  Job& job = *static_cast<Job*>(vm.context());
  struct Case {
    const char* spec;
    std::function<std::unique_ptr<BarrierRule>()> native;
    int events_all;
    int events_gate;
  };
  const Case cases[] = {
      {"bsp", native_bsp, 10000, 200000},
      {"ssp:4", [] { return native_ssp(4); }, 10000, 200000},
      {"pbsp:10", [] { return native_pbsp(10, {}, kSeed); }, 2000, 2000},
  };
  for (const Case& c : cases) {
    for (const bool all : {true, false}) {
      const auto native = c.native();
      const auto lua = lua_rule(vm, c.spec);
      const int events = all ? c.events_all : c.events_gate;
      job.same = compare(all, c.spec, *native, *lua, events, job.rounds) && job.same;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Job job{.rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 15};
  VmConfig config;
  config.context = &job;
  auto vm = Vm::create(std::move(config));
  if (!vm.ok()) must(vm.error());
  std::printf("barrier decisions, %u workers, million a second (median of %d rounds)\n", kWorkers, job.rounds);
  std::printf("%-6s %-9s %10s %10s %9s\n", "mode", "rule", "C++", "Lua", "Lua/C++");
  lua_pushcfunction((*vm)->state(), run_cases);
  must((*vm)->call(0, 0));
  return job.same ? 0 : 1;
}
