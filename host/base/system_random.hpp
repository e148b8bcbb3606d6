#pragma once
// Random bits of the system, not of a run's seed: for names and keys that must not repeat.

#include <cstdint>
#include <random>

#include <sys/random.h>

namespace actorhost {

/// The system call, which a rehearsal answers; std::random_device if the system lacks it.
inline uint64_t system_random() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) == sizeof number) return number;
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

}  // namespace actorhost
