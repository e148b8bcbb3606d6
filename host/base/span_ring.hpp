#pragma once
// The newest of what a node has done, kept while somebody looks, and passed on where the run is recorded. The node's
// thread puts; any thread looks.

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
  static constexpr size_t kMost = 2000;
  static constexpr double kKeptSeconds = 1.5;  // of a span, after its end
  static constexpr double kPatience = 3;       // seconds after a look until nothing is kept any more

  struct Look {
    uint64_t first = 0;  // the number of the first span here; they are numbered as they come
    std::vector<TimeSpan> spans;
  };

  explicit SpanRing(const Clock& clock) : clock_(clock) {}

  /// Passes all spans on to `recorder`, which outlives the node's thread. Before that begins.
  void record(SpanSink& recorder) noexcept { recorder_ = &recorder; }
  /// Whether there is any use in putting.
  bool wanted() const noexcept { return recorder_ != nullptr || watched_.load(std::memory_order_relaxed); }

  double now() const override { return clock_.now(); }
  /// A span without a beginning (kUnseen) is left out.
  void put(TimeSpan span) override {
    if (span.begin < 0) return;
    if (watched_.load(std::memory_order_relaxed)) keep(span);
    if (recorder_ != nullptr) recorder_->put(std::move(span));
  }

  /// What is there. Spans are kept from the first look on, as long as there are looks.
  Look look() {
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
    while (spans_.size() > kMost || spans_.front().end + kKeptSeconds < span.end) spans_.pop_front();
    if (span.end < until_) return;
    watched_.store(false, std::memory_order_relaxed);
    spans_.clear();
  }

  const Clock& clock_;
  SpanSink* recorder_ = nullptr;
  std::atomic<bool> watched_{false};
  std::mutex mutex_;  // of what follows
  std::deque<TimeSpan> spans_;
  uint64_t put_ = 0;
  double until_ = 0;
};

}  // namespace actorhost
