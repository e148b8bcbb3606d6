// Reads bytes of a connection in pieces; the first byte is their maximum length. The bytes become frames within their
// limits, or end the connection. If the first byte is 255, the bytes are a handshake.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>

#include "host/net/frame_reader.hpp"
#include "host/net/handshake.hpp"

namespace {

int shake_hands(std::span<const uint8_t> left) {
  using actorhost::Handshake;
  const auto side = left.size() % 2 != 0 ? Handshake::Side::dialler : Handshake::Side::listener;
  Handshake end(side, "token", {}, "a fuzzer");
  while (end.wanted() != 0 && end.wanted() <= left.size()) {
    const auto message = left.first(end.wanted());
    left = left.subspan(message.size());
    if (!end.input(std::as_bytes(message)).ok()) break;
  }
  if (end.proved()) std::abort();  // the bytes cannot hold a proof of the token
  return 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace actorhost;
  if (size < 1) return 0;
  const size_t most = size_t{1} + data[0];
  std::span<const uint8_t> left(data + 1, size - 1);
  if (data[0] == 255) return shake_hands(left);
  FrameLimits limits{.meta_bytes = 1 << 10, .body_bytes = 1 << 16};
  FrameReader reader(limits);
  std::vector<Frame> frames;
  while (!left.empty()) {
    std::array<Piece, 2> pieces;
    const size_t rooms = reader.room(pieces);
    size_t taken = 0;
    for (size_t i = 0; i < rooms && taken < most && !left.empty(); ++i) {
      const size_t n = std::min({pieces[i].size, most - taken, left.size()});
      std::memcpy(pieces[i].data, left.data(), n);
      left = left.subspan(n);
      taken += n;
    }
    if (!reader.received(taken, frames).ok()) break;
  }
  for (const Frame& frame : frames) {
    if (frame.meta.size() > limits.meta_bytes || frame.body.size() > limits.body_bytes) std::abort();
  }
  return 0;
}
