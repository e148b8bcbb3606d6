#pragma once
// The ring: ids are points of a circle of 2^64, distances run clockwise. A peer owns the keys from its predecessor's id
// (exclusive) to its own id (inclusive). Thread-safe: values and pure functions.

#include <cstdint>
#include <limits>
#include <vector>

#include "host/base/random.hpp"
#include "host/wire/address.hpp"

namespace actorhost {

using RingId = uint64_t;

/// The whole circle, less one point.
inline constexpr uint64_t kCircle = std::numeric_limits<uint64_t>::max();

/// Whether `id` is in the arc (from, to]. The arc from a point to itself is the whole circle.
constexpr bool in_arc(RingId from, RingId id, RingId to) noexcept { return id - from - 1 <= to - from - 1; }

/// The ring id of a node: uniform, and equal on every process. `attempt` counts ids rejected because other nodes had
/// them.
inline RingId ring_id(uint64_t seed, NodeId node, uint32_t attempt) noexcept {
  return StepRng(seed, node, attempt).next();
}

/// A node of the overlay, and its process, whose courier receives the node's messages.
struct Peer {
  RingId id = 0;
  NodeId node = 0;
  ProcessId process = 0;

  friend auto operator<=>(const Peer&, const Peer&) = default;
  static void fields(auto& m, auto&& field) { field(m.id, m.node, m.process); }
};

/// A peer's predecessor or successor list, nearest first. The list is claimed to be complete up to the distance `span`.
struct Side {
  std::vector<Peer> peers;
  uint64_t span = kCircle;

  /// The number of peers within the claim.
  size_t claimed(RingId from, bool clockwise) const noexcept {
    size_t n = 0;
    while (n < peers.size() && (clockwise ? peers[n].id - from : from - peers[n].id) <= span) ++n;
    return n;
  }
  static void fields(auto& m, auto&& field) { field(m.peers, m.span); }
};

/// The predecessor list and the successor list of a peer.
struct NeighbourLists {
  Side before, after;

  static void fields(auto& m, auto&& field) { field(m.before, m.after); }
};

/// Maximum length of each neighbour list. The first few neighbours hold replicas of the node's keys. The others serve
/// the size estimate and uniform samples, and keep the ring connected after several failures.
inline constexpr size_t kNeighbourListLength = 16;

}  // namespace actorhost
