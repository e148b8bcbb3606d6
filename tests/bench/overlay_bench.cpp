// The overlay on virtual time: hops of lookups, the size estimate, the uniformity of samples, and the messages of a
// join, a leave, a failure and an idle node. With `starts`: how long random small overlays take to become one correct
// ring. With `churn`: lookups under churn and with the ring cut in two. With `barrier`: the cost of a BSP step. The
// seeds determine every figure except the seconds of the machine.
// Usage: overlay_bench [draws [nodes...]] | starts [seeds [first]] | churn [seeds [nodes]] | barrier [nodes]

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/bench/overlay_churn.hpp"
#include "tests/host/overlay/barrier_world.hpp"
#include "tests/host/overlay/overlay_world.hpp"

using namespace actorhost;
using namespace actorhost::test;

namespace {

constexpr uint64_t kSeed = 1;

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<size_t>(q * static_cast<double>(values.size())))];
}

/// Messages by purpose.
struct Messages {
  double probes = 0, lookups = 0, others = 0;
  Messages() = default;
  explicit Messages(const OverlayWorld& world) {
    for (const auto& [kind, count] : world.sent_by_kind()) {
      const bool probe = kind == overlay_kind::probe || kind == overlay_kind::probe_reply;
      const bool lookup = kind == overlay_kind::find || kind == overlay_kind::found;
      (probe ? probes : lookup ? lookups : others) += static_cast<double>(count);
    }
  }
  double all() const { return probes + lookups + others; }
  /// Adds `factor` times the other's counts.
  void add(const Messages& m, double factor) {
    probes += factor * m.probes, lookups += factor * m.lookups, others += factor * m.others;
  }
};

/// Messages while `act` runs and `seconds` after it.
template <typename Act>
Messages messages_of(OverlayWorld& world, double seconds, Act act) {
  const Messages before(world);
  act();
  world.run(seconds);
  Messages after(world);
  after.add(before, -1);
  return after;
}

double all_bytes(const OverlayWorld& world) {
  double sum = 0;
  for (const auto& [kind, bytes] : world.bytes_by_kind()) sum += static_cast<double>(bytes);
  return sum;
}

/// The messages of an idle node a second, and the additional messages of a join, a leave or a failure.
void costs(OverlayWorld& world, NodeId& next) {
  const auto n = static_cast<double>(world.size());
  const double bytes = all_bytes(world);
  const Messages idle = messages_of(world, 20, [] {});
  std::printf("  idle, a second and node: %.1f messages (%.1f heartbeats, %.1f of lookups), %.0f bytes\n",
              idle.all() / n / 20, idle.probes / n / 20, idle.lookups / n / 20, (all_bytes(world) - bytes) / n / 20);
  const auto print = [&](const char* what, double change, const std::function<void()>& act) {
    // Few changes run at once, so that they seldom overlap. The idle messages to subtract are counted over equally long
    // periods directly before and 38 s later, whole turns of Overlay::find_finger: idle messages become fewer with
    // time, and there are a hundred times as many of them.
    const int many = std::max(1, static_cast<int>(n / 100));
    const int rounds = std::clamp(static_cast<int>(6000 / n), 3, 20);
    constexpr double kStretch = 8, kSettle = 30, kLater = kStretch / (2 * kStretch + kSettle);
    Messages all;
    world.run(kSettle);
    for (int round = 0; round < rounds; ++round) {
      const auto before = static_cast<double>(world.size());
      const double grown = (before + change * many) / before;
      all.add(messages_of(world, kStretch, [] {}), -(1 - kLater) * grown);
      const auto acts = [&] {
        for (int i = 0; i < many; ++i) act();
      };
      all.add(messages_of(world, kStretch, acts), 1);
      world.run(kSettle);
      all.add(messages_of(world, kStretch, [] {}), -kLater);
    }
    const double acts = many * rounds;
    std::printf("  a %s: %.0f messages (%.0f heartbeats, %.0f of lookups, %.0f others; log2(n)^2 is %.0f)\n", what,
                all.all() / acts, all.probes / acts, all.lookups / acts, all.others / acts,
                std::log2(n) * std::log2(n));
  };
  print("join", 1, [&] { world.add(next++, {world.some_node()}); });
  print("leave", -1, [&] { world.leave(world.some_node()); });
  print("failure", -1, [&] { world.kill(world.some_node()); });
}

