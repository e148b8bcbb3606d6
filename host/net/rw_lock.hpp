#pragma once
// A lock for tables that each frame reads and few events change, for std::shared_lock and std::unique_lock. Writers
// have priority; with std::shared_mutex steady traffic could block a detach or close forever. A read costs two atomic
// additions. A reader must not lock again.

#include <atomic>
#include <cstdint>
#include <mutex>

#include "host/base/non_copyable.hpp"
#include "host/base/tasks.hpp"

namespace actorhost {

class RwLock : private NonCopyable {
 public:
  void lock_shared() noexcept {
    while ((state_.fetch_add(1, std::memory_order_acquire) & kWriter) != 0) {
      unlock_shared();
      for (uint32_t seen = state_.load(); (seen & kWriter) != 0; seen = state_.load()) wait_for_change(state_, seen);
    }
  }
  void unlock_shared() noexcept {
    if (state_.fetch_sub(1, std::memory_order_release) == (kWriter | 1)) notify_change(state_);
  }
  void lock() {
    writers_.lock();
    state_.fetch_or(kWriter);
    for (uint32_t seen = state_.load(); seen != kWriter; seen = state_.load()) wait_for_change(state_, seen);
  }
  void unlock() noexcept {
    state_.fetch_and(~kWriter);
    notify_change(state_);
    writers_.unlock();
  }

 private:
  static constexpr uint32_t kWriter = 0x80000000U;

  std::atomic<uint32_t> state_{0};  // number of readers, and whether a writer holds or wants the lock
  std::mutex writers_;
};

}  // namespace actorhost
