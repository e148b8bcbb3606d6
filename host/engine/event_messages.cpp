#include "host/engine/event_messages.hpp"

#include <utility>

#include "host/wire/packer.hpp"

namespace actorhost {

namespace {

Frame make(Kind kind, NodeId to, const Packer& meta) {
  Frame frame;
  frame.kind = kind;
  frame.dst = worker_address(to);
  frame.meta = SmallBytes(meta.bytes());
  return frame;
}

}  // namespace

Result<Frame> EventMessage::frame(NodeId to) const {
  Packer meta;
  meta.put(name).put(value.head);
  Frame frame = make(event_kind::event, to, meta);
  frame.body = value.body;
  const FrameLimits limits;
  if (frame.meta.size() > limits.meta_bytes || frame.body.size() > limits.body_bytes) {
    return Error{Code::bad_argument, "an event of more than 1 GiB cannot be sent"};
  }
  return frame;
}

Result<EventMessage> EventMessage::read(Frame&& frame) {
  Unpacker in(frame.meta.view());
  EventMessage message;
  message.name = in.text();
  message.value.head = in.text();
  if (!in.done()) return Error{Code::bad_data, "malformed event"};
  message.value.body = std::move(frame.body);
  return message;
}

Frame TakenMessage::frame(NodeId to) const {
  Frame frame = make(event_kind::taken, to, Packer().put(cost));
  frame.tag = events;
  return frame;
}

Result<TakenMessage> TakenMessage::read(const Frame& frame) {
  Unpacker in(frame.meta.view());
  const TakenMessage message{frame.tag, in.get<uint64_t>()};
  if (!in.done()) return Error{Code::bad_data, "malformed word of events taken"};
  return message;
}

}  // namespace actorhost
