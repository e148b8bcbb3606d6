#pragma once
// A connection between two simulated hosts, as TCP: its two ends, with the arrived bytes and the bytes in flight.

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/base/tasks.hpp"
#include "host/net/byte_stream.hpp"
#include "host/rehearsal/deliveries.hpp"

namespace actorhost::rehearsal {

inline constexpr IoResult kClosedHere{IoEnd::closed, 0, "closed"};

struct Place {
  uint32_t host = 0;
  uint16_t port = 0;
  auto operator<=>(const Place&) const = default;
};

/// One end of a connection. Its functions expect the network's lock.
struct End : std::enable_shared_from_this<End> {
  End(Deliveries& of, uint32_t at, Place peer) : net(of), host(at), peer_place(peer) {}

  bool connected() const { return !closed && !peer_closed && !other.expired(); }
  bool readable() const { return closed || peer_closed || unread > 0; }
  IoResult receive(const Piece* pieces, size_t count);
  size_t transmit(const Piece* pieces, size_t count);
  void continue_send();
  void close();
  void lose_peer();
  void lose_bytes();
  void abandon();
  void vanish();
  Deliveries& net;
  const uint32_t host;
  const Place peer_place;
  std::weak_ptr<End> other;
  bool closed = false;
  bool peer_closed = false;
  bool vanished = false;  // its machine has crashed: the other end gets no answer

  std::vector<std::string> arrived;  // not yet read
  size_t read_of_first = 0;          // bytes of the first part that were read
  size_t unread = 0;
  WaitPoint arrival;

  size_t in_flight = 0;  // bytes on their way to the other end
  Time last_arrival = 0;
  WaitPoint room;
  std::vector<Piece> pending;  // of a started send
  bool sending = false;
  uint32_t reports = 0;  // pending calls of `report`
  std::function<void(IoResult)> report;
  WaitPoint reported;
};
using EndPtr = std::shared_ptr<End>;

}  // namespace actorhost::rehearsal
