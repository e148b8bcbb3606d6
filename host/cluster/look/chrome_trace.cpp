#include "host/cluster/look/chrome_trace.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "host/base/outside_json.hpp"

namespace actorhost {

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr double kFlushSeconds = 0.5;
constexpr size_t kFlushBytes = size_t{64} << 10;

/// Microseconds with three decimals.
double to_microseconds(double seconds) { return std::round(seconds * 1e9) / 1e3; }

}  // namespace

Result<std::unique_ptr<ChromeTrace>> ChromeTrace::open(const std::string& path, Log& log, double now) {
  AH_LET(auto file, RecordFile::open(path, log));
  return std::unique_ptr<ChromeTrace>(new ChromeTrace(std::move(file), log, now));
}

ChromeTrace::ChromeTrace(RecordFile file, Log& log, double now)
    : file_(std::move(file)), log_(log), begun_(now), flushed_(now), waiting_("[") {}

ChromeTrace::~ChromeTrace() {
  waiting_ += "\n]\n";
  file_.write(waiting_);
}

void ChromeTrace::put(const std::string& event) {
  waiting_ += named_.empty() ? "\n" : ",\n";
  waiting_ += event;
}

void ChromeTrace::flush(double now) {
  if (now < flushed_ + kFlushSeconds && waiting_.size() < kFlushBytes) return;
  file_.write(waiting_);
  waiting_.clear();
  flushed_ = now;
}

void ChromeTrace::add(ProcessId process, const std::string& host, Address node, const std::string& name,
                      const std::vector<TimeSpan>& spans, double sent, double now) {
  if (!file_.open() || !std::isfinite(sent) || spans_ >= kMostSpans) return;
  // The message with the shortest delay gives the smallest difference.
  const auto [shift, first] = shifts_.try_emplace(process, now - sent);
  shift->second = process == 0 ? 0 : std::min(shift->second, now - sent);
  if (first) {
    put(json_text(OrderedJson{{"name", "process_name"}, {"ph", "M"}, {"pid", process}, {"args", {{"name", host}}}}));
    named_.insert(kNoAddress);  // so that later entries start with a comma
  }
  if (named_.insert(node).second) {
    put(json_text(OrderedJson{
        {"name", "thread_name"}, {"ph", "M"}, {"pid", process}, {"tid", node}, {"args", {{"name", name}}}}));
  }
  for (const TimeSpan& span : spans) {
    if (!std::isfinite(span.begin) || !std::isfinite(span.end) || span.end < span.begin) continue;
    if (++spans_ == kMostSpans) log_.warn("record", "the trace is full: it leaves out all later spans");
    if (spans_ >= kMostSpans) return;
    put(json_text(OrderedJson{{"name", span.name},
                              {"cat", span.category},
                              {"ph", "X"},
                              {"ts", to_microseconds(span.begin + shift->second - begun_)},
                              {"dur", to_microseconds(span.end - span.begin)},
                              {"pid", process},
                              {"tid", node},
                              {"args", {{"number", span.number}}}}));
  }
  flush(now);
}

}  // namespace actorhost
