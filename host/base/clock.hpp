#pragma once
// The source of time, in seconds as a double: the steady clock in a run, a manual clock in tests and in the simulator.
// A class gets its clock through the constructor. A deadline is a time of the same clock; kForever never arrives.
// Thread-safe; no call blocks.

#include <atomic>
#include <ctime>
#include <limits>

#include "host/base/non_copyable.hpp"
#include "host/base/task_scheduler.hpp"

namespace actorhost {

inline constexpr double kForever = std::numeric_limits<double>::infinity();

class Clock : public Interface {
 public:
  /// Seconds since a fixed point; never decreases. Thread-safe.
  virtual double now() const noexcept = 0;
};

/// CLOCK_MONOTONIC; in a rehearsal its virtual time.
class SteadyClock final : public Clock {
 public:
  double now() const noexcept override { return read(CLOCK_MONOTONIC); }
  /// A time of at most kCoarse seconds ago. The call takes a few nanoseconds.
  static double coarse() noexcept { return read(CLOCK_MONOTONIC_COARSE); }
  static constexpr double kCoarse = 0.02;

 private:
  static double read(clockid_t clock) noexcept {
    if (TaskScheduler* const scheduler = TaskScheduler::installed()) return scheduler->now();
    timespec time{};
    (void)clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
};

/// Seconds since 1970; in a rehearsal virtual time. For texts that people read.
inline double wall_seconds() noexcept {
  if (TaskScheduler* const scheduler = TaskScheduler::installed()) return scheduler->wall_seconds();
  timespec time{};
  (void)clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Advances only by `set` and `advance`. Thread-safe.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(double start = 0) : now_(start) {}
  double now() const noexcept override { return now_.load(std::memory_order_relaxed); }
  void set(double seconds) noexcept { now_.store(seconds, std::memory_order_relaxed); }
  void advance(double seconds) noexcept { set(now() + seconds); }

 private:
  std::atomic<double> now_;
};

}  // namespace actorhost
