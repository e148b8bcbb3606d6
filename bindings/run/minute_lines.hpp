#pragma once
// Progress in the log of a run without a terminal: a line after each minute without other output. Owned and used by the
// thread that waits for the end of the run.

#include "bindings/process/console.hpp"
#include "host/base/clock.hpp"
#include "host/base/log.hpp"
#include "host/cluster/cluster.hpp"

namespace actorhost {

/// Seconds without output before such a line.
inline constexpr double kQuietMinute = 60;

class MinuteLines {
 public:
  /// `summarises`: if there is no status line, the coordinator logs a summary of all workers instead.
  MinuteLines(Console& console, Cluster& cluster, Log& log, const Clock& clock, bool summarises)
      : console_(console), cluster_(cluster), log_(log), clock_(clock), begun_(clock.now()), summarises_(summarises) {}

  /// Writes the line if it is due. Does not block.
  void check();

 private:
  Console& console_;
  Cluster& cluster_;
  Log& log_;
  const Clock& clock_;
  const double begun_;
  const bool summarises_;
};

/// "in progress for 3 min on 4 workers, at steps 120 to 140" from the state of a run as JSON.
std::string summary_of_state(const std::string& state, double seconds);

}  // namespace actorhost
