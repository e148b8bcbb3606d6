#pragma once
// Peers far away on the ring, for few hops (Stoica et al., "Chord", SIGCOMM 2001, section IV): finger i is the owner of
// the key 2^i behind the node. Those that would lie in the window are not kept.

#include <array>
#include <optional>
#include <vector>

#include "host/overlay/neighbourhood.hpp"

namespace actorhost {

class Fingers {
 public:
  explicit Fingers(RingId self) : self_(self) {}

  /// The key whose owner the next finger is to be, in turns; nothing while the window holds all fingers. `missing`: of
  /// a finger that is not known.
  std::optional<RingId> next_key(uint64_t window_span, bool missing) noexcept;
  /// The owner of a key that next_key has given.
  void set(RingId key, const Peer& owner) noexcept;
  /// A peer that lives, to hold a place for which none is known.
  void offer(const Peer& peer) noexcept;
  void erase(NodeId node) noexcept;

  /// Of window and fingers, those before the key, nearest first, at most `count`; all are nearer than the node itself.
  std::vector<Peer> closest_before(RingId key, const Neighbourhood& near, size_t count) const;
  std::vector<Peer> all() const;

 private:
  RingId self_;
  int turn_ = 63;
  std::array<std::optional<Peer>, 64> fingers_;
};

}  // namespace actorhost
