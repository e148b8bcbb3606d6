#pragma once
// A thread that runs blocking work for its owner, one piece after the other, in order. The first piece starts the
// thread. The owner alone uses it.

#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "host/base/non_copyable.hpp"
#include "host/base/tasks.hpp"

namespace actorhost {

class AsideThread : private NonCopyable {
 public:
  AsideThread() = default;
  /// Waits for the current piece and drops the pending ones.
  ~AsideThread() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  void run(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(work));
      if (!thread_.joinable()) thread_ = Task([this] { serve(); });
    }
    changed_.notify_one();
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopped_ || !waiting_.empty(); });
      if (stopped_) return;
      const std::function<void()> work = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      work();
      lock.lock();
    }
  }

  std::mutex mutex_;
  WaitPoint changed_;
  std::deque<std::function<void()>> waiting_;
  bool stopped_ = false;
  Task thread_;
};

}  // namespace actorhost
