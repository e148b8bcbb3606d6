#include "host/engine/peer/peer_keys.hpp"

namespace actorhost {

Status PeerKeys::on_frame(Frame&& frame, double now) {
  Unpacker in(frame.meta.view());
  if (frame.kind == peer_kind::ask) {
    auto ask = unpack_head<Ask>(in);
    if (!ask.ok()) return malformed(frame, ask.error().message);
    holder_.on_ask(std::move(frame), *std::move(ask), in);
  } else if (frame.kind == peer_kind::told) {
    const auto told = unpack_head<Told>(in);
    if (!told.ok()) return malformed(frame, told.error().message);
    client_.on_told(std::move(frame), *told, in, now);
  } else if (frame.kind == peer_kind::poke) {
    const auto poke = unpack_head<Envelope>(in);
    if (!poke.ok()) return malformed(frame, poke.error().message);
    holder_.on_poke(frame, *poke);
  } else {
    return malformed(frame, "peers have no such message");
  }
  return {};
}

std::vector<Frame> PeerKeys::take_frames() {
  std::vector<Frame> frames = client_.take_frames();
  for (Frame& frame : holder_.take_frames()) frames.push_back(std::move(frame));
  return frames;
}

}  // namespace actorhost
