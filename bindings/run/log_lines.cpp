#include "bindings/run/log_lines.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>

#include <nlohmann/json.hpp>

#include "host/base/clock.hpp"
#include "host/base/outside_json.hpp"

namespace actorhost {

void LogLines::set_job(const std::string& job) {
  std::lock_guard lock(mutex_);
  job_ = job;
}

std::string LogLines::line(const LogLine& line) const {
  if (json_) return object(line, line.source);
  const auto second = static_cast<time_t>(line.time);
  tm local{};
  localtime_r(&second, &local);
  char stamp[64];
  std::snprintf(stamp, sizeof stamp, "[%02d:%02d:%02d.%03d %s] ", local.tm_hour, local.tm_min, local.tm_sec,
                static_cast<int>((line.time - std::floor(line.time)) * 1000), log_level_name(line.level));
  return stamp + tag_ + line.words();
}

std::string LogLines::final_message(const std::string& text) const {
  if (!json_) return "actorhost: " + tag_ + text;
  return object({wall_seconds(), LogLevel::error, "", text}, text);
}

std::string LogLines::object(const LogLine& line, std::string_view speaker) const {
  constexpr std::string_view kRank = "rank ";
  const auto second = static_cast<time_t>(line.time);
  tm utc{};
  gmtime_r(&second, &utc);
  char stamp[64];
  const size_t length = std::strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(stamp + length, sizeof stamp - length, ".%03dZ",
                static_cast<int>((line.time - std::floor(line.time)) * 1000));
  nlohmann::ordered_json out{{"t", stamp}, {"level", log_level_name(line.level)}};
  {
    std::lock_guard lock(mutex_);
    out["job"] = job_;
  }
  out["host"] = host_;
  uint32_t rank = 0;
  if (speaker.starts_with(kRank)) {
    const char* const end = speaker.data() + speaker.size();
    if (std::from_chars(speaker.data() + kRank.size(), end, rank).ec == std::errc{}) out["rank"] = rank;
  }
  out["who"] = line.source;
  out["text"] = line.text;
  return json_text(out);
}

}  // namespace actorhost
