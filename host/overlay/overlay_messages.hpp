#pragma once
// What peers say to each other, kinds 0x07xx. They go from courier to courier; the tag is the asker's number of the
// request. A peer learns from each message that its sender lives, and where.
//
//   find     Find      who owns the key?            found    Found
//   greet    Greeting  I live, and know these       greeted  Greeting, also unasked
//   leaving  Envelope  I go; no answer
//   suspect  Suspect   I hear nothing of this peer; no answer

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
  static void fields(auto& m, auto&& field) { field(m.envelope, m.owner, m.closer, m.window, m.state); }
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

}  // namespace actorhost
