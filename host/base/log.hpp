#pragma once
// The log: lines with time, level and source, written to standard error or to a sink. The log retains its newest lines
// for observers of the run. A process has one Log, which the owner of the run creates and passes down by reference.
// Thread-safe.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/non_copyable.hpp"

namespace actorhost {

enum class LogLevel { trace, debug, info, warn, error, off };

/// "debug" -> LogLevel::debug; false when the name is unknown.
bool parse_log_level(std::string_view name, LogLevel& level) noexcept;
const char* log_level_name(LogLevel level) noexcept;

struct LogLine {
  double time = 0;  // seconds since 1970
  LogLevel level = LogLevel::info;
  std::string source;  // "rank 3", "server 0", "host 1", or empty
  std::string text;    // one line

  /// "rank 3: text"
  std::string words() const { return source.empty() ? text : source + ": " + text; }
};

class Log : private NonCopyable {
 public:
  using Sink = std::function<void(const LogLine&)>;
  /// The number of retained lines, and the retained bytes of each.
  static constexpr size_t kRetainedLines = 200;
  static constexpr size_t kRetainedBytes = 1000;

  /// Writes to standard error.
  explicit Log(LogLevel level = LogLevel::info);
  /// Passes each finished line to `sink` instead (tests, embedding). `sink` is called under a lock.
  Log(LogLevel level, Sink sink);
  ~Log();

  bool enabled(LogLevel level) const noexcept { return level >= level_; }
  LogLevel level() const noexcept { return level_; }
  /// Writes one line. `message` may quote text from another host: unprintable characters are escaped.
  void write(LogLevel level, std::string_view source, std::string_view message);
  void flush();
  /// The newest lines, oldest first.
  std::vector<LogLine> newest() const;

  void debug(std::string_view source, std::string_view message) { write(LogLevel::debug, source, message); }
  void info(std::string_view source, std::string_view message) { write(LogLevel::info, source, message); }
  void warn(std::string_view source, std::string_view message) { write(LogLevel::warn, source, message); }
  void error(std::string_view source, std::string_view message) { write(LogLevel::error, source, message); }

 private:
  struct Impl;
  LogLevel level_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace actorhost
