#include "host/rehearsal/scheduler.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <utility>

#include <boost/context/detail/fcontext.hpp>
#include <cxxabi.h>
#include <pthread.h>
#include <sys/mman.h>

#include "host/base/clock.hpp"

namespace actorhost::rehearsal {

namespace context = boost::context::detail;

namespace {

constexpr uint32_t kNoHost = UINT32_MAX;
constexpr size_t kStackBytes = size_t{1} << 20;
constexpr size_t kGuardBytes = 4096;

}  // namespace

/// What the C++ runtime stores of the exceptions of a thread; fibres share a thread and not their exceptions.
struct Exceptions {
  void* caught = nullptr;
  unsigned uncaught = 0;
};
static Exceptions& exceptions_of_thread() { return *reinterpret_cast<Exceptions*>(abi::__cxa_get_globals()); }

/// The stack of a task. Threads and fibres have stacks of the same size in the same order, so all other memory has the
/// same addresses: LuaJIT draws random numbers until it has found memory for machine code.
class Stack : private NonCopyable {
 public:
  Stack() {
    void* const made = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) std::abort();
    mprotect(made, kGuardBytes, PROT_NONE);
    start_ = static_cast<char*>(made) + kGuardBytes;
  }
  ~Stack() { munmap(start_ - kGuardBytes, kGuardBytes + kStackBytes); }
  char* start() const noexcept { return start_; }
  char* end() const noexcept { return start_ + kStackBytes; }

 private:
  char* start_;
};

struct Scheduler::Running {
  TaskId id = kMain;
  Scheduler* scheduler = nullptr;
  std::function<void()> run;

  uint32_t host = kNoHost;
  bool runnable = true;
  bool held = false;  // runnable once its host's stall is over
  bool ended = false;
  bool killed = false;
  bool timed_out = false;
  uint64_t waits = 0;  // number of waits so far
  double owed = 0;     // seconds of computing, not paid yet
  const void* point = nullptr;

  std::unique_ptr<Stack> stack;
  // Of a thread.
  std::atomic<int> turn{0};
  pthread_t thread{};
  // Of a fibre.
  context::fcontext_t context = nullptr;
  Exceptions exceptions;
  int error = 0;

  void wait_for_turn() {
    turn.wait(0, std::memory_order_acquire);
    turn.store(0, std::memory_order_relaxed);
  }
  void give_turn() {
    turn.store(1, std::memory_order_release);
    turn.notify_one();
  }
};

struct Scheduler::Fibre {
  static void arrive(context::transfer_t from) { static_cast<Running*>(from.data)->context = from.fctx; }

  static void start(context::transfer_t from) {
    arrive(from);
    auto& scheduler = static_cast<Scheduler&>(*installed());
    Running& task = *scheduler.current_;
    task.run();
    scheduler.end_current();
    jump(task, scheduler.choose());
    std::abort();
  }

  // Not inlined: the address of errno must not be remembered across the jump.
  [[gnu::noinline]] static void jump(Running& from, Running& to) {
    from.exceptions = exceptions_of_thread();
    from.error = errno;
    exceptions_of_thread() = to.exceptions;
    errno = to.error;
    arrive(context::jump_fcontext(to.context, &from));
  }
};

Scheduler::Scheduler(SchedulerSettings settings)
    : settings_(std::move(settings)), random_(settings_.seed * 0x9e3779b97f4a7c15u + 1) {
  if (!settings_.events.empty()) events_ = std::fopen(settings_.events.c_str(), "w");
  tasks_.push_back(std::make_unique<Running>());
  current_ = tasks_.front().get();
  install(this);
}

Scheduler::~Scheduler() { install(nullptr); }

double Scheduler::wall_seconds() noexcept { return seconds(time_ - kStart); }

TaskScheduler::TaskId Scheduler::current() const noexcept { return current_->id; }

uint64_t Scheduler::random(uint64_t bound) noexcept {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return random_ % bound;
}

void Scheduler::record(char kind, uint64_t number) noexcept {
  for (const uint64_t word : {static_cast<uint64_t>(kind), number, time_}) {
    trace_ = (trace_ ^ word) * 1099511628211u;
    trace_ ^= trace_ >> 29;
  }
  if (events_ != nullptr) std::fprintf(events_, "%c %lu %lu\n", kind, number, time_);
}

TaskScheduler::TaskId Scheduler::spawn(std::function<void()> run) { return start(current_->host, std::move(run)); }

uint32_t Scheduler::current_host() const noexcept { return current_->host; }

TaskScheduler::TaskId Scheduler::spawn_on(uint32_t host, std::function<void()> run) {
  return start(host, std::move(run));
}

TaskScheduler::TaskId Scheduler::start(uint32_t host, std::function<void()> run) {
  auto made = std::make_unique<Running>();
  Running& task = *made;
  task.id = tasks_.size();
  task.scheduler = this;
  task.host = host;
  task.run = std::move(run);
  task.stack = std::make_unique<Stack>();
  if (settings_.fibres) {
    task.context = context::make_fcontext(task.stack->end(), kStackBytes, &Fibre::start);
  } else {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, task.stack->start(), kStackBytes);
    const auto start = [](void* running) -> void* {
      Running& self = *static_cast<Running*>(running);
      self.wait_for_turn();
      self.run();
      self.scheduler->end_current();
      self.scheduler->choose().give_turn();
      return nullptr;
    };
    if (pthread_create(&task.thread, &attributes, start, &task) != 0) std::abort();
    pthread_attr_destroy(&attributes);
  }
  tasks_.push_back(std::move(made));
  runnable_.push_back(&task);
  record('c', task.id);
  return task.id;
}

