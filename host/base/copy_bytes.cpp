#include "host/base/copy_bytes.hpp"

#include <cstring>

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define ACTORHOST_STRING_MOVES
#include <cpuid.h>
#endif

namespace actorhost {

#ifdef ACTORHOST_STRING_MOVES

namespace {

// The C library does the same below, and from here on goes over to plain moves on processors where that is slower.
constexpr size_t kFrom = size_t{256} << 10;

/// "Enhanced rep movsb": string moves that fill whole cache lines without fetching them.
bool moves_strings_fast() noexcept {
  constexpr unsigned kBit = 1U << 9;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kBit) != 0;
}

}  // namespace

void copy_bytes(void* to, const void* from, size_t bytes) noexcept {
  static const bool fast = moves_strings_fast();
  if (bytes < kFrom || !fast) {
    if (bytes != 0) std::memcpy(to, from, bytes);
    return;
  }
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

#else

void copy_bytes(void* to, const void* from, size_t bytes) noexcept {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

#endif

}  // namespace actorhost
