#pragma once
// A number that one thread changes and any thread reads: relaxed loads and stores, no locks.

#include <atomic>

namespace actorhost {

template <typename T>
class Tally {
 public:
  void add(T more) noexcept { set(get() + more); }
  void set(T value) noexcept { value_.store(value, std::memory_order_relaxed); }
  T get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<T> value_{};
};

}  // namespace actorhost
