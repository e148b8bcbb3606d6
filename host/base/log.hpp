#pragma once
// The log: lines to standard error with level, time since start, host and, where it applies, the rank of the node.
// One Log per process, made by whoever starts the run and handed down by reference; any thread may write to it.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace actorhost {

enum class LogLevel { trace, debug, info, warn, error, off };

/// "debug" -> LogLevel::debug; false when the name is unknown.
bool parse_log_level(std::string_view name, LogLevel& level) noexcept;
const char* log_level_name(LogLevel level) noexcept;

class Log {
 public:
  using Sink = std::function<void(LogLevel, std::string_view line)>;

  /// Writes to standard error.
  explicit Log(LogLevel level = LogLevel::info);
  /// Hands each finished line to `sink` instead (tests, embedding). `sink` is called under a lock.
  Log(LogLevel level, Sink sink);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  bool enabled(LogLevel level) const noexcept { return level >= level_; }
  LogLevel level() const noexcept { return level_; }
  /// `who` is what speaks: "rank 3", "server 0", "host 1", or empty. One line, whatever `message` holds: it may quote
  /// what another host has sent.
  void write(LogLevel level, std::string_view who, std::string_view message);
  void flush();

  void debug(std::string_view who, std::string_view message) { write(LogLevel::debug, who, message); }
  void info(std::string_view who, std::string_view message) { write(LogLevel::info, who, message); }
  void warn(std::string_view who, std::string_view message) { write(LogLevel::warn, who, message); }
  void error(std::string_view who, std::string_view message) { write(LogLevel::error, who, message); }

 private:
  struct Impl;
  LogLevel level_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace actorhost
