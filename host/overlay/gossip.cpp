#include "host/overlay/gossip.hpp"

namespace actorhost {

// A digest of the lists; never 0.
uint64_t Gossip::sum_of(const NeighbourLists& lists) noexcept {
  uint64_t sum = 1;
  const auto add = [&sum](uint64_t value) { sum = StepRng::mix(sum + value); };
  for (const Side* side : {&lists.before, &lists.after}) {
    add(side->span);
    add(side->peers.size());
    for (const Peer& peer : side->peers) {
      add(peer.id);
      add(uint64_t{peer.node} << 32 | peer.process);
    }
  }
  return sum | 1;
}

Gossip::Exchange& Gossip::exchange_with(NodeId node) {
  if (exchanges_.size() > 4 * kNeighbourListLength) {
    std::erase_if(exchanges_, [this](const auto& item) { return !near_.knows(item.first); });
  }
  return exchanges_[node];
}

PeerProbe Gossip::make_probe(NodeId to, bool whole) {
  PeerProbe probe = announcement();
  Exchange& last = exchange_with(to);
  if (!whole && last.mine == probe.sum) return probe;
  last.mine = probe.sum;
  probe.lists = near_.lists();
  return probe;
}

PeerProbe Gossip::make_reply(const PeerProbe& received) {
  PeerProbe probe = announcement();
  Exchange& last = exchange_with(received.envelope.from.node);
  if (!received.lists && last.theirs == received.sum && last.mine == probe.sum) return probe;
  last.mine = probe.sum;
  probe.lists = near_.lists();
  return probe;
}

void Gossip::take(const PeerProbe& probe, double now) {
  Exchange& last = exchange_with(probe.envelope.from.node);
  last.received_at = now;
  if (probe.lists) {
    last.theirs = probe.sum;
  } else if (last.theirs != probe.sum) {
    last.mine = 0;  // the next probe exchanges both lists
  }
}

void Gossip::take_reply(const PeerProbe& reply, bool whole) {
  // The peer lacked this node's lists, or requests them because its own lists have changed.
  if (reply.lists && !whole) exchange_with(reply.envelope.from.node).mine = 0;
}

double Gossip::received_at(NodeId node) const {
  const auto at = exchanges_.find(node);
  return at == exchanges_.end() ? -kForever : at->second.received_at;
}

}  // namespace actorhost
