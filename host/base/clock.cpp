#include "host/base/clock.hpp"

#include <chrono>
#include <ctime>

namespace actorhost {

double SteadyClock::now() const noexcept {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double SteadyClock::coarse() noexcept {
  timespec time{};
  (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace actorhost
