#pragma once
// A wait for other threads that mostly takes less time than going to sleep and waking up. It looks again and again:
// first it keeps the processor, which is quickest when the others have processors of their own; then it offers the
// processor (yields), since the awaited thread may be next on this very one. It remembers for a while what has worked:
// where offering helped, it begins with that; where offering took long, because other programs want the processor, it
// leaves that out. It measures what turns of a processor take, so in real time. Used by one thread.

#include <chrono>
#include <cstdint>
#include <utility>

namespace actorhost {

class BriefWait {
 public:
  /// True as soon as `there()` says so; false when it is time to sleep. `threads` may want to run at the same time.
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
  static constexpr std::chrono::microseconds kLong{20};  // for another rank's turn
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

  /// That this process may use.
  static uint32_t cores();
  static void relax() noexcept;
  static void offer() noexcept;

  uint32_t keeping_left_out_ = 0;   // waits still to be made without it
  uint32_t offering_left_out_ = 0;  // the same
};

}  // namespace actorhost
