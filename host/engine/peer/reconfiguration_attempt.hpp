#pragma once
// One attempt of a node to lead its arc, the arc that it owns by the ring, with a group of its choice. The attempt
//
//  queries   the neighbours for the present leader and group (`query`)
//  claims    proposes a term above all known terms, first to the present leader, then to the rest of its group; a
//            majority must promise to join no group of a lower term (as in Paxos)
//  syncs     copies the keys from a complete replica
//  adopts    sends the new group to its members, which copy the keys as well, and to the old group
//  settles   all of the new group and a majority of the old group have replied: it leads, others drop their replicas
//
// A write is acknowledged when all members have it, so each member has every acknowledged write. Passive;
// GroupReconfiguration owns it.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "host/engine/peer/key_log.hpp"
#include "host/engine/peer/key_sync.hpp"
#include "host/engine/peer/peer_liveness.hpp"
#include "host/overlay/overlay.hpp"

namespace actorhost {

/// The state of a node that its reconfigurations use.
struct GroupParts {
  Overlay& overlay;
  PeerCalls& calls;
  KeyTable& table;
  RangeMap& ranges;
  KeyLog& log;
  KeySync& sync;
  PeerLiveness& liveness;
};

/// The group that a node wants to lead.
struct WantedGroup {
  Arc arc;
  std::vector<Peer> members;
  bool full = false;     // it has as many members as there are replicas
  double since = 0;      // when the node first wanted it
  double arc_since = 0;  // likewise, with any members
};

/// Shared with its pending requests while it handles a reply. They ignore replies after its end.
class ReconfigurationAttempt : public std::enable_shared_from_this<ReconfigurationAttempt> {
 public:
  /// Called at the end: nullopt if the node leads the group, else the seconds until the next attempt. The owner drops
  /// the attempt.
  using OnEnd = std::function<void(std::optional<double> retry)>;

  ReconfigurationAttempt(const GroupParts& parts, Rng& rng, const WantedGroup& wanted, OnEnd on_end)
      : parts_(parts),
        rng_(rng),
        arc_since_(wanted.arc_since),
        full_(wanted.full),
        proposal_{{}, wanted.arc, {{}, wanted.members}, {}},
        on_end_(std::move(on_end)) {}

  /// Queries other nodes if this node does not lead all of the arc, or if they may know more.
  void begin(bool others_know_more);
  const Arc& arc() const noexcept { return proposal_.arc; }
  /// It has proposed a term. The node no longer leads any part of the arc.
  bool claiming() const noexcept { return proposal_.group.term.number > 0; }

 private:
  struct Contact {
    Peer peer;
    enum class Vote { none, silent, refused, yes } vote = Vote::none;
    std::vector<KeyRange> ranges;
    bool consent_requested = false;
    bool consents = false;
  };

  double now() const { return parts_.calls.now(); }
  const Peer& self() const { return parts_.overlay.self(); }
  const GroupTerm& term() const { return proposal_.group.term; }
  /// `act` as a callback that does nothing after the end of the attempt.
  template <typename Act>
  auto until_end(Act act) {
    return [attempt = weak_from_this(), act = std::move(act)](auto reply) {
      if (const auto running = attempt.lock()) act(reply);
    };
  }

  bool reachable(const Peer& peer) const;
  void query(size_t reach);
  void queried();
  void claim();
  void request_promises();
  void send_claims(const std::map<NodeId, Peer>& peers, bool consent);
  void on_promise(NodeId node, bool consent, const Frame* frame);
  void promised();
  Contact::Vote vote_of(NodeId node) const;
  bool has_majority(const KeyGroup& group) const;
  std::optional<Peer> source(const KeyRange& piece) const;
  bool all_replicas_lost(const KeyRange& piece) const;
  /// This node has promised to join a later group meanwhile.
  bool overtaken() { return parts_.ranges.promised_above(term(), arc()); }
  void adopt();
  void send_adopt(const Peer& peer);
  void on_adopted(const Peer& peer, double sent, const Frame* frame);
  void adopted();
  void settle();
  /// The next attempt begins after a random time, since other nodes may make attempts at the same time.
  void retry_after(double least, double spread) { on_end_(least + spread * rng_.uniform()); }

  GroupParts parts_;
  Rng& rng_;
  double arc_since_;
  bool full_;
  bool readmitted_ = false;  // a node that the group lacks has replied to a claim
  Adopt proposal_;           // its term is 0 until `claim`, its former groups are empty until `adopt`
  OnEnd on_end_;
  RangeMap known_;
  std::map<NodeId, Contact> contacts_;
  size_t open_ = 0;  // pending requests or copies of the current phase
  bool all_queried_ = false;
  bool all_replied_ = false;  // all workers of the run that may be peers have replied
  bool copied_ = true;        // no copy has failed
};

}  // namespace actorhost
