#pragma once
// Formats a process's lines on standard error by --log-format: log lines, and the reason of a run's end. Thread-safe.

#include <mutex>
#include <string>
#include <string_view>

#include "host/base/log.hpp"

namespace actorhost {

class LogLines {
 public:
  /// `host` is the cluster's name of this process: "alpha:4711".
  /// `tag` precedes the words of each line of text.
  LogLines(bool json, std::string host, std::string tag) : json_(json), host_(std::move(host)), tag_(std::move(tag)) {}

  /// Sets the job's name; an agent receives it from the coordinator.
  void set_job(const std::string& job);
  /// "[12:30:01.250 warn] rank 3: text" in local time; or an object {"t", "level", "job", "host", "rank", "who",
  /// "text"} in universal time, with "rank" only for lines of a rank.
  std::string line(const LogLine& line) const;
  /// "actorhost: text"; or an object as above, with the rank at the beginning of `text`.
  std::string final_message(const std::string& text) const;

 private:
  std::string object(const LogLine& line, std::string_view speaker) const;

  const bool json_;
  const std::string host_;
  const std::string tag_;
  mutable std::mutex mutex_;
  std::string job_;
};

}  // namespace actorhost
