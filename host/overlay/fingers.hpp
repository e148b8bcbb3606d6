#pragma once
// The finger table: distant peers for lookups in few hops (Stoica et al., "Chord", SIGCOMM 2001, section IV). Finger i
// is the owner of the key at distance 2^i ahead of the node. Fingers within the successor list are not stored.

#include <array>
#include <optional>
#include <vector>

#include "host/overlay/neighbourhood.hpp"

namespace actorhost {

class Fingers {
 public:
  explicit Fingers(RingId self) : self_(self) {}

  /// The key of the next finger, in rotation; nullopt if the successor list covers all fingers. `missing`: skips known
  /// fingers.
  std::optional<RingId> next_key(uint64_t list_span, bool missing) noexcept;
  /// Sets the owner of a key from next_key.
  void set(RingId key, const Peer& owner) noexcept;
  /// Fills an empty entry of the table with a live peer.
  void offer(const Peer& peer) noexcept;
  void erase(NodeId node) noexcept;

  /// Peers before the key from the neighbour lists and the fingers, nearest first, at most `count`. All are nearer to
  /// the key than the node itself.
  std::vector<Peer> closest_before(RingId key, const Neighbourhood& near, size_t count) const;
  std::vector<Peer> all() const;

 private:
  RingId self_;
  int turn_ = 63;
  std::array<std::optional<Peer>, 64> fingers_;
};

}  // namespace actorhost
