#include "host/net/bell.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cmath>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace actorhost {

namespace {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);

// Kernel headers before 5.16 lack the next three.
constexpr long kWaitv = 449;  // the system call futex_waitv
constexpr size_t kMostBells = 128;
struct WaitvEntry {
  uint64_t value;
  uint64_t address;
  uint32_t flags;
  uint32_t reserved;
};
constexpr uint32_t kSize32 = 2;  // flag: the word has 32 bits, and may be in shared memory

/// The point of CLOCK_MONOTONIC after `seconds`.
timespec after(double seconds) {
  constexpr long kSecond = 1'000'000'000;
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  const double left = std::clamp(seconds, 0.0, 1e9);
  const double whole = std::floor(left);
  time.tv_sec += static_cast<time_t>(whole);
  time.tv_nsec += static_cast<long>((left - whole) * kSecond);
  if (time.tv_nsec >= kSecond) {
    time.tv_nsec -= kSecond;
    ++time.tv_sec;
  }
  return time;
}

}  // namespace

void Bell::ring_if_armed() noexcept {
  // Orders the caller's store before this load, as `arm` orders its store before the waiter's last check.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (armed_.load(std::memory_order_relaxed) == 0) return;
  const Waiters waiters = armed_.exchange(0);
  if (waiters != 0) ring(waiters);
}

void Bell::ring(Waiters waiters) noexcept {
  count_.fetch_add(1, std::memory_order_release);
  ::syscall(SYS_futex, &count_, FUTEX_WAKE_BITSET, INT_MAX, nullptr, nullptr, waiters);
}

void Bell::wait(uint32_t seen, double seconds) const noexcept {
  const timespec limit = after(seconds);
  ::syscall(SYS_futex, &count_, FUTEX_WAIT_BITSET, seen, &limit, nullptr, kOne);
}

size_t Bell::most_at_once() noexcept {
  static const size_t most = [] {
    const long result = ::syscall(kWaitv, nullptr, 0, 0, nullptr, 0);
    return result < 0 && errno == EINVAL ? kMostBells : 0;
  }();
  return most;
}

void Bell::wait_for_any(std::span<const Seen> bells, double seconds) noexcept {
  std::array<WaitvEntry, kMostBells> entries;
  const size_t count = std::min(bells.size(), entries.size());
  for (size_t i = 0; i < count; ++i) {
    entries[i] = {bells[i].count, reinterpret_cast<uintptr_t>(&bells[i].bell->count_), kSize32, 0};
  }
  const timespec limit = after(seconds);
  ::syscall(kWaitv, entries.data(), count, 0, &limit, CLOCK_MONOTONIC);
}

}  // namespace actorhost
