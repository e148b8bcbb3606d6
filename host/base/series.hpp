#pragma once
// Bounded series of the numbers that a job reports (actor.report), however often it reports. A series retains at most
// kPoints points over all nodes of the process. When a series is full, it drops every second point of each node, and
// from then on stores only every second report. The newest point of each node is always available.
//
// A track belongs to the thread of one node; any thread may read the book.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/base/tally.hpp"

namespace actorhost {

struct SeriesPoint {
  double time = 0;  // seconds on the reporter's clock
  double step = 0;
  double value = 0;
  uint32_t node = 0;   // address
  uint64_t index = 0;  // of the node's reports
};

class SeriesBook {
 public:
  static constexpr size_t kNames = 64;
  static constexpr size_t kPoints = 512;

 private:
  struct Series {
    mutable std::mutex mutex;
    std::vector<SeriesPoint> points;  // the index of each is a multiple of `stride`
    std::atomic<uint64_t> stride{1};  // a power of two
    void put(const SeriesPoint& point) {
      std::lock_guard lock(mutex);
      uint64_t every = stride.load(std::memory_order_relaxed);
      if (points.size() >= kPoints) {
        every *= 2;
        stride.store(every, std::memory_order_relaxed);
        std::erase_if(points, [every](const SeriesPoint& old) { return (old.index & (every - 1)) != 0; });
      }
      if ((point.index & (every - 1)) == 0 && points.size() < kPoints) points.push_back(point);
    }
  };

 public:
  class Track {
   public:
    Track(Series& series, uint32_t node) : series_(series), node_(node) {}
    /// `step` below 0 means the number of this report, counted from 1.
    void add(double step, double value, double now) {
      const uint64_t index = count_.get();
      const SeriesPoint point{now, step < 0 ? static_cast<double>(index + 1) : step, value, node_, index};
      time_.set(point.time);
      step_.set(point.step);
      value_.set(value);
      count_.set(index + 1);
      if ((index & (series_.stride.load(std::memory_order_relaxed) - 1)) == 0) series_.put(point);
    }
    const Series& series() const noexcept { return series_; }
    /// The newest point; requires !empty().
    SeriesPoint newest() const noexcept { return {time_.get(), step_.get(), value_.get(), node_, count_.get() - 1}; }
    bool empty() const noexcept { return count_.get() == 0; }

   private:
    Series& series_;
    const uint32_t node_;
    Tally<uint64_t> count_;
    Tally<double> time_, step_, value_;
  };

  /// The track for reports of node `node` under `name`; null if the book already has kNames other names. Valid as long
  /// as the book.
  Track* track(const std::string& name, uint32_t node) {
    std::lock_guard lock(mutex_);
    const auto found = series_.find(name);
    if (found == series_.end() && series_.size() >= kNames) return nullptr;
    Series& series = found != series_.end() ? found->second : series_[name];
    tracks_.push_back(std::make_unique<Track>(series, node));
    return tracks_.back().get();
  }
  /// All points by name, ordered by time.
  std::map<std::string, std::vector<SeriesPoint>> read() const {
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

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Series> series_;
  std::vector<std::unique_ptr<Track>> tracks_;
};

}  // namespace actorhost
