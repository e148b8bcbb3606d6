#pragma once
// A few threads for large kernels. Owned by whoever runs kernels (one VM, one server shard); `run` is called from one
// thread at a time, which works along and returns when all tasks are done.

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace actorhost::kernel {

class ThreadPool {
 public:
  /// `threads` counts the calling one: 1 starts nothing.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const noexcept { return static_cast<int>(workers_.size()) + 1; }
  /// Calls task(0) .. task(count - 1), each once, on any of the threads; `task` must not throw.
  void run(int count, const std::function<void(int)>& task);

 private:
  void work();
  void take_tasks();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  const std::function<void(int)>* task_ = nullptr;
  int count_ = 0;
  uint64_t round_ = 0;
  int busy_ = 0;
  bool stopping_ = false;
  std::atomic<int> next_{0};
  std::vector<std::thread> workers_;
};

}  // namespace actorhost::kernel
