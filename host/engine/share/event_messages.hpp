#pragma once
// Messages between nodes about events, kinds 0x06xx.
//
//   event          the value, as the bindings pack it
//   window_update  the total number and cost of the receiver's events that the node has accepted
//
// The cost of an event is the cost of its frame (Frame::cost). Both counts start at 0 and wrap around.

#include <string>

#include "host/base/result.hpp"
#include "host/wire/carried_value.hpp"
#include "host/wire/message.hpp"

namespace actorhost {

namespace event_kind {
inline constexpr auto event = Kind{0x0600};
inline constexpr auto window_update = Kind{0x0601};
}  // namespace event_kind

struct EventMessage {
  std::string name;
  PackedValue value;

  /// Shares the value's bytes. Code::bad_argument for a value larger than a frame can carry.
  Result<Frame> frame(NodeId to) const {
    return check_frame_size(message_frame(event_kind::event, worker_address(to), 0, *this), Code::bad_argument,
                            "an event of more than 1 GiB cannot be sent");
  }
  static void fields(auto& m, auto&& field) { field(m.name, m.value.head); }
  static auto& body(auto& m) { return m.value.body; }
};

struct WindowUpdate {
  uint32_t events = 0;
  uint64_t cost = 0;

  static void fields(auto& m, auto&& field) { field(m.events, m.cost); }
};

}  // namespace actorhost
