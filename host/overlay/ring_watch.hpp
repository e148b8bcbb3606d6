#pragma once
// Which peers of a node are live. Probes the neighbours, loses peers that do not reply, notifies the other neighbours
// of a loss, and probes lost peers and contacts from time to time. Passive; the Overlay owns it.

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "host/base/non_copyable.hpp"
#include "host/overlay/fingers.hpp"
#include "host/overlay/gossip.hpp"
#include "host/overlay/peer_calls.hpp"

namespace actorhost {

class RingWatch : private NonCopyable {
 public:
  RingWatch(PeerCalls& calls, Neighbourhood& near, Fingers& fingers, Gossip& gossip, Rng& rng, double now);

  /// Called for each lost peer and each contact that replies to a probe.
  void on_return(std::function<void(const Peer&)> callback) { return_ = std::move(callback); }

  /// A peer that may be live: probes it until it replies.
  void add_contact(const Peer& peer);
  /// Whether some contact has not replied yet.
  bool awaits_contact() const;
  /// No peer is lost and no contact is awaited.
  bool none_lost() const noexcept { return lost_.empty(); }
  bool is_lost(NodeId node) const { return lost_.contains(node); }
  /// Another node reports the peer as live. False: this node retains its own view, and probes the peer soon.
  bool believes(const Peer& peer);

  /// A message of the peer has arrived. Returns whether the peer was lost, or a contact.
  bool mark_live(NodeId node);
  void probe(const Peer& peer, int tries);
  /// Probes a peer that may have failed.
  void check(const Peer& peer);
  /// Another node suspects this neighbour and has notified all its own neighbours.
  void suspect(const Peer& neighbour);
  /// Checks one of these peers, which others may know to have failed; four times a second at most.
  void doubt(const std::vector<Peer>& peers);
  /// The peer leaves, or has left: does not wait for a reply of it. It may return by a message of its own.
  void forgo(const Peer& peer);
  /// The process has failed: its nodes are lost, and its contacts will never reply.
  void lose_process(ProcessId process);
  /// Sends the probes that are due; returns the time of the next call.
  double tick();

 private:
  // A failed or unconfirmed peer. Other nodes' reports do not revive it.
  struct Lost {
    Peer peer;
    double since = 0;
    double next = 0;  // probe
    double wait = 0;  // interval after the next probe
    bool contact = false;
  };

  void lose(const Peer& peer, bool notify_others);
  void probe_neighbours();
  void probe_lost();

  PeerCalls& calls_;
  Neighbourhood& near_;
  Fingers& fingers_;
  Gossip& gossip_;
  Rng& rng_;
  std::function<void(const Peer&)> return_;
  std::map<NodeId, Lost> lost_;
  std::set<NodeId> suspected_;  // suspected by other nodes, which have notified all their neighbours
  uint32_t turn_ = 0;           // index into the neighbours, for probes in rotation
  double last_loss_ = -kForever;
  double next_try_ = 0;
  double next_doubt_ = 0;
  double next_probe_;
};

}  // namespace actorhost
