#pragma once
// What nodes say to each other about events, kinds 0x06xx.
//
//   event   name:text head:text ; body       the value, as the bindings pack it
//   taken   tag: how many events the node has taken in from the receiver of this, in all; meta: cost:u64 of them
//
// The cost of an event is its frame's (Frame::cost). Both counts begin at 0 and go round.

#include <string>

#include "host/base/result.hpp"
#include "host/engine/packed_value.hpp"
#include "host/wire/frame.hpp"

namespace actorhost {

namespace event_kind {
inline constexpr auto event = Kind{0x0600};
inline constexpr auto taken = Kind{0x0601};
}  // namespace event_kind

struct EventMessage {
  std::string name;
  PackedValue value;

  /// Shares the value's bytes. Code::bad_argument when it is more than a frame can carry.
  Result<Frame> frame(NodeId to) const;
  static Result<EventMessage> read(Frame&& frame);
};

struct TakenMessage {
  uint32_t events = 0;
  uint64_t cost = 0;

  Frame frame(NodeId to) const;
  static Result<TakenMessage> read(const Frame& frame);
};

}  // namespace actorhost
