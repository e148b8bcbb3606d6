#include "host/engine/collective/brief_wait.hpp"

#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

namespace actorhost {

namespace {

uint32_t count_cores() {
#ifdef __linux__
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return static_cast<uint32_t>(CPU_COUNT(&allowed));
#endif
  return std::thread::hardware_concurrency();
}

}  // namespace

/// The number of cores. The system is asked only once.
uint32_t BriefWait::cores() {
  static const uint32_t count = count_cores();
  return count;
}

void BriefWait::relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void BriefWait::offer() noexcept { std::this_thread::yield(); }

}  // namespace actorhost
