#pragma once
// The scheduler of a rehearsal: it runs one task of the process at a time, on virtual time. A task gives up its turn
// only in the calls below. Production has no scheduler; tasks.hpp and clock.hpp then use the threads and the clock of
// the system, after a test of one pointer.

#include <cstdint>
#include <functional>

#include "host/base/non_copyable.hpp"

namespace actorhost {

class TaskScheduler : public Interface {
 public:
  using TaskId = uint64_t;
  /// The task that runs in no Task: the main thread.
  static constexpr TaskId kMain = 0;

  /// Virtual seconds since a fixed point.
  virtual double now() noexcept = 0;
  /// Virtual seconds since the start, which log lines show.
  virtual double wall_seconds() noexcept = 0;
  /// Starts a task.
  virtual TaskId spawn(std::function<void()> run) = 0;
  /// Waits for the end of a task. At most one task waits for it.
  virtual void join(TaskId task) = 0;
  /// The task that makes this call.
  virtual TaskId current() const noexcept = 0;
  /// Waits until another task calls `wake` for `point`, at most until `deadline`; kForever: without a deadline. False
  /// after the deadline. The caller holds no lock that another task may want.
  virtual bool park(const void* point, double deadline) = 0;
  /// Ends the waits of all tasks, or of the task that has waited longest, for `point`.
  virtual void wake(const void* point, bool all) noexcept = 0;
  /// Lets other tasks run first.
  virtual void yield() = 0;
  /// The task has computed for `seconds`. The time passes at the next `pay`.
  virtual void compute(double seconds) noexcept = 0;
  /// Lets the computing time of the task pass, and the time of an engine call. The caller holds no lock, and neither
  /// waits nor has checked a condition that it is about to wait for.
  virtual void pay() = 0;

  /// The scheduler of this process; nullptr in production.
  static TaskScheduler* installed() noexcept { return installed_; }
  /// Sets the scheduler. Before the first task starts.
  static void install(TaskScheduler* scheduler) noexcept { installed_ = scheduler; }

 private:
  inline static TaskScheduler* installed_ = nullptr;
};

}  // namespace actorhost
