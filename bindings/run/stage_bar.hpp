#pragma once
// The status line of a map-reduce action: the present stage, its progress, rows and bytes per second. Not thread-safe.

#include <optional>
#include <string>

#include "host/base/clock.hpp"
#include "host/mapreduce/tasks/tracker.hpp"

namespace actorhost {

class StageBar {
 public:
  static constexpr double kDrawSeconds = 0.2;  // between two lines on a terminal

  explicit StageBar(const Clock& clock) : clock_(&clock) {}

  /// The present line; an empty text removes the shown line; no value changes nothing.
  std::optional<std::string> line(const std::optional<TrackerProgress>& progress);

 private:
  const Clock* clock_;
  uint32_t action_ = 0;
  StageId stage_ = 0;
  double began_ = 0;
  bool shown_ = false;
};

}  // namespace actorhost
