#include "tests/host/engine/peer/keys_world.hpp"

#include <algorithm>
#include <stdexcept>

namespace actorhost::test {

KeysWorld::KeysWorld(uint64_t seed, SimLink link, size_t part_bytes, uint32_t copies)
    : net(clock, seed), seed_(seed), part_bytes_(part_bytes), copies_(copies) {
  net.set_links(std::move(link));
  net.on_delivered([this](Address to) { serve(address_index(to)); });
}

KeysWorld::~KeysWorld() { net.close(); }

void KeysWorld::bootstrap(NodeId count, double seconds) {
  std::vector<Peer> founders;
  for (NodeId node = 0; node < count; ++node) founders.push_back({ring_id(seed_, node, 0), node, node});
  for (NodeId node = 0; node < count; ++node) {
    add(node, {0, node > 0 ? node - 1 : 0});
    at(node).keys.reconfiguration().bootstrap(founders);
  }
  run(seconds);
}

void KeysWorld::add(NodeId node, const std::vector<NodeId>& contacts) {
  auto& one = nodes_[node];
  one = std::make_unique<Node>(node, seed_, now(), copies_, part_bytes_);
  one->keys.set_now(now());
  net.place(courier_address(node), node);
  (void)net.attach(courier_address(node), one->inbox);
  std::vector<Overlay::Contact> found;
  for (const NodeId contact : contacts) found.push_back({contact, contact});
  one->overlay.join(found, now());
  serve(node);
}

void KeysWorld::kill(NodeId node, bool closes_connections) {
  std::vector<ParamKey> there = at(node).keys.table().keys(Arc{});
  std::erase_if(there, [&](const ParamKey& key) { return holders(place_of(key)) == 0; });
  net.detach(courier_address(node));
  nodes_.erase(node);
  leaving_.erase(node);
  for (const ParamKey& key : there) lost_ += holders(place_of(key)) == 0 ? 1 : 0;
  if (!closes_connections) return;
  for (const auto& [id, other] : nodes_) {
    other->overlay.lose_process(node, now(id));
    other->keys.lose_process(node, now(id));
    net.at(now(), [this, id = id] { serve(id); });
  }
}

void KeysWorld::leave(NodeId node) {
  leaving_.insert(node);
  at(node).keys.reconfiguration().leave();
  at(node).overlay.leave(now(node));
  serve(node);
  net.at(now() + 5, [this, node] {
    if (has(node)) kill(node, true);
  });
}

void KeysWorld::leap(NodeId node, double seconds) {
  at(node).ahead += seconds;
  net.at(now(), [this, node] { serve(node); });
}

void KeysWorld::serve(NodeId node) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  Node& one = *found->second;
  const double own = now(node);
  frames_.clear();
  one.inbox.pop_all(frames_, 0);
  one.keys.set_now(own);
  for (Frame& frame : std::exchange(frames_, {})) {
    const bool of_overlay = within(frame.kind, kinds_of(Kind::overlay_first));
    const Status taken = of_overlay ? one.overlay.on_frame(frame, own) : one.keys.on_frame(std::move(frame), own);
    if (!taken.ok()) throw std::runtime_error(taken.error().message);
  }
  const double next = std::min(one.overlay.tick(own), one.keys.tick(own));
  for (Frame& frame : one.overlay.take_frames()) (void)net.try_send(std::move(frame));
  for (Frame& frame : one.keys.take_frames()) (void)net.try_send(std::move(frame));
  if (leaving(node) && one.keys.reconfiguration().holds_nothing()) {
    net.at(now(), [this, node] {
      if (has(node)) kill(node, true);
    });
    return;
  }
  if (next >= one.planned && one.planned > own) return;
  one.planned = next;
  if (next == kForever) return;
  Node* const same = &one;
  net.at(std::max(next - one.ahead, now() + 1e-6), [this, node, same] {
    if (has(node) && &at(node) == same) serve(node);
  });
}

std::vector<NodeId> KeysWorld::nodes() const {
  std::vector<NodeId> all;
  for (const auto& [node, one] : nodes_) all.push_back(node);
  return all;
}

std::set<ParamKey> KeysWorld::keys() const {
  std::set<ParamKey> all;
  for (const auto& [node, one] : nodes_) {
    for (const ParamKey& key : one->keys.table().keys(Arc{})) all.insert(key);
  }
  return all;
}

std::string KeysWorld::trouble() {
  std::vector<Peer> ring;
  for (const auto& [node, one] : nodes_) ring.push_back(one->overlay.self());
  std::sort(ring.begin(), ring.end(), [](const Peer& a, const Peer& b) { return a.id < b.id; });
  for (size_t i = 0; i < ring.size(); ++i) {
    const Arc arc{ring[(i + ring.size() - 1) % ring.size()].id, ring[i].id};
    const KeyRange* led = at(ring[i].node).keys.reconfiguration().leads(arc.to);
    const std::string owner = "node " + std::to_string(ring[i].node);
    if (led == nullptr) return owner + " does not lead";
    if (!(led->arc == arc)) return owner + " leads another arc";
    if (led->group.members.size() != std::min<size_t>(copies_, ring.size())) return owner + " has too few members";
    const KeySum sum = at(ring[i].node).keys.table().sum(arc);
    for (const auto& [node, one] : nodes_) {
      const KeySum theirs = one->keys.table().sum(arc);
      const bool member = led->group.has(node);
      if (member && !(theirs == sum)) return "node " + std::to_string(node) + " differs from " + owner;
      if (!member && theirs.count > 0) return "node " + std::to_string(node) + " still has keys of " + owner;
    }
  }
  return {};
}

size_t KeysWorld::holders(RingId place) {
  GroupTerm& served = served_[place];
  size_t count = 0;
  for (const auto& [node, one] : nodes_) {
    const KeyRange* range = one->keys.ranges().find(place);
    if (range == nullptr || !range->holds) continue;
    if (range->serves()) served = std::max(served, range->group.term);
  }
  for (const auto& [node, one] : nodes_) {
    const KeyRange* range = one->keys.ranges().find(place);
    count += range != nullptr && range->holds && range->group.term >= served ? 1 : 0;
  }
  return count;
}

}  // namespace actorhost::test
