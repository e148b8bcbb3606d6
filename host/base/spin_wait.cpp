#include "host/base/spin_wait.hpp"

#include <thread>

#include "host/base/allowance.hpp"

namespace actorhost {

/// The number of cores. Asks the system only once.
uint32_t SpinWait::cores() {
  static const uint32_t count = own_allowance().cores;
  return count;
}

void SpinWait::relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void SpinWait::yield() noexcept { std::this_thread::yield(); }

}  // namespace actorhost
