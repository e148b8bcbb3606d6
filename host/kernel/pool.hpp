#pragma once
// A small thread pool for large kernels, owned by the user of kernels (one VM, one server shard). `run` is called from
// one thread at a time, which takes part in the work and returns when all tasks are complete. Threads start with the
// first `run` that needs them, so an unused pool costs nothing.

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

#include "host/base/non_copyable.hpp"
#include "host/base/tasks.hpp"

namespace actorhost::kernel {

class ThreadPool : private NonCopyable {
 public:
  /// `threads` includes the calling thread: 1 starts no threads.
  explicit ThreadPool(int threads) : threads_(threads) {}
  ~ThreadPool();

  /// The number given to the constructor.
  int threads() const noexcept { return threads_; }
  /// Calls task(0) .. task(count - 1), each once, on any of the threads; `task` must not throw. If the system provides
  /// fewer threads, these do all of the work.
  void run(int count, const std::function<void(int)>& task);

 private:
  void start();
  void work();
  void take_tasks();

  const int threads_;
  std::mutex mutex_;
  WaitPoint wake_;
  WaitPoint done_;
  const std::function<void(int)>* task_ = nullptr;
  int count_ = 0;
  uint64_t round_ = 0;
  int busy_ = 0;
  bool stopping_ = false;
  std::atomic<int> next_{0};
  std::vector<Task> workers_;
};

/// Calls f(first, count) for pieces of n elements, over the pool's threads if n is large. For elementwise work, whose
/// results do not depend on the pieces. `pool` may be null.
template <typename F>
void in_pieces(ThreadPool* pool, int64_t n, const F& f) {
  constexpr int64_t kPiece = 1 << 16;
  if (pool == nullptr || pool->threads() == 1 || n < 4 * kPiece) return f(int64_t{0}, n);
  pool->run(static_cast<int>((n + kPiece - 1) / kPiece),
            [&](int i) { f(i * kPiece, std::min(kPiece, n - i * kPiece)); });
}

}  // namespace actorhost::kernel
