#include "host/kernel/pool.hpp"

#include <system_error>

namespace actorhost::kernel {

void ThreadPool::start() {
  try {
    while (static_cast<int>(workers_.size()) + 1 < threads_) {
      workers_.emplace_back([this] { work(); });
      workers_.back().set_name("kernel");  // shown by `top -H`
    }
  } catch (const std::system_error&) {  // continue with fewer threads
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (Task& worker : workers_) worker.join();
}

void ThreadPool::run(int count, const std::function<void(int)>& task) {
  if (workers_.empty() && count > 1) start();
  if (workers_.empty() || count <= 1) {
    for (int i = 0; i < count; ++i) task(i);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    task_ = &task;
    count_ = count;
    next_.store(0, std::memory_order_relaxed);
    busy_ = static_cast<int>(workers_.size());
    ++round_;
  }
  wake_.notify_all();
  take_tasks();
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return busy_ == 0; });
}

void ThreadPool::take_tasks() {
  for (int i = next_.fetch_add(1); i < count_; i = next_.fetch_add(1)) (*task_)(i);
}

void ThreadPool::work() {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stopping_ || round_ != seen; });
    if (stopping_) return;
    seen = round_;
    lock.unlock();
    take_tasks();
    lock.lock();
    if (--busy_ == 0) done_.notify_one();
  }
}

}  // namespace actorhost::kernel
