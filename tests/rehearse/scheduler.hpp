#pragma once
// Runs all threads of the process one at a time, on virtual time, in an order that depends on a seed alone. A thread of
// the program becomes a task. The calls of pthread.h, clocks and sleeps in intercepted_calls.cpp lead here. A task runs
// until it waits. When every task waits, the time increases to the next deadline at once.
//
// A task is either an operating-system thread that waits for its turn, or a fibre on the main thread. Both kinds run
// the same program in the same order. The threads of sanitizers and debuggers are of the first kind; the second kind is
// faster.

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include <poll.h>
#include <pthread.h>

namespace rehearse {

inline constexpr uint64_t kSecond = 1'000'000'000;  // in nanoseconds of virtual time

struct Settings {
  uint64_t seed = 1;
  bool fibres = false;
  uint64_t clock_cost = 2'000;     // nanoseconds that pass at each read of a clock: a task that polls one ends
  uint64_t end = 3'600 * kSecond;  // virtual time at which the process gives up
  std::string events = {};         // a file for the trace as text
};

struct Task;

class Scheduler {
 public:
  /// Makes the calling thread, the only thread of the process, the first task.
  static void start(const Settings& settings);
  /// The scheduler, if the calling thread is one of its tasks; nullptr otherwise.
  static Scheduler* current() noexcept;

  bool has_fibres() const noexcept { return settings_.fibres; }
  /// Virtual nanoseconds since the start.
  uint64_t now() const noexcept { return now_; }
  /// The same, for the program: reading the time takes time.
  uint64_t read_clock() noexcept { return now_ += settings_.clock_cost; }

  /// Starts a task, as pthread_create does without attributes.
  int spawn(pthread_t* handle, void* (*function)(void*), void* argument);
  /// Waits for the end of a task, as pthread_join does.
  int join(pthread_t handle, void** result);
  pthread_t handle() const noexcept;

  /// Waits until a task calls `wake` for the object, or until the deadline; 0: no deadline. Returns false when the time
  /// was over. `what` names the wait in the report of a process that cannot go on.
  bool wait(const void* object, uint64_t deadline, const char* what);
  /// Makes up to `count` tasks that wait for the object runnable, longest wait first.
  int wake(const void* object, int count);
  void yield();
  /// Waits for file descriptors, as poll(2) does.
  int poll(pollfd* descriptors, nfds_t count, int milliseconds);

  int lock(pthread_mutex_t* mutex);
  int unlock(pthread_mutex_t* mutex);

  /// Adds a number to the trace.
  void record(char event, uint64_t number) noexcept;
  uint64_t trace() const noexcept { return trace_; }
  uint64_t switches() const noexcept { return switches_; }
  /// A random number below `bound`, from the seed.
  uint64_t random(uint64_t bound) noexcept;

 private:
  struct Deadline {
    uint64_t at;
    uint64_t number;
    Task* task;
    uint64_t wait;  // the wait of the task that this deadline ends
    bool operator>(const Deadline& other) const noexcept {
      return at != other.at ? at > other.at : number > other.number;
    }
  };
  struct Polled {
    pollfd* descriptors;
    nfds_t count;
    Task* task;
  };

  explicit Scheduler(const Settings& settings);
  void make_runnable(Task& task);
  void expire_deadlines();
  /// Makes tasks runnable whose descriptors are ready.
  void check_descriptors(int milliseconds);
  Task& choose();
  void switch_away();
  void forget(Task& task);
  [[noreturn]] void end_task(Task& task);
  [[noreturn]] void give_up(const char* reason);
  static void* run_thread(void* task);
  friend struct Fibre;

  const Settings settings_;
  uint64_t now_ = kSecond;
  uint64_t random_;
  uint64_t trace_ = 14695981039346656037u;
  uint64_t switches_ = 0;
  uint64_t deadlines_made_ = 0;
  std::deque<std::unique_ptr<Task>> tasks_;
  std::vector<Task*> runnable_;
  std::priority_queue<Deadline, std::vector<Deadline>, std::greater<>> deadlines_;
  std::unordered_map<const void*, std::deque<Task*>> waiting_;
  std::vector<Polled> polled_;
  Task* current_ = nullptr;
  size_t waiting_for_mutexes_ = 0;
  FILE* events_ = nullptr;
};

}  // namespace rehearse
