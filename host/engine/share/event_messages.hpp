#pragma once
// What nodes say to each other about events, kinds 0x06xx.
//
//   event   the value, as the bindings pack it
//   taken   how many events the node has taken in from the receiver of this, in all, and their cost
//
// The cost of an event is its frame's (Frame::cost). Both counts begin at 0 and go round.

#include <string>

#include "host/base/result.hpp"
#include "host/wire/carried_value.hpp"
#include "host/wire/message.hpp"

namespace actorhost {

namespace event_kind {
inline constexpr auto event = Kind{0x0600};
inline constexpr auto taken = Kind{0x0601};
}  // namespace event_kind

struct EventMessage {
  std::string name;
  PackedValue value;

  /// Shares the value's bytes. Code::bad_argument when it is more than a frame can carry.
  Result<Frame> frame(NodeId to) const {
    return fitting(message_frame(event_kind::event, worker_address(to), 0, *this), Code::bad_argument,
                   "an event of more than 1 GiB cannot be sent");
  }
  static void fields(auto& m, auto&& field) { field(m.name, m.value.head); }
  static auto& body(auto& m) { return m.value.body; }
};

struct TakenMessage {
  uint32_t events = 0;
  uint64_t cost = 0;

  static void fields(auto& m, auto&& field) { field(m.events, m.cost); }
};

}  // namespace actorhost
