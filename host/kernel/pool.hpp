#pragma once
// A few threads for large kernels. Owned by the user of kernels (one VM, one server shard); `run` is called from one
// thread at a time, which works along and returns when all tasks are done. Threads start with the first `run` that has
// work for them, so a pool that is never used costs nothing.

#include <algorithm>
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
  explicit ThreadPool(int threads) : threads_(threads) {}
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// As asked for.
  int threads() const noexcept { return threads_; }
  /// Calls task(0) .. task(count - 1), each once, on any of the threads; `task` must not throw. Where the system gives
  /// fewer threads than were asked for, those that there are do all of it.
  void run(int count, const std::function<void(int)>& task);

 private:
  void start();
  void work();
  void take_tasks();

  const int threads_;
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

/// Calls f(first, count) for pieces of n elements, over the threads where there are many: for elementwise work, whose
/// results do not depend on pieces. `pool` may be null.
template <typename F>
void in_pieces(ThreadPool* pool, int64_t n, const F& f) {
  constexpr int64_t kPiece = 1 << 16;
  if (pool == nullptr || pool->threads() == 1 || n < 4 * kPiece) return f(int64_t{0}, n);
  pool->run(static_cast<int>((n + kPiece - 1) / kPiece),
            [&](int i) { f(i * kPiece, std::min(kPiece, n - i * kPiece)); });
}

}  // namespace actorhost::kernel