void Scheduler::end_current() {
  Running& task = *current_;
  task.run = nullptr;
  task.ended = true;
  task.runnable = false;
  record('e', task.id);
  wake(&task, true);
}

void Scheduler::join(TaskId id) {
  Running& task = *tasks_[id];
  while (!task.ended) park_until(&task, 0);
  if (task.killed) return;
  if (!settings_.fibres) pthread_join(task.thread, nullptr);
  task.stack.reset();
}

void Scheduler::kill(uint32_t host) {
  record('k', host);
  std::erase_if(runnable_, [host](const Running* task) { return task->host == host; });
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    std::erase_if(at->second, [host](const Running* task) { return task->host == host; });
    at = at->second.empty() ? waiting_.erase(at) : std::next(at);
  }
  stalled_.erase(host);
  for (const auto& task : tasks_) {
    if (task->host != host || task->ended) continue;
    task->ended = task->killed = true;
    wake(task.get(), true);
  }
}

void Scheduler::stall(uint32_t host, Time until) {
  record('h', host);
  stalled_[host] = until;
  deadlines_.push({until, ++deadlines_made_, nullptr, 0});
}

void Scheduler::end_stalls() {
  std::erase_if(stalled_, [this](const auto& stalled) { return stalled.second <= time_; });
  for (const auto& task : tasks_) {
    if (!task->held || stalled_.contains(task->host)) continue;
    task->held = false;
    if (!task->ended) runnable_.push_back(task.get());
  }
}

void Scheduler::make_runnable(Running& task) {
  if (task.runnable || task.ended) return;
  task.runnable = true;
  ++task.waits;
  runnable_.push_back(&task);
  record('w', task.id);
}

void Scheduler::expire_deadlines() {
  while (!deadlines_.empty()) {
    const Deadline next = deadlines_.top();
    const bool of_stall = next.task == nullptr;
    const bool over = !of_stall && (next.task->runnable || next.task->ended || next.task->waits != next.wait);
    if (!over && next.at > time_) return;
    deadlines_.pop();
    if (of_stall) end_stalls();
    if (of_stall || over) continue;
    next.task->timed_out = true;
    if (const auto at = waiting_.find(next.task->point); at != waiting_.end()) {
      std::erase(at->second, next.task);
      if (at->second.empty()) waiting_.erase(at);
    }
    make_runnable(*next.task);
  }
}

/// The next task to run. The time passes here.
Scheduler::Running& Scheduler::choose() {
  for (;;) {
    expire_deadlines();
    if (time_ > settings_.end) give_up("the virtual time is over");
    if (!runnable_.empty()) {
      const auto at = runnable_.begin() + static_cast<ptrdiff_t>(random(runnable_.size()));
      current_ = *at;
      runnable_.erase(at);
      if (!stalled_.empty() && stalled_.contains(current_->host)) {
        current_->held = true;
        continue;
      }
      switches_.store(switches() + 1, std::memory_order_relaxed);
      host_in_turn_.store(current_->host, std::memory_order_relaxed);
      record('s', current_->id);
      return *current_;
    }
    if (deadlines_.empty()) give_up("every task waits without a deadline");
    time_ = std::max(time_, deadlines_.top().at);
  }
}

void Scheduler::switch_away() {
  Running& from = *current_;
  Running& to = choose();
  if (&from == &to) return;
  if (settings_.fibres) {
    Fibre::jump(from, to);
  } else {
    to.give_turn();
    from.wait_for_turn();
  }
}

bool Scheduler::park(const void* point, double deadline) {
  if (deadline == kForever) return park_until(point, 0);
  const double latest = seconds(settings_.end) + 1;  // the rehearsal ends before
  const double bounded = std::clamp(deadline, 1e-9, latest);
  return park_until(point, static_cast<Time>(std::ceil(bounded * static_cast<double>(kSecond))));
}

bool Scheduler::park_until(const void* point, Time deadline) {
  Running& task = *current_;
  task.runnable = false;
  task.timed_out = false;
  task.point = point;
  waiting_[point].push_back(&task);
  if (deadline != 0) deadlines_.push({std::max(deadline, time_), ++deadlines_made_, &task, task.waits});
  record('b', task.id);
  switch_away();
  return !task.timed_out;
}

void Scheduler::wake(const void* point, bool all) noexcept {
  const auto at = waiting_.find(point);
  if (at == waiting_.end()) return;
  std::vector<Running*>& tasks = at->second;
  const auto woken = all ? tasks.end() : std::next(tasks.begin());
  std::for_each(tasks.begin(), woken, [this](Running* task) { make_runnable(*task); });
  tasks.erase(tasks.begin(), woken);
  if (tasks.empty()) waiting_.erase(at);
}

void Scheduler::yield() {
  time_ += settings_.clock_cost;
  runnable_.push_back(current_);
  switch_away();
}

void Scheduler::compute(double seconds) noexcept {
  current_->owed += settings_.slowness ? seconds * settings_.slowness(current_->host, time_) : seconds;
}

void Scheduler::pay() {
  const double owed = std::exchange(current_->owed, 0.0) + settings_.call_seconds;
  if (owed > 0) park_until(&current_->owed, time_ + static_cast<Time>(std::ceil(owed * static_cast<double>(kSecond))));
}

void Scheduler::give_up(const std::string& reason) {
  if (events_ != nullptr) std::fflush(events_);
  if (settings_.out_of_time) settings_.out_of_time(reason);
  std::abort();
}

}  // namespace actorhost::rehearsal
