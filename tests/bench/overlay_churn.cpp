#include "tests/bench/overlay_churn.hpp"

#include <cstdio>

#include "tests/host/overlay/overlay_world.hpp"

namespace actorhost::test {

namespace {

constexpr double kReplaced = 0.1;  // share of the nodes, a minute
constexpr double kLookups = 50;    // a second
constexpr double kPartition = 30;  // seconds
constexpr double kLongestHealing = 300;

SimLink lossy_link() {
  SimLink link{uniform_latency(0.5e-3, 1.5e-3)};
  link.loss = 0.01;
  return link;
}

class Churn {
 public:
  Churn(NodeId nodes, uint64_t seed) : world_(seed, lossy_link()), rng_(seed, 1), next_(nodes) {
    world_.grow(nodes, nodes / 50.0);
    world_.run(30);
  }

  /// Runs lookups for `seconds`; with `replaced`, also replaces nodes.
  void phase(const char* what, double seconds, bool replaced) {
    lookups_ = right_ = failed_ = 0;
    const double end = world_.now() + seconds;
    const auto sent = static_cast<double>(world_.sent());
    double node_seconds = 0;
    const double replacements = replaced ? kReplaced * static_cast<double>(world_.size()) / 60 : 0;
    while (world_.now() < end) {
      const double step = rng_.exponential(1 / (kLookups + replacements));
      node_seconds += step * static_cast<double>(world_.size());
      world_.run(step);
      if (rng_.uniform() * (kLookups + replacements) < replacements) {
        replace_one();
      } else {
        look_up();
      }
    }
    world_.net.run_until([this] { return right_ + failed_ == lookups_; }, world_.now() + 11);
    std::printf("  %-22s %6.0f lookups, %.3f %% found the owner; %.1f messages a second and node\n", what, lookups_,
                100 * right_ / lookups_, (static_cast<double>(world_.sent()) - sent) / node_seconds);
  }

  void cut() {
    cut_ = true;
    world_.net.partition([](ProcessId a, ProcessId b) { return a % 2 != b % 2; });
  }

  void heal() {
    cut_ = false;
    world_.net.partition(nullptr);
    const double start = world_.now();
    const auto sent = static_cast<double>(world_.sent());
    double ring = -1;
    while (world_.now() - start < kLongestHealing && world_.wrong_lists() > 0) {
      world_.run(0.5);
      if (ring < 0 && world_.wrong_neighbours() == 0) ring = world_.now() - start;
    }
    const double took = world_.now() - start;
    std::printf("  one ring after %.1f s, all neighbour lists right after %.1f s; %.1f messages a second and node\n",
                ring, took, (static_cast<double>(world_.sent()) - sent) / static_cast<double>(world_.size()) / took);
  }

 private:
  // Half of the departing nodes send a notice. The joining node has three contacts, one of which may have just
  // departed.
  void replace_one() {
    const NodeId removed = world_.some_node();
    std::vector<NodeId> contacts = {world_.some_node(), world_.some_node(), world_.some_node()};
    if (rng_.below(2) == 0) {
      world_.leave(removed);
    } else {
      world_.kill(removed);
    }
    world_.add(next_++, contacts);
  }

  /// The owner among the nodes that `requester` can reach.
  NodeId owner(NodeId requester, RingId key) const {
    const Peer* owner = nullptr;
    world_.each([&](const Overlay& overlay) {
      const Peer& peer = overlay.self();
      if (!overlay.joined() || (cut_ && peer.node % 2 != requester % 2)) return;
      if (owner == nullptr || peer.id - key < owner->id - key) owner = &peer;
    });
    return owner == nullptr ? requester : owner->node;
  }

  void look_up() {
    const NodeId requester = world_.some_node();
    if (!world_.at(requester).joined()) return;
    const RingId key = rng_.next();
    ++lookups_;
    world_.find(requester, key, [this, requester, key](const Result<Located>& located) {
      const bool right = located.ok() && located->owner.node == owner(requester, key);
      ++(right ? right_ : failed_);
    });
  }

  OverlayWorld world_;
  Rng rng_;
  NodeId next_;
  bool cut_ = false;
  double lookups_ = 0, right_ = 0, failed_ = 0;
};

}  // namespace

void bench_churn(NodeId nodes, uint64_t seeds) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    std::printf("%u nodes, 10 %% replaced a minute, 1 %% of messages lost, seed %llu\n", nodes,
                static_cast<unsigned long long>(seed));
    Churn churn(nodes, seed);
    churn.phase("churn", 120, true);
    churn.cut();
    churn.phase("two halves, churn", kPartition, true);
    churn.heal();
    churn.phase("healed", 60, false);
    churn.phase("churn again", 60, true);
  }
}

}  // namespace actorhost::test
