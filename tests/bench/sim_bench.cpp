// The barrier simulator beside plain loops that compute only the measured result: no measures, no churn, no network, no
// choice of rule. Both sides take turns in one process.
//     bsp, pbsp   steps of 1 + Exp(1) seconds; the loop has a binary heap and checks each waiting worker again at each
//                 completion, as the rule is defined; it draws samples with replacement (which saves bookkeeping)
//     events      no barrier: only the queue, the random numbers and the counting, beside std::priority_queue with
//                 identical random numbers; the number of steps at the end must be equal
// Usage: sim_bench [rounds] [figure...]

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <queue>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/base/random.hpp"
#include "host/sim/simulation.hpp"
#include "host/sim/work_times.hpp"
#include "tests/bench/in_turns.hpp"

using namespace actorhost;

namespace {

constexpr uint32_t kBeta = 10;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Outcome {
  uint64_t updates = 0;
  double mean = 0;  // completed steps of a node
};

// --- ours ---

Scenario scenario(uint32_t nodes, double horizon, const char* work) {
  Scenario out;
  out.nodes = nodes;
  out.seconds = horizon;
  auto parsed = Distribution::parse(work);
  if (!parsed.ok()) std::exit(1);
  out.work = *parsed;
  out.seed = 7;
  return out;
}

Outcome ours(const Scenario& scenario, const NativeRule& rule) {
  auto result = simulate_hub(
      scenario, [&](const Clocks& clocks) { return make_admission(rule, clocks, scenario.seed); }, nullptr);
  if (!result.ok()) {
    std::fprintf(stderr, "sim_bench: %s\n", result.error().message.c_str());
    std::exit(1);
  }
  return {result->updates, static_cast<double>(result->updates) / scenario.nodes};
}

// --- the loops ---

/// A loop that a programmer writes quickly for one experiment.
class PlainLoop {
 public:
  explicit PlainLoop(int nodes) : nodes_(nodes), done_(static_cast<size_t>(nodes), 0) {
    heap_.reserve(static_cast<size_t>(nodes) + 1);
    for (int i = 0; i < nodes; ++i) start(i, 0);
  }

  Outcome bsp(double horizon) {
    int arrived = 0;
    for (double now = 0; take(now) >= 0 && now <= horizon;) {
      if (++arrived < nodes_) continue;
      arrived = 0;
      for (int i = 0; i < nodes_; ++i) start(i, now);
    }
    return outcome();
  }

  Outcome pbsp(double horizon) {
    std::vector<int> waiting;
    double now = 0;
    for (;;) {
      const int id = take(now);
      if (id < 0 || now > horizon) return outcome();
      waiting.push_back(id);
      size_t remaining = 0;
      for (size_t k = 0; k < waiting.size(); ++k) {
        const int worker = waiting[k];
        if (passes(worker)) {
          start(worker, now);
        } else {
          waiting[remaining++] = worker;
        }
      }
      waiting.resize(remaining);
    }
  }

 private:
  struct Event {
    double time;
    int id;
  };

  uint64_t bits() {
    uint64_t x = low_;
    const uint64_t y = high_;
    low_ = y;
    x ^= x << 23;
    high_ = x ^ y ^ (x >> 17) ^ (y >> 26);
    return high_ + y;
  }

  void start(int id, double now) {
    const double uniform = static_cast<double>(bits() >> 11) * 0x1.0p-53;
    heap_.push_back({now + 1 - std::log(1 - uniform), id});
    std::push_heap(heap_.begin(), heap_.end(), [](const Event& a, const Event& b) { return a.time > b.time; });
  }

  int take(double& now) {
    if (heap_.empty()) return -1;
    std::pop_heap(heap_.begin(), heap_.end(), [](const Event& a, const Event& b) { return a.time > b.time; });
    const Event event = heap_.back();
    heap_.pop_back();
    now = event.time;
    ++done_[static_cast<size_t>(event.id)];
    ++updates_;
    return event.id;
  }

  bool passes(int worker) {
    const int mine = done_[static_cast<size_t>(worker)];
    for (uint32_t k = 0; k < kBeta; ++k) {
      const uint64_t other = ((bits() >> 32) * static_cast<uint64_t>(nodes_)) >> 32;
      if (done_[other] < mine) return false;
    }
    return true;
  }

  // The event beyond the horizon has been counted too.
  Outcome outcome() const { return {updates_ - 1, static_cast<double>(updates_ - 1) / nodes_}; }

