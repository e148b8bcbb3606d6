#pragma once
// Peers with keys on virtual time, each in a process of its own, and what they have asked of each other: a history that
// is checked.

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
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
    double ahead = 0;  // its clock, of the world's
  };

  explicit KeysWorld(uint64_t seed, SimLink link = {uniform_latency(0.5e-3, 1.5e-3)}, size_t part_bytes = kChunkBytes,
                     uint32_t copies = kReplicas);
  ~KeysWorld();

  /// Nodes 0 .. count-1, with which the job begins.
  void found(NodeId count);
  void add(NodeId node, const std::vector<NodeId>& contacts);
  /// Without a word; `told`: the others' connections to it are closed.
  void kill(NodeId node, bool told);
  /// Hands over its keys and goes.
  void leave(NodeId node);
  bool leaving(NodeId node) const { return leaving_.count(node) > 0; }

  void run(double seconds) { net.run_until(clock.now() + seconds); }
  double now() const noexcept { return clock.now(); }
  /// By the node's own clock.
  double now(NodeId node) const { return clock.now() + nodes_.at(node)->ahead; }
  /// The node's clock jumps forward, as of a machine that was suspended.
  void leap(NodeId node, double seconds);
  Node& at(NodeId node) { return *nodes_.at(node); }
  bool has(NodeId node) const { return nodes_.count(node) > 0; }
  std::vector<NodeId> nodes() const;
  /// Parts of values, too, in any table.
  std::set<ParamKey> keys() const;
  /// To be called behind calls of a node's parts.
  void serve(NodeId node);
  /// Each arc is led by the node that owns it, all of whose group have the same keys, and nobody else has any.
  std::string trouble();
  /// Keys whose last copy has gone with the nodes that died or left before there was another one: beyond what is
  /// promised.
  size_t lost() const noexcept { return lost_; }

  ManualClock clock;
  SimTransport net;

 private:
  uint64_t seed_;
  size_t part_bytes_;
  uint32_t copies_;
  std::map<NodeId, std::unique_ptr<Node>> nodes_;
  std::set<NodeId> leaving_;
  /// Of the group that serves the place, or a later one: nodes that have its keys.
  size_t holders(RingId place);

  std::map<RingId, GroupTerm> served_;  // newest terms, of places that were asked about
  size_t lost_ = 0;
  std::vector<Frame> frames_;  // scratch
};

/// A number that a variable of the environment gives, to try by hand what takes long.
inline uint64_t given(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// ACTORHOST_TEST_SEED is the first seed, ACTORHOST_TEST_SEEDS how many there are. `wrong` gives what is wrong with a
/// seed, or nothing.
template <typename Live>
void for_seeds(uint64_t count, const Live& wrong) {
  const uint64_t first = given("ACTORHOST_TEST_SEED", 1);
  for (uint64_t seed = first; seed < first + given("ACTORHOST_TEST_SEEDS", count); ++seed) {
    INFO("seed " << seed);
    CHECK(wrong(seed) == "");
  }
}

/// A seed whose deaths took all copies of a key ends there; not silently, since it has shown little.
inline std::string beyond_promise(uint64_t seed) {
  std::printf("seed %llu: all copies of a key have died\n", static_cast<unsigned long long>(seed));
  return {};
}

}  // namespace actorhost::test
