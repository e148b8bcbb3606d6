#pragma once
// Messages between peers, kinds 0x07xx. They are sent from courier to courier; the tag is the requester's number of the
// request. Each message shows that its sender is live, and where.
//
//   find     Find       which peer owns the key?         found        Found
//   probe    PeerProbe  I am live, with my neighbours    probe_reply  PeerProbe, also unsolicited
//   leaving  Envelope   I leave, or I have left: the reply to a probe; no reply
//   suspect  Suspect    this peer does not reply to me; no reply
//
// The aggregation tree, where a report may have no reply until the next heartbeat:
//
//   report   TreeReport  to a parent: the clocks of my subtree     result  TreeResult  to a child: the clocks of all
//   detach   Envelope    to a parent: I am no longer your child

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "host/base/random.hpp"
#include "host/overlay/peer.hpp"
#include "host/wire/message.hpp"

namespace actorhost {

namespace overlay_kind {
inline constexpr auto find = Kind{0x0700};
inline constexpr auto found = Kind{0x0701};
inline constexpr auto probe = Kind{0x0702};
inline constexpr auto probe_reply = Kind{0x0703};
inline constexpr auto leaving = Kind{0x0704};
inline constexpr auto suspect = Kind{0x0705};
inline constexpr auto report = Kind{0x0706};
inline constexpr auto result = Kind{0x0707};
inline constexpr auto detach = Kind{0x0708};
}  // namespace overlay_kind

/// The head of each message: a courier serves several nodes.
struct Envelope {
  Peer from;
  NodeId to = 0;
  static void fields(auto& m, auto&& field) { field(m.from, m.to); }
};

struct Find {
  Envelope envelope;
  RingId key = 0;
  static void fields(auto& m, auto&& field) { field(m.envelope, m.key); }
};

struct Found {
  Envelope envelope;
  std::optional<Peer> owner;  // as far as the sender knows: itself, or a peer in its neighbour lists
  std::vector<Peer> closer;   // otherwise peers before the key, nearest first; for a joining node, the owner's fingers
  std::optional<NeighbourLists> lists;  // the sender's, if it is the owner
  std::string state;                    // the owner's published state (Overlay::set_state)
  uint64_t least = 0;                   // minimum of all clocks, as far as the sender knows
  static void fields(auto& m, auto&& field) { field(m.envelope, m.owner, m.closer, m.lists, m.state, m.least); }
};

struct PeerProbe {
  Envelope envelope;
  uint64_t sum = 0;                     // digest of the sender's lists
  std::optional<NeighbourLists> lists;  // absent if the receiver has them
  static void fields(auto& m, auto&& field) { field(m.envelope, m.sum, m.lists); }
};

struct Suspect {
  Envelope envelope;
  Peer peer;
  static void fields(auto& m, auto&& field) { field(m.envelope, m.peer); }
};

// ---- The aggregation tree (aggregate_tree.hpp) ----

/// The minimum of no clocks.
inline constexpr uint64_t kNoClock = std::numeric_limits<uint64_t>::max();

/// No node.
inline constexpr NodeId kNoNode = std::numeric_limits<NodeId>::max();

/// A set of nodes as the sum of these hashes: two sets with the same sum are equal, except with a probability of 2^-64.
inline uint64_t node_hash(NodeId node) noexcept { return StepRng::mix(node + 0x9e3779b97f4a7c15ULL); }

/// An aggregate of many nodes: the minimum of their clocks, a node with this clock, the number of clocks, and the sum
/// of all contributions.
struct TreeTotal {
  uint64_t least = kNoClock;
  uint64_t count = 0;
  uint64_t sum = 0;
  NodeId slowest = kNoNode;
  uint64_t voters = 0;  // sum of node_hash of the participating nodes that vote
  static void fields(auto& m, auto&& field) { field(m.least, m.count, m.sum, m.slowest, m.voters); }

  /// Takes in a clock; the first of equal clocks wins.
  void learn(uint64_t clock, NodeId node) {
    if (clock >= least) return;
    least = clock;
    slowest = node;
  }
};

struct TreeReport {
  Envelope envelope;
  uint64_t number = 0;        // increases with each report of the sender, to any parent
  TreeTotal total;            // of the sender and its subtree
  uint64_t term = 0;          // the latest known root's term
  uint64_t known = 0;         // the greatest minimum that the sender has received or, as root, announced
  double lease = 0;           // remaining seconds of the longest lease of the sender and its subtree
  uint64_t resigned = 0;      // the term of a resigned root: the owner of key 0 may take over at once
  RingId key = 0;             // the receiver should own this key
  bool urgent = false;        // a node of the subtree waits until this report is settled
  bool leaving = false;       // the last report, without the sender itself
  std::vector<NodeId> below;  // the sender's children
  std::vector<NodeId> lost;   // failed or departed parents: the sender no longer relies on them
  bool is_valid() const { return lease >= 0 && lease <= 60; }
  static void fields(auto& m, auto&& field) {
    field(m.envelope, m.number, m.total, m.term, m.known, m.lease, m.resigned, m.key, m.urgent, m.leaving, m.below,
          m.lost);
  }
};

struct TreeResult {
  static constexpr size_t kMostOthers = 3;

  Envelope envelope;
  TreeTotal total;        // of all nodes
  uint64_t term = 0;      // of the root that announced it: each root has its own, and later roots have greater terms
  uint64_t received = 0;  // the last report received from this child
  uint64_t settled = 0;   // the last report of this child that a result of the root includes
  double lease = 0;       // remaining seconds for which all ancestors retain the reports; 0: there is no root
  bool report_requested = false;  // requests a report
  bool elsewhere = false;         // the sender does not own the receiver's key
  bool leaving = false;           // the sender is no longer a parent
  std::vector<Peer> others;       // alternative parents if the sender fails, best first
  bool is_valid() const { return lease >= 0 && lease <= 60 && others.size() <= kMostOthers; }
  static void fields(auto& m, auto&& field) {
    field(m.envelope, m.total, m.term, m.received, m.settled, m.lease, m.report_requested, m.elsewhere, m.leaving,
          m.others);
  }
};

}  // namespace actorhost
