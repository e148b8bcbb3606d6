#include "tests/host/overlay/overlay_world.hpp"

#include <algorithm>

namespace actorhost::test {

OverlayWorld::OverlayWorld(uint64_t seed, SimLink link) : net(clock, seed), seed_(seed) {
  net.set_links(std::move(link));
  net.on_delivered([this](Address to) { serve(address_index(to)); });
}

OverlayWorld::~OverlayWorld() { net.close(); }

Overlay& OverlayWorld::add(NodeId node, const std::vector<NodeId>& contacts) {
  auto& member = members_[node];
  if (!member) order_.push_back(node);
  member = std::make_unique<Member>();
  member->overlay = std::make_unique<Overlay>(Overlay::Contact{node, node}, seed_, now());
  net.place(courier_address(node), node);
  (void)net.attach(courier_address(node), member->inbox);
  std::vector<Overlay::Contact> found;
  for (const NodeId contact : contacts) found.push_back({contact, contact});
  member->overlay->join(found, now());
  serve(node);
  return *member->overlay;
}

void OverlayWorld::grow(NodeId count, double seconds) {
  add(0, {});
  for (NodeId node = 1; node < count; ++node) {
    net.at(now() + seconds * node / count, [this, node] { add(node, {static_cast<NodeId>(net.rng().below(node))}); });
  }
  run(seconds + 5);
}

void OverlayWorld::kill(NodeId node) {
  net.detach(courier_address(node));
  members_.erase(node);
  order_.erase(std::find(order_.begin(), order_.end(), node));
}

void OverlayWorld::resume(NodeId node) {
  members_.at(node)->stopped = false;
  serve(node);
}

void OverlayWorld::leave(NodeId node) {
  at(node).leave(now());
  serve(node);
  kill(node);
}

void OverlayWorld::set_clock(NodeId node, std::optional<uint64_t> steps, uint64_t sum) {
  at(node).set_clock(steps, sum);
  serve(node);
}

void OverlayWorld::serve(NodeId node) {
  const auto found = members_.find(node);
  if (found == members_.end() || found->second->stopped) return;
  Member& member = *found->second;
  frames_.clear();
  member.inbox.pop_all(frames_, 0);
  for (const Frame& frame : std::exchange(frames_, {})) {
    const Status status = member.overlay->on_frame(frame, now());
    if (!status.ok()) throw std::runtime_error(status.error().message);
  }
  const double next = member.overlay->tick(now());
  for (Frame& frame : member.overlay->take_frames()) {
    ++sent_by_kind_[frame.kind];
    bytes_by_kind_[frame.kind] += frame.cost();
    (void)net.try_send(std::move(frame));
  }
  if (next >= member.planned && member.planned > now()) return;
  member.planned = next;
  if (next == kForever) return;
  Overlay* const same = member.overlay.get();
  net.at(std::max(next, now() + 1e-6), [this, node, same] {
    const auto there = members_.find(node);
    if (there != members_.end() && there->second->overlay.get() == same) serve(node);
  });
}

std::vector<NodeId> OverlayWorld::nodes() const {
  std::vector<NodeId> all;
  for (const auto& [node, member] : members_) all.push_back(node);
  std::sort(all.begin(), all.end());
  return all;
}

Result<Located> OverlayWorld::find(NodeId requester, RingId key) {
  std::optional<Result<Located>> result;
  find(requester, key, [&](Result<Located> located) { result = std::move(located); });
  net.run_until([&] { return result.has_value(); }, now() + 60);
  if (!result) return Error{Code::internal, "no reply has arrived"};
  return *result;
}

void OverlayWorld::find(NodeId requester, RingId key, Finder::OnLocated done) {
  at(requester).find(key, now(), std::move(done));
  serve(requester);
}

std::vector<Sampled> OverlayWorld::sample(NodeId requester, uint32_t count) {
  std::optional<std::vector<Sampled>> result;
  sample(requester, count, [&](std::vector<Sampled> sampled) { result = std::move(sampled); });
  net.run_until([&] { return result.has_value(); }, now() + 60);
  return result.value_or(std::vector<Sampled>());
}

void OverlayWorld::sample(NodeId requester, uint32_t count, UniformSampler::OnSampled done) {
  at(requester).sample(count, 5, now(), std::move(done));
  serve(requester);
}

NodeId OverlayWorld::some_node() { return order_[net.rng().below(order_.size())]; }

std::vector<Peer> OverlayWorld::ring() const {
  std::vector<Peer> peers;
  for (const auto& [node, member] : members_) peers.push_back(member->overlay->self());
  std::sort(peers.begin(), peers.end(), [](const Peer& a, const Peer& b) { return a.id < b.id; });
  return peers;
}

NodeId OverlayWorld::owner_of(RingId key) const {
  Peer owner = members_.begin()->second->overlay->self();
  each([&](const Overlay& overlay) {
    const Peer& peer = overlay.self();
    if (peer.id - key < owner.id - key) owner = peer;
  });
  return owner.node;
}

namespace {

/// Whether the first `count` peers on one side of position `i` are correct.
bool side_is_true(const std::vector<Peer>& ring, size_t i, bool clockwise, const std::vector<Peer>& believed,
                  size_t count) {
  count = std::min(count, ring.size() - 1);
  if (believed.size() < count) return false;
  size_t place = i;
  for (size_t k = 0; k < count; ++k) {
    place = (clockwise ? place + 1 : place + ring.size() - 1) % ring.size();
    if (!(believed[k] == ring[place])) return false;
  }
  return true;
}

template <typename Members>
size_t wrong(const std::vector<Peer>& ring, const Members& members, size_t count) {
  size_t bad = 0;
  for (size_t i = 0; i < ring.size(); ++i) {
    const NeighbourLists& lists = members.at(ring[i].node)->overlay->near().lists();
    const bool good = side_is_true(ring, i, true, lists.after.peers, count) &&
                      side_is_true(ring, i, false, lists.before.peers, count);
    bad += good ? 0 : 1;
  }
  return bad;
}

}  // namespace

size_t OverlayWorld::wrong_neighbours() const { return wrong(ring(), members_, 1); }
size_t OverlayWorld::wrong_lists() const { return wrong(ring(), members_, kNeighbourListLength); }

}  // namespace actorhost::test