  int nodes_;
  std::vector<int> done_;
  std::vector<Event> heap_;
  uint64_t updates_ = 0;
  uint64_t low_ = 0x9e3779b97f4a7c15ULL;
  uint64_t high_ = 0xd1b54a32d192ed03ULL;
};

/// No barrier: each node begins its next step at once.
Outcome priority_queue_events(const Scenario& scenario) {
  struct Event {
    double time;
    uint64_t order;
    uint32_t node;
    bool operator<(const Event& other) const {
      return time > other.time || (time == other.time && order > other.order);
    }
  };
  std::priority_queue<Event> queue;
  std::vector<uint32_t> steps(scenario.nodes, 0);
  const uint64_t seed = sim_seed(scenario.seed, SimStream::work);
  uint64_t order = 0;
  const auto start = [&](uint32_t node, double now) {
    StepRng rng(seed, node, steps[node]);
    queue.push({now + rng.exponential(), order++, node});
  };
  for (uint32_t i = 0; i < scenario.nodes; ++i) start(i, 0);
  uint64_t updates = 0;
  while (queue.top().time <= scenario.seconds) {
    const Event event = queue.top();
    queue.pop();
    ++steps[event.node];
    ++updates;
    start(event.node, event.time);
  }
  return {updates, static_cast<double>(updates) / scenario.nodes};
}

// --- figures ---

struct Figure {
  const char* name;
  std::function<Outcome()> ours;
  std::function<Outcome()> yardstick;
  double tolerance;  // relative, on the mean steps; both sides must do the same
};

double timed(const std::function<Outcome()>& side, Outcome& outcome) {
  const double start = seconds();
  outcome = side();
  return seconds() - start;
}

bool compare(const Figure& figure, int rounds) {
  std::vector<double> mine;
  std::vector<double> theirs;
  std::vector<double> ratios;
  Outcome a;
  Outcome b;
  for (int i = 0; i < rounds; ++i) {
    mine.push_back(timed(figure.ours, a));
    theirs.push_back(timed(figure.yardstick, b));
    ratios.push_back(theirs.back() / mine.back());
  }
  const double each = 1e9 / static_cast<double>(a.updates);
  std::printf("%-28s %9.3f %9.3f %8.2fx %8.2f %8.2f %9.0f ns\n", figure.name, median(mine), median(theirs),
              median(ratios), a.mean, b.mean, median(mine) * each);
  if (std::abs(a.mean - b.mean) <= figure.tolerance * b.mean) return true;
  std::printf("%s: the two sides did not simulate the same\n", figure.name);
  return false;
}

/// In a separate process, so that the peak memory is only this run's.
void print_large() {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    const double start = seconds();
    const Outcome outcome = ours(scenario(100000, 200, "1+exp(1)"), {0, kBeta, {}});
    std::printf("pbsp:10, 100,000 nodes, 200 s: %.2f s, %.2f steps a node, %llu updates", seconds() - start,
                outcome.mean, static_cast<unsigned long long>(outcome.updates));
    std::fflush(stdout);
    ::_exit(0);
  }
  int status = 0;
  rusage usage{};
  if (child < 0 || ::wait4(child, &status, 0, &usage) != child || status != 0) std::exit(1);
  std::printf(", %.0f MiB at most\n", static_cast<double>(usage.ru_maxrss) / 1024);
}

std::vector<Figure> figures() {
  const NativeRule bsp;
  const NativeRule pbsp{0, kBeta, {}};
  const NativeRule asp{NativeRule::kFree, NativeRule::kAll, {}};
  const auto compared = [](const char* name, uint32_t nodes, double horizon, const NativeRule& rule) {
    return Figure{name, [=] { return ours(scenario(nodes, horizon, "1+exp(1)"), rule); },
                  [=] {
                    PlainLoop loop(static_cast<int>(nodes));
                    return rule.beta == kBeta ? loop.pbsp(horizon) : loop.bsp(horizon);
                  },
                  0.03};
  };
  const Scenario free = scenario(100000, 30, "exp(1)");
  return {
      compared("bsp, P=1000, T=20000", 1000, 20000, bsp),
      compared("pbsp:10, P=1000, T=200", 1000, 200, pbsp),
      compared("pbsp:10, P=10000, T=20", 10000, 20, pbsp),
      {"events, P=100000, T=30", [=] { return ours(free, asp); }, [=] { return priority_queue_events(free); }, 0},
  };
}

bool wanted(const char* name, int argc, char** argv) {
  if (argc < 3) return true;
  return std::any_of(argv + 2, argv + argc, [name](const char* want) { return std::strstr(name, want) != nullptr; });
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 7;
  std::printf("seconds for a simulation, median of %d rounds; steps completed by a node\n", rounds);
  std::printf("%-28s %9s %9s %9s %8s %8s %12s\n", "", "ours", "loop", "loop/ours", "steps", "loop's", "a step");
  bool same = true;
  for (const Figure& figure : figures()) {
    if (wanted(figure.name, argc, argv)) same = compare(figure, rounds) && same;
  }
  if (wanted("large", argc, argv)) print_large();
  return same ? 0 : 1;
}
