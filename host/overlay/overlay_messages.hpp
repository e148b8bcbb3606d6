#pragma once
// What peers say to each other, kinds 0x07xx. They go from courier to courier; the tag is the asker's number of the
// request. A peer learns from each message that its sender lives, and where.
//
//   find     Find      who owns the key?            found    Found
//   greet    Greeting  I live, and know these       greeted  Greeting, also unasked
//   leaving  Envelope  I go; no answer
//   suspect  Suspect   I hear nothing of this peer; no answer
//
// and in the aggregation tree, where a child's report may be left without an answer until the next beat:
//
//   report   TreeReport  to a parent: the clocks below me     result  TreeResult  to a child: the clocks of all
//   part     Envelope    to a parent: I am no child of yours

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "host/overlay/peer.hpp"
#include "host/wire/message.hpp"

namespace actorhost {

namespace overlay_kind {
inline constexpr auto find = Kind{0x0700};
inline constexpr auto found = Kind{0x0701};
inline constexpr auto greet = Kind{0x0702};
inline constexpr auto greeted = Kind{0x0703};
inline constexpr auto leaving = Kind{0x0704};
inline constexpr auto suspect = Kind{0x0705};
inline constexpr auto report = Kind{0x0706};
inline constexpr auto result = Kind{0x0707};
inline constexpr auto part = Kind{0x0708};
}  // namespace overlay_kind

/// In front of each message: a courier serves several nodes.
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
  std::optional<Peer> owner;     // as far as the sender knows: itself, or a peer that lies in its window
  std::vector<Peer> closer;      // otherwise peers before the key, nearest first; to a newcomer the fingers
  std::optional<Window> window;  // the sender's, when it is the owner
  std::string state;             // then also what it says of itself (Overlay::set_state)
  uint64_t least = 0;            // of all clocks, as far as the sender knows
  static void fields(auto& m, auto&& field) { field(m.envelope, m.owner, m.closer, m.window, m.state, m.least); }
};

struct Greeting {
  Envelope envelope;
  uint64_t sum = 0;              // of the sender's window
  std::optional<Window> window;  // unless the receiver knows it
  static void fields(auto& m, auto&& field) { field(m.envelope, m.sum, m.window); }
};

struct Suspect {
  Envelope envelope;
  Peer peer;
  static void fields(auto& m, auto&& field) { field(m.envelope, m.peer); }
};

// ---- The aggregation tree (aggregate_tree.hpp) ----

/// The least of no clocks.
inline constexpr uint64_t kNoClock = std::numeric_limits<uint64_t>::max();

/// No node.
inline constexpr NodeId kNoNode = std::numeric_limits<NodeId>::max();

/// What is told of many nodes: of those that take part, the least clock, a node that has it and how many they are; the
/// sum of what each gives.
struct TreeTotal {
  uint64_t least = kNoClock;
  uint64_t count = 0;
  uint64_t sum = 0;
  NodeId slowest = kNoNode;
  static void fields(auto& m, auto&& field) { field(m.least, m.count, m.sum, m.slowest); }

  /// Takes in a clock; of equal ones the first.
  void learn(uint64_t clock, NodeId node) {
    if (clock >= least) return;
    least = clock;
    slowest = node;
  }
};

struct TreeReport {
  Envelope envelope;
  uint64_t number = 0;        // rises with each report of the sender, to whomever
  TreeTotal total;            // of the sender and all below it
  uint64_t term = 0;          // of the last root that the sender has heard of
  uint64_t known = 0;         // the least of all that the sender has heard or, as a root, told
  double lease = 0;           // seconds for which somebody here or below counts on a root
  uint64_t resigned = 0;      // the term of a root that is no more: whoever owns key 0 may take over at once
  RingId key = 0;             // whose owner the receiver should be
  bool urgent = false;        // somebody below waits until this report is settled
  bool leaving = false;       // the last report, of those below the sender only
  std::vector<NodeId> below;  // the sender's children
  std::vector<NodeId> lost;   // parents on which it does not count any longer
  bool sound() const { return lease >= 0 && lease <= 60; }
  static void fields(auto& m, auto&& field) {
    field(m.envelope, m.number, m.total, m.term, m.known, m.lease, m.resigned, m.key, m.urgent, m.leaving, m.below,
          m.lost);
  }
};

struct TreeResult {
  static constexpr size_t kMostOthers = 3;

  Envelope envelope;
  TreeTotal total;           // of all
  uint64_t term = 0;         // of the root that has told it: each has one of its own, and later ones greater ones
  uint64_t received = 0;     // the receiver's last report that has come
  uint64_t settled = 0;      // the last one that a result of the root includes
  double lease = 0;          // seconds for which all on the way to the root keep what they have; 0: there is no root
  bool answer = false;       // the receiver is to report
  bool elsewhere = false;    // the sender does not own the receiver's key
  bool leaving = false;      // the sender is no parent any more
  std::vector<Peer> others;  // to turn to when the sender is lost, best first
  bool sound() const { return lease >= 0 && lease <= 60 && others.size() <= kMostOthers; }
  static void fields(auto& m, auto&& field) {
    field(m.envelope, m.total, m.term, m.received, m.settled, m.lease, m.answer, m.elsewhere, m.leaving, m.others);
  }
};

}  // namespace actorhost
