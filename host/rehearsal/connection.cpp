#include "host/rehearsal/connection.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include <xxhash.h>

namespace actorhost::rehearsal {

IoResult End::receive(const Piece* pieces, size_t count) {
  if (closed) return kClosedHere;
  if (unread == 0) {
    if (peer_closed) return {IoEnd::closed, 0, "connection shut down"};
    return {IoEnd::would_block, 0, "no bytes"};
  }
  size_t done = 0;
  auto next = arrived.begin();
  for (const Piece& piece : std::span(pieces, count)) {
    for (size_t filled = 0; filled < piece.size && unread > 0;) {
      const std::string& first = *next;
      const size_t part = std::min(piece.size - filled, first.size() - read_of_first);
      std::memcpy(piece.data + filled, first.data() + read_of_first, part);
      filled += part;
      done += part;
      unread -= part;
      read_of_first += part;
      if (read_of_first < first.size()) continue;
      ++next;
      read_of_first = 0;
    }
  }
  arrived.erase(arrived.begin(), next);
  if (const EndPtr peer = other.lock()) peer->continue_send();
  return {IoEnd::done, done};
}

/// Sends as many bytes as the window permits; returns their number.
size_t End::transmit(const Piece* from, size_t count) {
  const EndPtr peer = other.lock();
  const size_t used = peer->unread + in_flight;
  const size_t window = net.window(host, peer_place.host);
  const size_t most = window - std::min(window, used);
  std::string bytes;
  for (const Piece& piece : std::span(from, count)) {
    bytes.append(reinterpret_cast<const char*>(piece.data), std::min(piece.size, most - bytes.size()));
  }
  const size_t size = bytes.size();
  if (size == 0) return 0;
  ++net.writes;
  net.scheduler.record('n', XXH3_64bits(bytes.data(), size));
  const std::string_view layer = layer_of(bytes);
  // The script and its line numbers are in messages of the cluster: a print added to a job changes no time.
  const size_t counted = layer == "cluster" ? 0 : size;
  last_arrival = std::max(last_arrival, net.arrival(host, peer_place.host, counted));
  if (net.chart != nullptr) {
    net.chart->add(host, peer_place.host, net.scheduler.time(), last_arrival, layer, size);
  }
  in_flight += size;
  net.post(last_arrival, [self = shared_from_this(), peer, bytes = std::move(bytes)]() mutable {
    if (peer->vanished) return;  // without an acknowledgement
    self->in_flight -= bytes.size();
    if (!peer->connected()) return;
    peer->unread += bytes.size();
    peer->arrived.push_back(std::move(bytes));
    peer->arrival.notify_all();
  });
  return size;
}

void End::continue_send() {
  room.notify_all();
  if (!sending) return;
  IoResult result{IoEnd::closed, 0, "connection reset"};
  if (connected()) {
    const size_t sent = transmit(pending.data(), pending.size());
    if (sent == 0) return;
    result = {IoEnd::done, sent};
  }
  sending = false;
  ++reports;
  net.post(net.scheduler.time(), [self = shared_from_this(), result] {
    self->net.mutex.unlock();
    if (self->report) self->report(result);
    self->net.mutex.lock();
    --self->reports;
    self->reported.notify_all();
  });
}

void End::close() {
  if (std::exchange(closed, true)) return;
  arrival.notify_all();
  continue_send();
  // The other end reads the bytes in flight first.
  last_arrival = std::max(last_arrival, net.arrival(host, peer_place.host, 0));
  net.post(last_arrival, [peer = other.lock()] {
    if (peer != nullptr) peer->lose_peer();
  });
}

void End::lose_peer() {
  peer_closed = true;
  arrival.notify_all();
  continue_send();
}

void End::lose_bytes() {
  arrived.clear();
  read_of_first = unread = 0;
  lose_peer();
}

/// The process of this end has died: nothing of it may be called.
void End::abandon() {
  report = nullptr;
  sending = false;
  close();
}

/// The machine of this end has crashed: nothing of it may be called, and the other end learns nothing.
void End::vanish() {
  report = nullptr;
  sending = false;
  closed = vanished = true;
}

}  // namespace actorhost::rehearsal