void lookups(OverlayWorld& world) {
  std::vector<double> hops;
  int wrong = 0;
  for (int i = 0; i < 2000; ++i) {
    const RingId key = world.net.rng().next();
    const auto found = world.find(world.some_node(), key);
    wrong += found.ok() && found->owner.node == world.owner_of(key) ? 0 : 1;
    if (found.ok()) hops.push_back(found->hops);
  }
  const double bits = std::log2(static_cast<double>(world.size()));
  std::printf("  lookup hops: median %g, 99 %% %g, most %g (goals %.1f and %.1f); %d of 2000 without the owner\n",
              quantile(hops, 0.5), quantile(hops, 0.99), quantile(hops, 1), bits / 2 + 2, 2 * bits, wrong);
}

void sizes(OverlayWorld& world) {
  std::vector<double> off;
  double error = 0;
  const auto n = static_cast<double>(world.size());
  for (const NodeId node : world.nodes()) {
    const SizeEstimate estimate = world.at(node).size_estimate(world.now());
    off.push_back(std::abs(estimate.nodes / n - 1));
    error += estimate.error / n / n;
  }
  std::printf("  size estimates: 95 %% within %.1f %% (goal 15), all within %.1f %%; reported standard error %.1f %%\n",
              100 * quantile(off, 0.95), 100 * quantile(off, 1), 100 * error);
}

void samples(OverlayWorld& world, int64_t wanted, const char* when) {
  std::map<NodeId, double> counts;
  double draws = 0;
  double seconds = 0;
  while (draws < static_cast<double>(wanted)) {
    // Several nodes sample at once, so that little virtual time passes.
    const double start = world.now();
    size_t open = 0;
    for (int i = 0; i < 100; ++i) {
      ++open;
      const NodeId requester = world.some_node();
      world.sample(requester, 10, [&](const std::vector<Sampled>& sampled) {
        for (const Sampled& one : sampled) counts[one.peer.node] += 1;
        draws += static_cast<double>(sampled.size());
        --open;
      });
    }
    world.net.run_until([&] { return open == 0; }, world.now() + 60);
    seconds += world.now() - start;
  }
  const double mean = draws / static_cast<double>(world.size());
  double chi = 0;
  for (const NodeId node : world.nodes()) chi += (counts[node] - mean) * (counts[node] - mean) / mean;
  const auto freedom = static_cast<double>(world.size() - 1);
  std::printf("  samples, %s: %.0f draws, chi-square %.0f with %.0f degrees of freedom: %+.1f standard deviations\n",
              when, draws, chi, freedom, (chi - freedom) / std::sqrt(2 * freedom));
}

void run(NodeId n, int64_t draws) {
  const auto began = std::chrono::steady_clock::now();
  OverlayWorld world(kSeed);
  world.grow(n, std::min(n / 50.0, 40.0));
  world.run(60);
  std::printf("%u nodes; %zu with a wrong neighbour, %zu with wrong neighbour lists\n", n, world.wrong_neighbours(),
              world.wrong_lists());
  lookups(world);
  sizes(world);
  NodeId next = n;
  costs(world, next);
  samples(world, draws, "settled");
  for (NodeId i = 0; i < n / 5; ++i) {
    world.leave(world.some_node());
    world.add(next++, {world.some_node()});
    world.run(0.01);
  }
  world.run(0.1);
  samples(world, draws, "a fifth has just changed");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::printf("  %.0f s\n", took.count());
}

