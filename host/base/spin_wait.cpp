#include "host/base/spin_wait.hpp"

#include <algorithm>
#include <thread>

#include "host/base/allowance.hpp"

namespace actorhost {

namespace {

using std::chrono::microseconds;

constexpr microseconds kSpinTime{20};
constexpr microseconds kYieldTime{100};
constexpr int kLeastYields = 8;          // each may run the threads that the awaited thread waits for
constexpr microseconds kFastYield{10};   // a longer yield has run another thread, perhaps the awaited thread
constexpr microseconds kSlowYield{200};  // a longer yield has run another program
constexpr uint32_t kFewWaits = 20;
constexpr uint32_t kManyWaits = 200;
constexpr uint32_t kFewMisses = 3;
constexpr uint32_t kMostMisses = 7;

/// The number of cores. Asks the system only once.
uint32_t cores() {
  static const uint32_t count = own_allowance().cores;
  return count;
}

}  // namespace

bool SpinWait::starts() {
  if (skips_ == 0) return true;
  --skips_;
  return false;
}

void SpinWait::end(bool held) {
  misses_ = held ? 0 : std::min(misses_ + 1, kMostMisses);
  if (misses_ > kFewMisses) skips_ = (uint32_t{1} << (misses_ - kFewMisses)) - 1;
}

SpinWait::Clock::duration SpinWait::spin_time(uint32_t threads) const {
  if (spin_skips_ > 0 || threads > cores()) return {};
  // Two threads that both sleep and wake each other need one long wait to stop sleeping.
  return misses_ > 0 && yield_skips_ > 0 ? kYieldTime : kSpinTime;
}

bool SpinWait::yields() {
  if (yield_skips_ > 0) {
    --yield_skips_;
    return false;
  }
  if (spin_skips_ > 0) --spin_skips_;
  return true;
}

bool SpinWait::yields_on(int count, Clock::duration passed) { return count < kLeastYields || passed < kYieldTime; }

bool SpinWait::yielded(Clock::duration time, bool held) {
  if (held) {
    if (time > kFastYield) spin_skips_ = kFewWaits;
    return true;
  }
  if (time < kSlowYield) return false;
  yield_skips_ = kManyWaits;
  spin_skips_ = 0;
  return true;
}

void SpinWait::relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void SpinWait::yield() noexcept { std::this_thread::yield(); }

}  // namespace actorhost
