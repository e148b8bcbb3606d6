#pragma once
// The newest spans of a node. They are retained while an observer polls, and forwarded to the recorder of a recorded
// run. The node's thread puts spans; any thread polls.

#include <atomic>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/span_sink.hpp"

namespace actorhost {

class SpanRing final : public SpanSink {
 public:
  static constexpr size_t kMaxSpans = 2000;
  static constexpr double kRetainedSeconds = 1.5;  // retention of a span after its end
  static constexpr double kPatience = 3;           // seconds after a poll until retention stops

  struct Snapshot {
    uint64_t first = 0;  // the number of the first span here; spans are numbered in order of arrival
    std::vector<TimeSpan> spans;
  };

  explicit SpanRing(const Clock& clock) : clock_(clock) {}

  /// Forwards all spans to `recorder`, which outlives the node's thread. Call before that thread starts.
  void record(SpanSink& recorder) noexcept { recorder_ = &recorder; }
  /// Whether any recorder or observer uses the spans.
  bool wanted() const noexcept { return recorder_ != nullptr || watched_.load(std::memory_order_relaxed); }

  double now() const override { return clock_.now(); }
  /// Ignores a span without a known beginning (kUnknownBegin).
  void put(TimeSpan span) override {
    if (span.begin < 0) return;
    if (watched_.load(std::memory_order_relaxed)) keep(span);
    if (recorder_ != nullptr) recorder_->put(std::move(span));
  }

  /// The retained spans. Retention starts with the first poll and lasts as long as polls continue.
  Snapshot poll() {
    std::lock_guard lock(mutex_);
    if (!watched_.exchange(true, std::memory_order_relaxed)) spans_.clear();
    until_ = clock_.now() + kPatience;
    return {put_ - spans_.size(), {spans_.begin(), spans_.end()}};
  }

 private:
  void keep(const TimeSpan& span) {
    std::lock_guard lock(mutex_);
    ++put_;
    spans_.push_back(span);
    while (spans_.size() > kMaxSpans || spans_.front().end + kRetainedSeconds < span.end) spans_.pop_front();
    if (span.end < until_) return;
    watched_.store(false, std::memory_order_relaxed);
    spans_.clear();
  }

  const Clock& clock_;
  SpanSink* recorder_ = nullptr;
  std::atomic<bool> watched_{false};
  std::mutex mutex_;  // guards the members below
  std::deque<TimeSpan> spans_;
  uint64_t put_ = 0;
  double until_ = 0;
};

}  // namespace actorhost
