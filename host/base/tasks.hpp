#pragma once
// Threads and waits. All threads of a run are Tasks, and all their waits are waits of a WaitPoint or of an atomic
// variable below, so that a rehearsal can decide the order of a run (task_scheduler.hpp). In production a Task is a
// std::thread and a WaitPoint a std::condition_variable. A mutex stays a std::mutex: a task that waits holds none that
// another task may want.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "host/base/clock.hpp"
#include "host/base/non_copyable.hpp"
#include "host/base/task_scheduler.hpp"

namespace actorhost {

/// A thread. Its owner joins it before it destroys or replaces the Task.
class Task {
 public:
  Task() = default;
  /// Starts a thread that calls `run`. std::system_error: the system has no thread left.
  explicit Task(std::function<void()> run);
  Task(Task&& other) noexcept
      : thread_(std::move(other.thread_)), id_(std::exchange(other.id_, TaskScheduler::kMain)) {}
  Task& operator=(Task&& other) noexcept {
    thread_ = std::move(other.thread_);
    id_ = std::exchange(other.id_, TaskScheduler::kMain);
    return *this;
  }
  ~Task() = default;

  /// Whether it was started and has not been joined.
  bool joinable() const noexcept { return thread_.joinable() || id_ != TaskScheduler::kMain; }
  /// Blocks until `run` has returned.
  void join();
  /// Whether the caller runs in this task.
  bool is_current() const noexcept;
  /// Sets the name that the system shows, of at most 15 characters.
  void set_name(const char* name);

  static void sleep(double seconds);
  static void yield();
  /// Called where a task begins an engine call or a round of its loop: in a rehearsal its computing takes time.
  static void pay_for_computing() {
    if (TaskScheduler* const scheduler = TaskScheduler::installed()) scheduler->pay();
  }

 private:
  std::thread thread_;
  TaskScheduler::TaskId id_ = TaskScheduler::kMain;  // with a scheduler
};

/// A condition variable.
class WaitPoint : private NonCopyable {
 public:
  void notify_one() noexcept {
    if (TaskScheduler* const scheduler = TaskScheduler::installed()) return scheduler->wake(this, false);
    changed_.notify_one();
  }
  void notify_all() noexcept {
    if (TaskScheduler* const scheduler = TaskScheduler::installed()) return scheduler->wake(this, true);
    changed_.notify_all();
  }

  /// Waits for a notification, or for nothing: a wait may end early.
  void wait(std::unique_lock<std::mutex>& lock) {
    if (TaskScheduler* const scheduler = TaskScheduler::installed()) {
      park(*scheduler, lock, kForever);
    } else {
      changed_.wait(lock);
    }
  }
  /// Waits until `ready()`, which is called with the lock.
  template <typename Ready>
  void wait(std::unique_lock<std::mutex>& lock, Ready ready) {
    while (!ready()) wait(lock);
  }
  /// Like `wait`, up to `seconds`, which may be kForever or negative. False after this time.
  bool wait_for(std::unique_lock<std::mutex>& lock, double seconds) {
    if (TaskScheduler* const scheduler = TaskScheduler::installed()) {
      return park(*scheduler, lock, scheduler->now() + seconds);
    }
    return changed_.wait_for(lock, duration(seconds)) == std::cv_status::no_timeout;
  }
  /// Like `wait`, up to `seconds`, which may be kForever or negative. Returns ready().
  template <typename Ready>
  bool wait_for(std::unique_lock<std::mutex>& lock, double seconds, Ready ready) {
    if (TaskScheduler* const scheduler = TaskScheduler::installed()) {
      const double deadline = scheduler->now() + seconds;
      while (!ready()) {
        if (!park(*scheduler, lock, deadline)) return ready();
      }
      return true;
    }
    return changed_.wait_for(lock, duration(seconds), std::move(ready));
  }

 private:
  /// A longer wait would overflow the clock of a condition variable.
  static constexpr double kLongestWait = 1e9;
  static std::chrono::duration<double> duration(double seconds) {
    return std::chrono::duration<double>(std::clamp(seconds, 0.0, kLongestWait));
  }
  bool park(TaskScheduler& scheduler, std::unique_lock<std::mutex>& lock, double deadline) const {
    lock.unlock();
    const bool woken = scheduler.park(this, deadline);
    lock.lock();
    return woken;
  }

  std::condition_variable changed_;
};

/// Waits while the variable has the value `seen`, until a call of notify_change; like std::atomic::wait.
template <typename T>
void wait_for_change(const std::atomic<T>& variable, T seen) {
  if (TaskScheduler* const scheduler = TaskScheduler::installed()) {
    while (variable.load() == seen) scheduler->park(&variable, kForever);
  } else {
    variable.wait(seen);
  }
}
template <typename T>
void notify_change(std::atomic<T>& variable) {
  if (TaskScheduler* const scheduler = TaskScheduler::installed()) return scheduler->wake(&variable, true);
  variable.notify_all();
}

}  // namespace actorhost
