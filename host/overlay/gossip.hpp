#pragma once
// Tracks which neighbour lists a node and its peers have exchanged. A probe carries the sender's lists only if one of
// the two peers may lack the current lists of the other; otherwise a digest is enough. When one node's lists have
// changed, both lists are sent, because changed lists may have room for peers that had no place before. Passive.

#include <unordered_map>

#include "host/base/clock.hpp"
#include "host/overlay/neighbourhood.hpp"
#include "host/overlay/overlay_messages.hpp"

namespace actorhost {

class Gossip {
 public:
  explicit Gossip(const Neighbourhood& near) : near_(near) {}

  /// A probe for this peer. `whole`: always includes the neighbour lists.
  PeerProbe make_probe(NodeId to, bool whole);
  /// The reply to a received probe.
  PeerProbe make_reply(const PeerProbe& received);
  /// A probe without lists, which announces only that this node exists.
  PeerProbe announcement() const { return {{}, sum_of(near_.lists()), {}}; }

  /// Records a received probe or reply.
  void take(const PeerProbe& probe, double now);
  /// Records a reply to a probe. `whole`: the probe carried the neighbour lists.
  void take_reply(const PeerProbe& reply, bool whole);
  /// Time of the last message from this peer; -kForever: none.
  double received_at(NodeId node) const;
  void forget(NodeId node) { exchanges_.erase(node); }
  void forget_all() { exchanges_.clear(); }

 private:
  struct Exchange {
    uint64_t mine = 0;  // digest of the lists last sent to the peer; 0: send them again
    uint64_t theirs = 0;
    double received_at = -kForever;
  };
  static uint64_t sum_of(const NeighbourLists& lists) noexcept;
  Exchange& exchange_with(NodeId node);

  const Neighbourhood& near_;
  std::unordered_map<NodeId, Exchange> exchanges_;
};

}  // namespace actorhost
