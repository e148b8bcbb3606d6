#pragma once
// A number with one writing thread and any number of reading threads: relaxed loads and stores, no locks.

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
