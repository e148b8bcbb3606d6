#pragma once
// The status line of a map-reduce action: the stage that runs, how far it is, rows and bytes a second. One thread.

#include <optional>
#include <string>

#include "host/base/clock.hpp"
#include "host/mapreduce/tasks/tracker.hpp"

namespace actorhost {

class StageBar {
 public:
  explicit StageBar(const Clock& clock) : clock_(&clock) {}

  /// The line for now; an empty one removes what was shown, nothing leaves the terminal to others.
  std::optional<std::string> line(const std::optional<TrackerProgress>& progress);

 private:
  const Clock* clock_;
  uint32_t action_ = 0;
  StageId stage_ = 0;
  double began_ = 0;
  bool shown_ = false;
};

}  // namespace actorhost
