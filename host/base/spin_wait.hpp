#pragma once
// A spin-then-yield wait for other threads, shorter than a sleep and a wake-up. First the thread spins, which is
// fastest when the other threads have cores of their own. Then it yields, since the awaited thread may need this core.
// The wait adapts: after a yield that ran another thread and helped it skips the spinning for a number of waits; after
// a slow yield, when other programs want the core, it skips the yielding; after several waits in vain it skips most
// waits. It measures real time, since it measures scheduler slices. Used by one thread.

#include <chrono>
#include <cstdint>

#include "host/base/task_scheduler.hpp"

namespace actorhost {

class SpinWait {
 public:
  /// Returns true as soon as `condition()` does; false when the caller should sleep. `threads`: how many threads of
  /// this process may run at the same time.
  template <typename Condition>
  bool until(const Condition& condition, uint32_t threads) {
    if (condition()) return true;
    if (TaskScheduler::installed() != nullptr) return false;  // no other task runs meanwhile
    if (!starts()) return false;
    const auto begun = Clock::now();
    const bool held = spin(condition, begun + spin_time(threads)) || (yields() && yield_until(condition, begun));
    end(held);
    return held;
  }

 private:
  using Clock = std::chrono::steady_clock;

  template <typename Condition>
  static bool spin(const Condition& condition, Clock::time_point until) {
    while (Clock::now() < until) {
      for (int i = 0; i < 16; ++i) {
        if (condition()) return true;
        relax();
      }
    }
    return false;
  }

  template <typename Condition>
  bool yield_until(const Condition& condition, Clock::time_point begun) {
    auto now = Clock::now();
    for (int count = 0; yields_on(count, now - begun); ++count) {
      yield();
      const auto before = now;
      now = Clock::now();
      const bool held = condition();
      if (yielded(now - before, held)) return held;
    }
    return false;
  }

  bool starts();
  void end(bool held);
  Clock::duration spin_time(uint32_t threads) const;
  bool yields();
  static bool yields_on(int count, Clock::duration passed);
  /// A yield has lasted for `time`. True if the wait should end.
  bool yielded(Clock::duration time, bool held);
  static void relax() noexcept;
  static void yield() noexcept;

  uint32_t spin_skips_ = 0;   // remaining waits without spinning
  uint32_t yield_skips_ = 0;  // remaining waits without yielding
  uint32_t misses_ = 0;       // consecutive waits in vain
  uint32_t skips_ = 0;        // remaining waits that do not start
};

}  // namespace actorhost
