#include "host/base/log.hpp"

#include <array>
#include <deque>
#include <mutex>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "host/base/clock.hpp"
#include "host/base/names.hpp"
#include "host/base/printable.hpp"

namespace actorhost {

namespace {

constexpr std::array<const char*, 6> kLevelNames = {"trace", "debug", "info", "warn", "error", "off"};

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::trace: return spdlog::level::trace;
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warn: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
    case LogLevel::off: return spdlog::level::off;
  }
  return spdlog::level::info;
}

}  // namespace

bool parse_log_level(std::string_view name, LogLevel& level) noexcept { return find_name(kLevelNames, name, level); }

const char* log_level_name(LogLevel level) noexcept { return kLevelNames[static_cast<size_t>(level)]; }

struct Log::Impl {
  std::unique_ptr<spdlog::logger> logger;
  Sink sink;
  std::mutex mutex;           // held while the sink runs
  std::mutex retained_mutex;  // guards `retained`
  std::deque<LogLine> retained;
};

Log::Log(LogLevel level) : level_(level), impl_(std::make_unique<Impl>()) {
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  sink->set_pattern("[%H:%M:%S.%e %l] %v");
  impl_->logger = std::make_unique<spdlog::logger>("actorhost", std::move(sink));
  impl_->logger->set_level(to_spdlog(level));
  impl_->logger->flush_on(spdlog::level::debug);
}

Log::Log(LogLevel level, Sink sink) : level_(level), impl_(std::make_unique<Impl>()) { impl_->sink = std::move(sink); }

Log::~Log() = default;

void Log::write(LogLevel level, std::string_view source, std::string_view message) {
  if (!enabled(level) || level == LogLevel::off) return;
  LogLine line{wall_seconds(), level, printable(source), printable(message)};
  if (impl_->sink) {
    std::lock_guard lock(impl_->mutex);
    impl_->sink(line);
  } else {
    const std::string words = line.words();
    impl_->logger->log(to_spdlog(level), spdlog::string_view_t(words.data(), words.size()));
  }
  if (line.text.size() > kRetainedBytes) line.text = printable(line.text.substr(0, kRetainedBytes)) + "...";
  std::lock_guard lock(impl_->retained_mutex);
  impl_->retained.push_back(std::move(line));
  if (impl_->retained.size() > kRetainedLines) impl_->retained.pop_front();
}

std::vector<LogLine> Log::newest() const {
  std::lock_guard lock(impl_->retained_mutex);
  return {impl_->retained.begin(), impl_->retained.end()};
}

void Log::flush() {
  if (impl_->logger) impl_->logger->flush();
}

}  // namespace actorhost
