#include "host/sim/peer_tree.hpp"

#include <algorithm>

namespace actorhost {

// --- minima that nodes know ---

int32_t PeerTree::minimum(uint32_t place) const {
  int32_t least = world_.clocks().step(places_[place].node);
  for (uint32_t child = 2 * place + 1; child <= 2 * place + 2 && child < size(); ++child) {
    least = std::min(least, places_[child].received);
  }
  return least;
}

// Reports the subtree's minimum to the parent when it has risen.
void PeerTree::update_minimum(uint32_t place, double now) {
  Place& here = places_[place];
  if (!world_.up(here.node)) return;
  const int32_t least = minimum(place);
  if (least <= here.reported) return;
  here.reported = least;
  if (place == 0) return receive_minimum(0, least, now);
  report(place, now);
}

void PeerTree::report(uint32_t place, double now) {
  PeerMessage message;
  message.place = place;
  message.value = places_[place].reported;
  message.episode = generation_;
  message.kind = PeerMessage::Kind::rise;
  world_.deliver(world_.send(now), now, message);
}

void PeerTree::receive_minimum(uint32_t place, int32_t value, double now) {
  const NodeId id = places_[place].node;
  if (!world_.up(id) || value <= nodes_[id].known) return;
  nodes_[id].known = value;
  send_minimum(2 * place + 1, value, now);
  send_minimum(2 * place + 2, value, now);
  if (world_.held(id)) decide(id, now);
}

void PeerTree::send_minimum(uint32_t place, int32_t value, double now) {
  if (place >= size()) return;
  PeerMessage message;
  message.place = place;
  message.value = value;
  message.episode = generation_;
  message.kind = PeerMessage::Kind::minimum;
  world_.deliver(world_.send(now), now, message);
}

void PeerTree::arrived(const PeerMessage& message, double now) {
  const uint32_t place = message.place;
  if (place >= size() || message.episode != generation_) return;  // the tree has shrunk since
  if (message.kind == PeerMessage::Kind::minimum) return receive_minimum(place, message.value, now);
  if (place == 0 || !world_.up(places_[parent(place)].node)) return;
  // A minimum sent before another node took the place may exceed the minimum of the new node's subtree.
  Place& here = places_[place];
  here.received = std::max(here.received, std::min(message.value, here.reported));
  update_minimum(parent(place), now);
}

// --- steps ---

void PeerTree::begins(NodeId id, double now) { decide(id, now); }

void PeerTree::completed(NodeId id, double now) {
  const int32_t known = nodes_[id].known;
  update_minimum(nodes_[id].place, now);
  if (nodes_[id].known == known) decide(id, now);  // otherwise receive_minimum has decided within the call
}

void PeerTree::decide(NodeId id, double now) {
  const std::optional<double> recheck = world_.decide(id, {}, nodes_[id].known, now);
  if (!recheck || !(*recheck < kForever)) return;
  nodes_[id].wake_at = now + *recheck;
  world_.wake(nodes_[id].wake_at, id);
}

void PeerTree::woken(NodeId id, double now) {
  if (nodes_[id].wake_at == now) decide(id, now);
}

// --- nodes join and leave ---

int32_t PeerTree::first_step() const { return size() == 0 ? 0 : places_[parent(size())].reported; }

void PeerTree::joined(NodeId id, double /*now*/, bool later) {
  const uint32_t place = size();
  const int32_t step = world_.clocks().step(id);
  places_.push_back({id, step, step});
  nodes_.push_back({place, place == 0 ? step : nodes_[places_[parent(place)].node].known});
  if (later && place > 0) world_.count_messages(2);  // to its parent, and back
}

// Reports a lower minimum to the ancestors at once.
void PeerTree::include(uint32_t place) {
  for (;; place = parent(place)) {
    Place& here = places_[place];
    here.reported = std::min(here.reported, minimum(place));
    if (place == 0 || here.received <= here.reported) return;
    here.received = here.reported;
    world_.count_messages(1);
  }
}

void PeerTree::left(NodeId id, double now) {
  const uint32_t gap = nodes_[id].place;
  const uint32_t last = size() - 1;
  if (gap != last) {
    places_[gap].node = places_[last].node;
    nodes_[places_[gap].node].place = gap;
    include(gap);
  }
  places_.pop_back();
  if (places_.empty()) ++generation_;
  if (gap != last) take_over(gap, now);
  if (last > 0) update_minimum(parent(last), now);
}

// The new node of a place exchanges clocks with its parent and children: the former node of the place, or departed
// neighbours, may have missed earlier messages.
void PeerTree::take_over(uint32_t place, double now) {
  Place& here = places_[place];
  const bool up = world_.up(here.node);
  const int32_t known = nodes_[here.node].known;
  for (uint32_t child = 2 * place + 1; child <= 2 * place + 2 && child < size(); ++child) {
    if (world_.up(places_[child].node)) report(child, now);
    if (up) send_minimum(child, known, now);
  }
  if (place > 0 && world_.up(places_[parent(place)].node)) {
    send_minimum(place, nodes_[places_[parent(place)].node].known, now);
  }
  if (!up) return;
  here.reported = std::max(here.reported, minimum(place));
  place == 0 ? receive_minimum(0, here.reported, now) : report(place, now);
}

}  // namespace actorhost
