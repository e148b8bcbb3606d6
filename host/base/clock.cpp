#include "host/base/clock.hpp"

#include <chrono>

namespace actorhost {

double SteadyClock::now() const noexcept {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace actorhost