/// BSP steps without work, of n nodes, with messages of one millisecond.
void barrier(NodeId n) {
  BarrierWorld world(kSeed, {constant_latency(1e-3)}, 1);
  world.add(0, {});
  for (NodeId node = 1; node < n; ++node) {
    world.add(node, {world.world.some_node()});
    if (node % 20 == 0) world.world.run(0.1);
  }
  world.world.run(20);
  const TreeTraffic still = world.traffic();
  world.set_work(0);
  world.world.run(5);
  const TreeTraffic before = world.traffic();
  const uint64_t steps = world.least_clock();
  world.world.run(10);
  const TreeTraffic after = world.traffic();
  const auto done = static_cast<double>(world.least_clock() - steps);
  const auto each = [n](uint64_t messages) { return static_cast<double>(messages) / n; };
  std::printf(
      "%u nodes under BSP, %zu included: depth %u, a step takes %.1f ms; a node sends %.2f reports and %.2f results a "
      "step\n",
      n, world.included(), world.depth(), 10e3 / done, each(after.reports - before.reports) / done,
      each(after.results - before.results) / done);
  std::printf("  until then, in all: %.0f reports and %.0f results a node\n", each(still.reports), each(still.results));
}

/// Seconds from the last change until all neighbour lists are right. Up to 120 nodes start with random contacts, some
/// of them unreachable; soon after, 20 failures, leaves and joins happen at random moments. kForever if it takes more
/// than a minute.
double settle(uint64_t seed) {
  OverlayWorld world(seed);
  Rng rng(seed, 7);
  const auto n = static_cast<NodeId>(2 + rng.below(120));
  for (NodeId i = 0; i < n; ++i) {
    std::vector<NodeId> contacts;
    if (i > 0) contacts.push_back(static_cast<NodeId>(rng.below(i)));
    for (uint64_t k = rng.below(3); k > 0; --k) contacts.push_back(static_cast<NodeId>(rng.below(n + 10)));
    world.add(i, contacts);
    if (rng.below(4) == 0) world.run(0.3 * rng.uniform());
  }
  world.run(5);
  for (NodeId k = 0; k < 20; ++k) {
    world.run(rng.exponential(1));
    if (world.size() <= 3 || rng.below(2) == 0) {
      world.add(1000 + k, {world.some_node()});
    } else if (rng.below(2) == 0) {
      world.kill(world.some_node());
    } else {
      world.leave(world.some_node());
    }
  }
  for (int seconds = 0; seconds <= 60; ++seconds) {
    if (world.wrong_lists() == 0) return seconds;
    world.run(1);
  }
  return kForever;
}

void starts(uint64_t seeds, uint64_t first) {
  std::vector<double> seconds;
  uint64_t slowest = first;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    seconds.push_back(settle(seed));
    if (seconds.back() > seconds[slowest - first]) slowest = seed;
  }
  std::printf("%llu random starts: right after %g s (median), %g s (99 %%), %g s (most, seed %llu)\n",
              static_cast<unsigned long long>(seeds), quantile(seconds, 0.5), quantile(seconds, 0.99),
              quantile(seconds, 1), static_cast<unsigned long long>(slowest));
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  if (argc > 1 && std::string_view(argv[1]) == "starts") {
    starts(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1000, argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0);
    return 0;
  }
  if (argc > 1 && std::string_view(argv[1]) == "churn") {
    bench_churn(argc > 3 ? static_cast<NodeId>(std::atoi(argv[3])) : 1000,
                argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 3);
    return 0;
  }
  if (argc > 1 && std::string_view(argv[1]) == "barrier") {
    barrier(argc > 2 ? static_cast<NodeId>(std::atoi(argv[2])) : 1000);
    return 0;
  }
  const int64_t draws = argc > 1 ? std::atoll(argv[1]) : 1000000;
  std::vector<NodeId> sizes = {1000, 10000};
  if (argc > 2) sizes.clear();
  for (int i = 2; i < argc; ++i) sizes.push_back(static_cast<NodeId>(std::atoi(argv[i])));
  std::printf("seed %llu\n", static_cast<unsigned long long>(kSeed));
  for (const NodeId n : sizes) run(n, draws);
  return 0;
}
