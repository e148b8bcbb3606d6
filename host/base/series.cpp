#include "host/base/series.hpp"

#include <algorithm>

namespace actorhost {

void SeriesBook::Series::put(const SeriesPoint& point) {
  std::lock_guard lock(mutex);
  uint64_t every = stride.load(std::memory_order_relaxed);
  if (points.size() >= kPoints) {
    every *= 2;
    stride.store(every, std::memory_order_relaxed);
    std::erase_if(points, [every](const SeriesPoint& old) { return (old.index & (every - 1)) != 0; });
  }
  if ((point.index & (every - 1)) == 0 && points.size() < kPoints) points.push_back(point);
}

SeriesBook::Track* SeriesBook::track(const std::string& name, uint32_t node) {
  std::lock_guard lock(mutex_);
  const auto found = series_.find(name);
  if (found == series_.end() && series_.size() >= kNames) return nullptr;
  Series& series = found != series_.end() ? found->second : series_[name];
  tracks_.push_back(std::make_unique<Track>(series, node));
  return tracks_.back().get();
}

std::map<std::string, std::vector<SeriesPoint>> SeriesBook::read() const {
  std::map<std::string, std::vector<SeriesPoint>> out;
  std::lock_guard lock(mutex_);
  for (const auto& [name, series] : series_) {
    std::vector<SeriesPoint>& points = out[name];
    {
      std::lock_guard held(series.mutex);
      points = series.points;
    }
    for (const auto& track : tracks_) {
      if (&track->series() != &series || track->empty()) continue;
      const SeriesPoint newest = track->newest();
      const auto is_newest = [&](const SeriesPoint& point) {
        return point.node == newest.node && point.index == newest.index;
      };
      if (std::none_of(points.begin(), points.end(), is_newest)) points.push_back(newest);
    }
    std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  }
  return out;
}

}  // namespace actorhost
