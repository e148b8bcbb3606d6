#include "host/net/landings.hpp"

#include <algorithm>
#include <utility>

namespace actorhost {

void Landings::expect(const void* whose, Kind kind, uint32_t tag, std::string_view meta, Blob room) {
  if (room.size() < kMinBytes) return;
  std::lock_guard lock(mutex_);
  places_.push_back({whose, kind, tag, SmallBytes(meta), std::move(room)});
}

void Landings::forget(const void* whose) {
  std::vector<Place> dropped;
  std::lock_guard lock(mutex_);
  const auto others = std::partition(places_.begin(), places_.end(), [&](const Place& p) { return p.whose != whose; });
  dropped.assign(std::move_iterator(others), std::move_iterator(places_.end()));
  places_.erase(others, places_.end());
}

size_t Landings::size() const {
  std::lock_guard lock(mutex_);
  return places_.size();
}

Blob Landings::take(const Frame& head, size_t bytes) {
  std::lock_guard lock(mutex_);
  const auto found = std::find_if(places_.begin(), places_.end(), [&](const Place& place) {
    return place.tag == head.tag && place.kind == head.kind && head.meta.view().starts_with(place.meta.view());
  });
  if (found == places_.end() || found->room.size() != bytes) return {};
  Blob room = std::move(found->room);
  places_.erase(found);
  return room;
}

}  // namespace actorhost
