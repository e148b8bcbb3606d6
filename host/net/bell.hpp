#pragma once
// Wakes threads of this process or of another process. A waiting thread arms the bell, so that a bell without waiting
// threads costs no system call. May be in shared memory: no value of the other process does harm.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace actorhost {

class Bell {
 public:
  /// Threads that a bell wakes, as a set.
  using Waiters = uint32_t;
  static constexpr Waiters kOne = 1;  // threads in `wait`
  static constexpr Waiters kAny = 2;  // threads in `wait_for_any`
  static constexpr Waiters kAll = 0xffffffff;

  /// Wakes the threads for which the bell is armed, and disarms it. The caller has stored what they wait for.
  void ring_if_armed() noexcept;
  /// Wakes the waiting threads.
  void ring(Waiters waiters = kAll) noexcept;
  /// The number of rings, to be read before the last check of the awaited condition.
  uint32_t count() const noexcept { return count_.load(std::memory_order_acquire); }
  /// To be called before the last check of the awaited condition.
  void arm(Waiters waiters) noexcept { armed_.fetch_or(waiters, std::memory_order_seq_cst); }
  void disarm(Waiters waiters) noexcept { armed_.fetch_and(~waiters, std::memory_order_seq_cst); }
  /// Blocks up to `seconds` while the number of rings is `seen`. May end early.
  void wait(uint32_t seen, double seconds) const noexcept;

  struct Seen {
    const Bell* bell;
    uint32_t count;
  };
  /// The most bells of one wait; 0 if the system cannot wait for several (Linux before 5.16).
  static size_t most_at_once() noexcept;
  /// Like `wait`, for the first of several bells.
  static void wait_for_any(std::span<const Seen> bells, double seconds) noexcept;

 private:
  std::atomic<uint32_t> count_{0};
  std::atomic<Waiters> armed_{0};
};

}  // namespace actorhost
