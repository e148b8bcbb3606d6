#pragma once
// A lock for tables that are read for each frame and changed rarely: std::shared_lock and std::unique_lock take it.
// Writers go first; with std::shared_mutex steady traffic could keep a detach or a close waiting for ever. Reading
// costs two atomic additions. A reader must not take the lock again.

#include <atomic>
#include <cstdint>
#include <mutex>

namespace actorhost {

class RwLock {
 public:
  RwLock() = default;
  RwLock(const RwLock&) = delete;
  RwLock& operator=(const RwLock&) = delete;

  void lock_shared() noexcept {
    while ((state_.fetch_add(1, std::memory_order_acquire) & kWriter) != 0) {
      unlock_shared();
      for (uint32_t seen = state_.load(); (seen & kWriter) != 0; seen = state_.load()) state_.wait(seen);
    }
  }
  void unlock_shared() noexcept {
    if (state_.fetch_sub(1, std::memory_order_release) == (kWriter | 1)) state_.notify_all();
  }
  void lock() {
    writers_.lock();
    state_.fetch_or(kWriter);
    for (uint32_t seen = state_.load(); seen != kWriter; seen = state_.load()) state_.wait(seen);
  }
  void unlock() noexcept {
    state_.fetch_and(~kWriter);
    state_.notify_all();
    writers_.unlock();
  }

 private:
  static constexpr uint32_t kWriter = 0x80000000U;

  std::atomic<uint32_t> state_{0};  // readers, and whether a writer has or wants it
  std::mutex writers_;
};

}  // namespace actorhost
