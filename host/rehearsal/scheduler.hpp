#pragma once
// Runs the tasks of the process one at a time, on virtual time, in an order that depends on a seed alone. A task runs
// until it waits (host/base/tasks.hpp). When every task waits, the time increases to the next deadline at once.
//
// A task is either an operating-system thread that waits for its turn, or a fibre on the main thread. Both kinds run
// the same program in the same order. Debuggers and sanitizers need threads; fibres are faster.
//
// The main thread makes the scheduler before it starts any task. Only tasks use it.

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/base/task_scheduler.hpp"
#include "host/rehearsal/virtual_time.hpp"

namespace actorhost::rehearsal {

struct SchedulerSettings {
  uint64_t seed = 1;
  bool fibres = true;
  Time clock_cost = 2'000;  // passes at each read of a clock, so that a task that polls the clock ends
  double call_seconds = 0;  // time of an engine call
  /// The factor on the time of computing of a host at a time; without it 1.
  std::function<double(uint32_t host, Time now)> slowness = {};
  Time end = kStart + 3'600 * kSecond;  // then `out_of_time` is called
  std::string events = {};              // a file for the trace as text
  /// Called once when the time is over or all tasks wait without a deadline. The process must end in it.
  std::function<void(const std::string& reason)> out_of_time = {};
};

class Scheduler final : public TaskScheduler {
 public:
  /// Makes the calling thread the main task, and this the scheduler of the process until the process ends.
  explicit Scheduler(SchedulerSettings settings);
  ~Scheduler() override;

  double now() noexcept override {
    time_ += settings_.clock_cost;
    if (time_ > settings_.end) give_up("the virtual time is over");  // perhaps in a loop that only reads the clock
    return seconds(time_);
  }
  double wall_seconds() noexcept override;
  TaskId spawn(std::function<void()> run) override;
  void join(TaskId task) override;
  TaskId current() const noexcept override;
  bool park(const void* point, double deadline) override;
  void wake(const void* point, bool all) noexcept override;
  void yield() override;
  void compute(double seconds) noexcept override;
  void pay() override;

  /// Simulated hosts are numbered groups of tasks. Starts a task of `host`; the tasks that it starts are of `host` too.
  TaskId spawn_on(uint32_t host, std::function<void()> run);
  /// The host of the running task; UINT32_MAX for a task of no host.
  uint32_t current_host() const noexcept;
  /// Ends all tasks of a host where they wait, without a chance to clean up, and the joins of these tasks. Their memory
  /// is never freed. Called by a task of no host.
  void kill(uint32_t host);
  /// The tasks of a host do not run before `until`. Called by a task of no host.
  void stall(uint32_t host, Time until);

  /// The time, which this call does not change.
  Time time() const noexcept { return time_; }
  /// Like `park`, with a deadline in virtual time; 0: none.
  bool park_until(const void* point, Time deadline);
  /// A random number below `bound`, from the seed.
  uint64_t random(uint64_t bound) noexcept;

  /// Adds an event to the trace: its kind and a number.
  void record(char kind, uint64_t number) noexcept;
  /// A hash of all events so far and their times.
  uint64_t trace() const noexcept { return trace_; }
  /// Number of times that the turn has passed to a task. Any thread may call this.
  uint64_t switches() const noexcept { return switches_.load(std::memory_order_relaxed); }
  /// The host of the task that has the turn; UINT32_MAX for a task of no host. Any thread may call this.
  uint32_t host_in_turn() const noexcept { return host_in_turn_.load(std::memory_order_relaxed); }

 private:
  struct Running;
  struct Fibre;
  struct Deadline {
    Time at;
    uint64_t number;
    Running* task;  // null: the deadline ends a stall
    uint64_t wait;  // of the task, which this deadline ends
    bool operator>(const Deadline& other) const noexcept {
      return at != other.at ? at > other.at : number > other.number;
    }
  };

  TaskId start(uint32_t host, std::function<void()> run);
  void make_runnable(Running& task);
  void expire_deadlines();
  void end_stalls();
  Running& choose();
  void switch_away();
  void end_current();
  [[noreturn]] void give_up(const std::string& reason);

  const SchedulerSettings settings_;
  Time time_ = kStart;
  uint64_t random_;
  uint64_t trace_ = 14695981039346656037u;
  std::atomic<uint64_t> switches_{0};
  std::atomic<uint32_t> host_in_turn_{UINT32_MAX};
  uint64_t deadlines_made_ = 0;
  std::vector<std::unique_ptr<Running>> tasks_;
  std::vector<Running*> runnable_;
  std::priority_queue<Deadline, std::vector<Deadline>, std::greater<>> deadlines_;
  std::unordered_map<const void*, std::vector<Running*>> waiting_;  // the longest wait first
  std::unordered_map<uint32_t, Time> stalled_;                      // hosts, until these times
  Running* current_ = nullptr;
  std::FILE* events_ = nullptr;
};

}  // namespace actorhost::rehearsal
