#include "host/net/byte_stream.hpp"

namespace actorhost {

std::string io_message(const IoResult& result) {
  return result.end == IoEnd::closed ? "closed by the peer" : result.message;
}

IoResult Stream::receive_all(Piece piece, const Clock& clock, double deadline) {
  IoResult total;
  while (piece.size != 0) {
    const IoResult some = receive_now(&piece, 1);
    if (some.end == IoEnd::would_block) {
      if (wait_readable(deadline - clock.now())) continue;
      return {IoEnd::timed_out, total.bytes, "timed out"};
    }
    if (some.end != IoEnd::done) return {some.end, total.bytes, some.message};
    total.bytes += some.bytes;
    piece.data += some.bytes;
    piece.size -= some.bytes;
  }
  return total;
}

IoResult Stream::send_all(Piece piece, const Clock& clock, double deadline) {
  IoResult total;
  while (piece.size != 0) {
    const IoResult some = send_some(piece, deadline - clock.now());
    if (some.end != IoEnd::done) return {some.end, total.bytes, some.message};
    total.bytes += some.bytes;
    piece.data += some.bytes;
    piece.size -= some.bytes;
  }
  return total;
}

}  // namespace actorhost
