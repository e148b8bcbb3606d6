#pragma once
// A spin-then-yield wait for other threads, shorter than a sleep and a wake-up. First the thread spins, which is
// fastest when the other threads have cores of their own. Then it yields, since the awaited thread may need this core.
// The wait adapts: after a successful yield it skips the spinning for a number of waits; after a slow yield, when other
// programs want the core, it skips the yielding. It measures real time, since it measures scheduler slices. Used by one
// thread.

#include <chrono>
#include <cstdint>
#include <utility>

namespace actorhost {

class BriefWait {
 public:
  /// Returns true as soon as `there()` does; false when the caller should sleep. `threads`: how many threads may run at
  /// the same time.
  template <typename There>
  bool until(const There& there, uint32_t threads) {
    if (there()) return true;
    const auto begun = Clock::now();
    const bool keeps = keeping_left_out_ == 0 && threads <= cores();
    if (keeps && keeping(there, begun)) return true;
    if (offering_left_out_ > 0) {
      --offering_left_out_;
      return false;
    }
    if (keeping_left_out_ > 0) --keeping_left_out_;
    return offering(there, begun, keeps);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kKeeping{10};
  static constexpr std::chrono::microseconds kBrief{30};
  static constexpr std::chrono::microseconds kLong{20};  // a yield that lasts longer ran another program
  static constexpr uint32_t kFewWaits = 100;
  static constexpr uint32_t kManyWaits = 1000;

  template <typename There>
  static bool keeping(const There& there, Clock::time_point begun) {
    while (Clock::now() - begun < kKeeping) {
      for (int i = 0; i < 16; ++i) {
        if (there()) return true;
        relax();
      }
    }
    return false;
  }

  template <typename There>
  bool offering(const There& there, Clock::time_point begun, bool kept) {
    for (auto now = Clock::now(); now - begun < kBrief;) {
      offer();
      if (there()) {
        if (kept) keeping_left_out_ = kFewWaits;
        return true;
      }
      const auto before = std::exchange(now, Clock::now());
      if (now - before < kLong) continue;
      offering_left_out_ = kManyWaits;
      keeping_left_out_ = 0;
      break;
    }
    return false;
  }

  /// The number of cores that this process may use.
  static uint32_t cores();
  static void relax() noexcept;
  static void offer() noexcept;

  uint32_t keeping_left_out_ = 0;   // remaining waits without spinning
  uint32_t offering_left_out_ = 0;  // remaining waits without yielding
};

}  // namespace actorhost
