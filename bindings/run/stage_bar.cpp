#include "bindings/run/stage_bar.hpp"

#include <algorithm>
#include <cstdio>

#include "bindings/process/console.hpp"

namespace actorhost {

namespace {

constexpr double kQuietSeconds = 0.3;  // a shorter action shows nothing
constexpr int kBarColumns = 28;
constexpr int kLogColumns = 120;  // without a terminal the line is for the log

/// "1.23 M"
std::string with_unit(double value) {
  const char* unit = " ";
  for (const char* next : {" k", " M", " G", " T"}) {
    if (value < 1000) break;
    value /= 1000;
    unit = next;
  }
  char text[32];
  std::snprintf(text, sizeof text, value < 10 ? "%.2f%s" : value < 100 ? "%.1f%s" : "%.0f%s", value, unit);
  return text;
}

}  // namespace

std::optional<std::string> StageBar::line(const std::optional<TrackerProgress>& progress) {
  const auto removed = [this]() -> std::optional<std::string> {
    if (!std::exchange(shown_, false)) return std::nullopt;
    return "";
  };
  if (!progress) {
    stage_ = 0;
    return removed();
  }
  const double now = clock_->now();
  if (progress->action != action_ || progress->stage != stage_ || stage_ == 0) {
    if (progress->action != action_ || stage_ == 0) began_ = now;
    action_ = progress->action;
    stage_ = progress->stage;
  }
  if (now - began_ < kQuietSeconds) return removed();
  shown_ = true;
  const double seconds = now - began_;
  const double share = progress->tasks > 0 ? static_cast<double>(progress->done) / progress->tasks : 1;
  const int full = static_cast<int>(share * kBarColumns);
  char head[96];
  std::snprintf(head, sizeof head, "stage %u/%u [%s%s] %u/%u tasks  ", progress->stage_index + 1, progress->stages,
                std::string(static_cast<size_t>(full), '#').c_str(),
                std::string(static_cast<size_t>(kBarColumns - full), '.').c_str(), progress->done, progress->tasks);
  std::string line = head + with_unit(static_cast<double>(progress->rows) / seconds) + "rows/s  " +
                     with_unit(static_cast<double>(progress->bytes) / seconds) + "B/s  " + progress->name;
  const int drawn = Console::status_columns();
  const auto columns = static_cast<size_t>(drawn == 0 ? kLogColumns : std::max(20, drawn));
  if (line.size() > columns) line.resize(columns);
  return line;
}

}  // namespace actorhost
