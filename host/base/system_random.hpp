#pragma once
// Random bits of the system, not of a run's seed: for names and keys that must not repeat.

#include <cstdint>

#include <sys/random.h>

namespace actorhost {

/// Blocks only before the system has gathered its first entropy.
inline uint64_t system_random() noexcept {
  uint64_t number = 0;
  while (getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  return number;
}

}  // namespace actorhost
