#pragma once
// The past of a run, for the curves of the page: the numbers of each state, by group and line. The newest five minutes
// have a point each second, the hour before them a slot each ten seconds with the extremes of its points. So the memory
// is bounded: at most 96 lines of 640 slots. The page's server uses it for a live run, and for a recorded run up to a
// state. Not thread-safe.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace actorhost {

/// One state's numbers, by the index of their line.
struct PastPoint {
  double t = 0;  // seconds since the run's start
  std::vector<std::pair<uint16_t, float>> values;
};

/// Reads the points of a run from its states, in their order.
///
/// The groups: "steps", "collectives" and "tasks" (the progress of workers; the page shows one of these), "updates" and
/// "bytes" (a second), "cpu" (processors used by each process) and "memory" (bytes). The lines of a group of workers or
/// processes: "highest", "median" and "lowest", and up to twelve workers or processes also each by its id. The other
/// groups have one line, "all".
class PastReader {
 public:
  static constexpr size_t kLines = 96;     // of all groups; further lines are left out
  static constexpr size_t kLineEach = 12;  // more workers or processes have no lines of their own

  PastPoint read(const nlohmann::json& state);
  /// {group: {line: value}}
  nlohmann::json values(const PastPoint& point) const;
  /// The group and name of each line.
  const std::vector<std::pair<std::string, std::string>>& lines() const noexcept { return lines_; }

 private:
  void put(PastPoint& point, const std::string& group, const std::string& line, double value);
  void put_each(PastPoint& point, const std::string& group, const std::vector<std::pair<std::string, double>>& each);
  std::optional<double> rate(const std::string& name, double count, double passed);

  std::map<std::pair<std::string, std::string>, uint16_t> indices_;
  std::vector<std::pair<std::string, std::string>> lines_;
  std::map<std::string, double> counts_;  // of the previous state, for rates
  double t_ = -1;
};

class RunPast {
 public:
  static constexpr double kSeconds = 3600;     // older points are dropped
  static constexpr double kFineSeconds = 300;  // age of points that are joined to slots
  static constexpr double kFineWidth = 1;   // seconds between points; a state that arrives earlier joins the last one
  static constexpr double kSlotWidth = 10;  // seconds of a slot
  static constexpr size_t kMessageSlots = 240;

  /// Ignores a point that is not newer than the newest one.
  void add(const PastPoint& point);
  /// {"t": [[begin, end], ...], "lines": {group: {line: [value, ...]}}}: for each of at most 240 slots null, a number,
  /// or two numbers, the extremes in the order of their times.
  nlohmann::json message(const PastReader& reader) const;

 private:
  using Extremes = std::array<float, 2>;  // in the order of their times; NaN: no value
  struct Slot {
    double begin = 0;
    double end = 0;
    std::vector<Extremes> values;  // by the index of their line
  };

  static void join(Slot& into, const Slot& later);

  std::deque<Slot> slots_;  // oldest first; wide slots, then narrow ones
  size_t wide_ = 0;         // number of wide slots
};

}  // namespace actorhost
