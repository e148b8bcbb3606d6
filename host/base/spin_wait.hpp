#pragma once
// A spin-then-yield wait for other threads, shorter than a sleep and a wake-up. First the thread spins, which is
// fastest when the other threads have cores of their own. Then it yields, since the awaited thread may need this core.
// The wait adapts: after a successful yield it skips the spinning for a number of waits; after a slow yield, when other
// programs want the core, it skips the yielding; after several waits in vain it skips most waits. It measures real
// time, since it measures scheduler slices. Used by one thread.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "host/base/task_scheduler.hpp"

namespace actorhost {

class SpinWait {
 public:
  /// Whether the next wait should begin with `until`; false when the caller should sleep at once.
  bool helps() {
    if (TaskScheduler::installed() != nullptr) return false;  // no other task runs meanwhile
    if (skips_ == 0) return true;
    --skips_;
    return false;
  }
  /// Returns true as soon as `condition()` does; false when the caller should sleep. `threads`: how many threads may
  /// run at the same time.
  template <typename Condition>
  bool until(const Condition& condition, uint32_t threads) {
    if (condition()) return true;
    if (TaskScheduler::installed() != nullptr) return false;
    const bool held = holds_soon(condition, threads);
    misses_ = held ? 0 : std::min(misses_ + 1, kMostMisses);
    if (misses_ > kFewMisses) skips_ = (uint32_t{1} << (misses_ - kFewMisses)) - 1;
    return held;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kSpinTime{20};
  static constexpr std::chrono::microseconds kYieldTime{100};
  static constexpr std::chrono::microseconds kSlowYield{20};  // a yield that lasts longer ran another program
  static constexpr uint32_t kFewWaits = 100;
  static constexpr uint32_t kManyWaits = 1000;
  static constexpr uint32_t kFewMisses = 3;
  static constexpr uint32_t kMostMisses = 9;

  template <typename Condition>
  bool holds_soon(const Condition& condition, uint32_t threads) {
    const auto begun = Clock::now();
    const bool spins = spin_skips_ == 0 && threads <= cores();
    if (spins && spin(condition, begun)) return true;
    if (yield_skips_ > 0) {
      --yield_skips_;
      return false;
    }
    if (spin_skips_ > 0) --spin_skips_;
    return yield_until(condition, begun, spins);
  }

  template <typename Condition>
  static bool spin(const Condition& condition, Clock::time_point begun) {
    while (Clock::now() - begun < kSpinTime) {
      for (int i = 0; i < 16; ++i) {
        if (condition()) return true;
        relax();
      }
    }
    return false;
  }

  template <typename Condition>
  bool yield_until(const Condition& condition, Clock::time_point begun, bool spun) {
    for (auto now = Clock::now(); now - begun < kYieldTime;) {
      yield();
      if (condition()) {
        if (spun) spin_skips_ = kFewWaits;
        return true;
      }
      const auto before = std::exchange(now, Clock::now());
      if (now - before < kSlowYield) continue;
      yield_skips_ = kManyWaits;
      spin_skips_ = 0;
      break;
    }
    return false;
  }

  /// The number of cores that this process may use.
  static uint32_t cores();
  static void relax() noexcept;
  static void yield() noexcept;

  uint32_t spin_skips_ = 0;   // remaining waits without spinning
  uint32_t yield_skips_ = 0;  // remaining waits without yielding
  uint32_t misses_ = 0;       // consecutive waits in vain, up to kMostMisses
  uint32_t skips_ = 0;        // remaining waits without `until`
};

}  // namespace actorhost
