#include "host/engine/peer/peer_clocks.hpp"

#include <algorithm>

namespace actorhost {

void PeerClocks::set_others(std::vector<Overlay::Contact> others) {
  others_ = std::move(others);
  std::erase_if(clocks_, [&](const auto& clock) {
    return std::none_of(others_.begin(), others_.end(), [&](const auto& other) { return other.node == clock.first; });
  });
  if (told_) told_(aggregate());
}

void PeerClocks::set_clock(std::optional<uint64_t> clock, uint64_t sum) {
  own_.reset();
  if (clock) own_ = Clock{*clock, sum};
  tell_all();
  if (told_) told_(aggregate());
}

void PeerClocks::tell_all() {
  for (const Overlay::Contact& other : others_) {
    ClockOfPeer message{{overlay_.self(), other.node}, own_.has_value()};
    if (own_) message.clock = own_->clock, message.sum = own_->sum;
    Frame frame = message_frame(peer_kind::clock, courier_address(other.process), 0, message);
    frame.src = courier_address(overlay_.self().process);
    frames_.push_back(std::move(frame));
  }
}

Aggregate PeerClocks::aggregate() const {
  Aggregate all{~uint64_t{0}, 0, 0, own_.has_value()};
  const auto add = [&all](const Clock& clock) {
    all.least = std::min(all.least, clock.clock);
    all.sum += clock.sum;
    ++all.count;
  };
  if (own_) add(*own_);
  for (const auto& [node, clock] : clocks_) add(clock);
  if (all.count == 0) all.least = 0;
  return all;
}

Status PeerClocks::on_frame(const Frame& frame) {
  Unpacker in(frame.meta.view());
  const auto told = unpack_head<ClockOfPeer>(in);
  if (!told.ok()) return malformed(frame, told.error().message);
  const NodeId from = told->envelope.from.node;
  if (told->there) {
    clocks_[from] = {told->clock, told->sum};
  } else {
    clocks_.erase(from);
  }
  if (told_) told_(aggregate());
  return {};
}

double PeerClocks::tick(double now) {
  if (!own_) return kForever;
  if (now >= next_) {
    next_ = now + 0.1;
    tell_all();
  }
  return next_;
}

}  // namespace actorhost
