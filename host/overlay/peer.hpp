#pragma once
// The ring: ids are points of a circle of 2^64, distances run clockwise. A peer owns the keys from its predecessor's id
// (not included) to its own. Any thread.

#include <cstdint>
#include <limits>
#include <vector>

#include "host/base/random.hpp"
#include "host/wire/address.hpp"

namespace actorhost {

using RingId = uint64_t;

/// The whole circle, less one point.
inline constexpr uint64_t kCircle = std::numeric_limits<uint64_t>::max();

/// Whether `id` lies behind `from` and not behind `to`. From a point to itself is the whole circle.
constexpr bool in_arc(RingId from, RingId id, RingId to) noexcept { return id - from - 1 <= to - from - 1; }

/// Where a node lies: uniform, and the same wherever it is computed. `attempt` counts the ids that others had already.
inline RingId ring_id(uint64_t seed, NodeId node, uint32_t attempt) noexcept {
  return StepRng(seed, node, attempt).next();
}

/// A node of the overlay, and its process, whose courier takes the node's messages.
struct Peer {
  RingId id = 0;
  NodeId node = 0;
  ProcessId process = 0;

  friend bool operator==(const Peer&, const Peer&) = default;
  static void fields(auto& m, auto&& field) { field(m.id, m.node, m.process); }
};

/// What a peer knows of one of its sides, nearest first. It claims to know all peers up to the distance `span`.
struct Side {
  std::vector<Peer> peers;
  uint64_t span = kCircle;

  /// Those that the claim is about.
  size_t claimed(RingId from, bool clockwise) const noexcept {
    size_t n = 0;
    while (n < peers.size() && (clockwise ? peers[n].id - from : from - peers[n].id) <= span) ++n;
    return n;
  }
  static void fields(auto& m, auto&& field) { field(m.peers, m.span); }
};

/// What a peer knows of the ring around it.
struct Window {
  Side before, after;

  static void fields(auto& m, auto&& field) { field(m.before, m.after); }
};

/// Peers that a node wants to know on each side. The first few hold copies of its keys; the others are there for the
/// estimate of the size, for uniform samples, and for what a run of deaths leaves over.
inline constexpr size_t kReach = 16;

}  // namespace actorhost
