#pragma once
// A cluster fixture: peers with keys on virtual time, each in a process of its own.

#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

#include "host/engine/peer/peer_keys.hpp"
#include "tests/host/net/sim_transport.hpp"

namespace actorhost::test {

class KeysWorld {
 public:
  struct Node {
    Node(NodeId id, uint64_t seed, double now, uint32_t copies, size_t part_bytes)
        : overlay({id, id}, seed, now), keys(overlay, copies, part_bytes) {}
    Overlay overlay;
    PeerKeys keys;
    Mailbox inbox;
    double planned = kForever;
    double ahead = 0;  // of its clock before the fixture's
  };

  explicit KeysWorld(uint64_t seed, SimLink link = {uniform_latency(0.5e-3, 1.5e-3)}, size_t part_bytes = kChunkBytes,
                     uint32_t copies = kReplicas);
  ~KeysWorld();

  /// Starts nodes 0 .. count-1 as the founders of the job, and runs for `seconds`.
  void bootstrap(NodeId count, double seconds);
  void add(NodeId node, const std::vector<NodeId>& contacts);
  /// Kills without notice; `closes_connections`: the others' connections to the node close.
  void kill(NodeId node, bool closes_connections);
  /// Leaves after handing over its keys.
  void leave(NodeId node);
  bool leaving(NodeId node) const { return leaving_.count(node) > 0; }

  void run(double seconds) { net.run_until(clock.now() + seconds); }
  double now() const noexcept { return clock.now(); }
  /// The time by the node's own clock.
  double now(NodeId node) const { return clock.now() + nodes_.at(node)->ahead; }
  /// The node's clock jumps forward, like that of a suspended machine.
  void leap(NodeId node, double seconds);
  Node& at(NodeId node) { return *nodes_.at(node); }
  bool has(NodeId node) const { return nodes_.count(node) > 0; }
  std::vector<NodeId> nodes() const;
  /// All keys in any table, including parts of values.
  std::set<ParamKey> keys() const;
  /// Call after calls to a node's members.
  void serve(NodeId node);
  /// Checks that each arc is led by its owner, that all of its group have the same keys, and that no other node has
  /// any.
  std::string trouble();
  /// Number of keys lost with their last replica, because nodes failed or left before there was another one: outside of
  /// the guarantees.
  size_t lost() const noexcept { return lost_; }

  ManualClock clock;
  SimTransport net;

 private:
  uint64_t seed_;
  size_t part_bytes_;
  uint32_t copies_;
  std::map<NodeId, std::unique_ptr<Node>> nodes_;
  std::set<NodeId> leaving_;
  /// Number of nodes with the keys of the place, among the group that serves it or a later group.
  size_t holders(RingId place);

  std::map<RingId, GroupTerm> served_;  // newest known terms, by place
  size_t lost_ = 0;
  std::vector<Frame> frames_;  // scratch
};

/// A number from an environment variable, for long runs by hand.
inline uint64_t given(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// Runs `wrong` for each seed and fails with its description. A seed that loses all replicas of a key shows little, so
/// `wrong` returns nothing for it; more than half of the seeds must retain all keys. ACTORHOST_TEST_SEED is the first
/// seed, ACTORHOST_TEST_SEEDS the number of seeds.
template <typename Wrong>
void for_seeds(uint64_t count, const Wrong& wrong) {
  const uint64_t first = given("ACTORHOST_TEST_SEED", 1);
  const uint64_t seeds = given("ACTORHOST_TEST_SEEDS", count);
  uint64_t complete = 0;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    INFO("seed " << seed);
    const std::optional<std::string> found = wrong(seed);
    complete += found ? 1 : 0;
    CHECK(found.value_or("") == "");
  }
  INFO(complete << " of " << seeds << " seeds from " << first << " have retained all keys");
  CHECK(2 * complete > seeds);
}

}  // namespace actorhost::test
