#include "host/sim/clocks.hpp"

namespace actorhost {

NodeId Clocks::add(int32_t step) {
  const auto id = static_cast<NodeId>(steps_.size());
  steps_.push_back(step);
  places_.push_back(size());
  live_.push_back(id);
  counts_.add(step);
  ++layout_;
  return id;
}

void Clocks::remove(NodeId id) {
  if (!counted(id)) return;
  counts_.remove(steps_[id]);
  const uint32_t place = places_[id];
  live_[place] = live_.back();
  places_[live_[place]] = place;
  live_.pop_back();
  places_[id] = kDeparted;
  ++layout_;
}

}  // namespace actorhost
