#pragma once
// What a process writes to standard error, in the form of --log-format: lines of the log, and what ends a run. Any
// thread.

#include <mutex>
#include <string>
#include <string_view>

#include "host/base/log.hpp"

namespace actorhost {

class LogLines {
 public:
  /// `host` is this process as the cluster names it: "alpha:4711".
  LogLines(bool json, std::string host) : json_(json), host_(std::move(host)) {}

  /// The job's name, once it is known; an agent learns it from the rendezvous host.
  void set_job(const std::string& job);
  /// "[12:30:01.250 warn] rank 3: text", in local time; or an object {"t", "level", "job", "host", "rank", "who",
  /// "text"}, in universal time, with "rank" where a rank speaks.
  std::string line(const LogLine& line) const;
  /// "actorhost: text"; or an object as above, whose rank is the one that `text` begins with.
  std::string last_words(const std::string& text) const;

 private:
  std::string object(const LogLine& line, std::string_view speaker) const;

  const bool json_;
  const std::string host_;
  mutable std::mutex mutex_;
  std::string job_;
};

}  // namespace actorhost
