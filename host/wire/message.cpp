#include "host/wire/message.hpp"

#include <cstdio>

namespace actorhost {

Error malformed(const Frame& frame, std::string_view reason) {
  const char* layer = "unknown";
  for (const KindRange& range : kKindRanges) {
    if (within(frame.kind, range)) layer = range.layer;
  }
  char kind[8];
  std::snprintf(kind, sizeof kind, "0x%04x", static_cast<unsigned>(frame.kind));
  std::string text = std::string("malformed message ") + kind + " of " + layer + " from " + address_name(frame.src);
  if (!reason.empty()) text.append(": ").append(reason);
  return {Code::bad_data, std::move(text)};
}

Result<Frame> check_frame_size(Frame frame, Code code, const char* message) {
  const FrameLimits limits;
  if (frame.meta.size() > limits.meta_bytes || frame.body.size() > limits.body_bytes) return Error{code, message};
  return frame;
}

Error error_of(const Frame& frame) {
  auto message = read_message<ErrorMessage>(frame);
  return message ? std::move(message->error) : malformed(frame, message.error().message);
}

Frame make_frame(Kind kind, Address src, Address dst, uint32_t tag, std::string_view meta, Blob body) {
  Frame frame;
  frame.kind = kind;
  frame.src = src;
  frame.dst = dst;
  frame.tag = tag;
  frame.meta.assign(meta.data(), meta.size());
  frame.body = std::move(body);
  return frame;
}

}  // namespace actorhost
