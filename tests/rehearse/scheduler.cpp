#include "tests/rehearse/scheduler.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include <boost/context/detail/fcontext.hpp>
#include <cxxabi.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/rehearse/original.hpp"

namespace rehearse {

namespace context = boost::context::detail;

namespace {

constexpr size_t kStackBytes = size_t{1} << 20;
constexpr size_t kGuardBytes = 4096;

/// What the C++ runtime stores of the exceptions of a thread; fibres share a thread and not their exceptions.
struct Exceptions {
  void* caught = nullptr;
  unsigned uncaught = 0;
};
Exceptions& exceptions_of_thread() { return *reinterpret_cast<Exceptions*>(abi::__cxa_get_globals()); }

Scheduler* scheduler = nullptr;
thread_local bool is_task = false;

void wait_for_turn(std::atomic<int>& turn) {
  static auto* const call = original<long(long, ...)>("syscall");
  while (turn.load(std::memory_order_acquire) == 0) call(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, 0, nullptr);
  turn.store(0, std::memory_order_relaxed);
}

void give_turn(std::atomic<int>& turn) {
  static auto* const call = original<long(long, ...)>("syscall");
  turn.store(1, std::memory_order_release);
  call(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1);
}

}  // namespace

struct Task {
  uint64_t id = 0;
  void* (*start)(void*) = nullptr;
  void* argument = nullptr;
  void* result = nullptr;
  pthread_t handle{};

  bool runnable = true;
  bool ended = false;
  bool timed_out = false;
  uint64_t waits = 0;  // number of waits so far
  const void* object = nullptr;
  const char* what = "";

  // Threads and fibres have stacks of the same size in the same order, so all other memory has the same addresses.
  // LuaJIT draws random numbers until it has found memory for machine code.
  char* stack = nullptr;

  std::atomic<int> turn{0};  // of a thread
  // Of a fibre.
  context::fcontext_t context = nullptr;
  Exceptions exceptions;
  int error = 0;

  void make_stack() {
    void* const made = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) std::abort();
    mprotect(made, kGuardBytes, PROT_NONE);
    stack = static_cast<char*>(made) + kGuardBytes;
  }
  void free_stack() { munmap(stack - kGuardBytes, kGuardBytes + kStackBytes); }
};

struct Fibre {
  static void arrive(context::transfer_t from) { static_cast<Task*>(from.data)->context = from.fctx; }

  static void run(context::transfer_t from) {
    arrive(from);
    Task& task = *scheduler->current_;
    task.result = task.start(task.argument);
    scheduler->end_task(task);
  }

  static void make(Task& task) {
    task.context = context::make_fcontext(task.stack + kStackBytes, kStackBytes, &Fibre::run);
    task.handle = static_cast<pthread_t>(task.id + 1);
  }

  // Not inlined: the address of errno must not be remembered across the jump.
  [[gnu::noinline]] static void jump(Task& from, Task& to) {
    from.exceptions = exceptions_of_thread();
    from.error = errno;
    exceptions_of_thread() = to.exceptions;
    errno = to.error;
    arrive(context::jump_fcontext(to.context, &from));
  }
};

Scheduler::Scheduler(const Settings& settings) : settings_(settings), random_(settings.seed * 0x9e3779b97f4a7c15u + 1) {
  if (!settings.events.empty()) events_ = std::fopen(settings.events.c_str(), "w");
}

void Scheduler::start(const Settings& settings) {
  auto* const made = new Scheduler(settings);  // never deleted: tasks may outlive main
  made->tasks_.push_back(std::make_unique<Task>());
  made->current_ = made->tasks_.front().get();
  made->current_->handle = pthread_self();
  scheduler = made;
  is_task = true;
}

Scheduler* Scheduler::current() noexcept { return is_task ? scheduler : nullptr; }

pthread_t Scheduler::handle() const noexcept { return current_->handle; }

uint64_t Scheduler::random(uint64_t bound) noexcept {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return random_ % bound;
}

void Scheduler::record(char event, uint64_t number) noexcept {
  for (const uint64_t word : {static_cast<uint64_t>(event), number, now_}) {
    trace_ = (trace_ ^ word) * 1099511628211u;
    trace_ ^= trace_ >> 29;
  }
  if (events_ != nullptr) std::fprintf(events_, "%c %lu %lu\n", event, number, now_);
}

void* Scheduler::run_thread(void* argument) {
  Task& task = *static_cast<Task*>(argument);
  wait_for_turn(task.turn);
  is_task = true;
  task.result = task.start(task.argument);
  is_task = false;
  task.ended = true;
  scheduler->forget(task);
  Task& next = scheduler->choose();
  give_turn(next.turn);
  return task.result;
}

void Scheduler::end_task(Task& task) {
  task.ended = true;
  forget(task);
  Fibre::jump(task, choose());
  std::abort();
}

void Scheduler::forget(Task& task) {
  task.runnable = false;
  record('e', task.id);
  wake(&task, static_cast<int>(tasks_.size()));
}

int Scheduler::spawn(pthread_t* handle, void* (*function)(void*), void* argument) {
  auto made = std::make_unique<Task>();
  Task& task = *made;
  task.id = tasks_.size();
  task.start = function;
  task.argument = argument;
  task.make_stack();
  if (settings_.fibres) {
    Fibre::make(task);
  } else {
    static auto* const create = original<decltype(pthread_create)>("pthread_create");
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, task.stack, kStackBytes);
    if (create(&task.handle, &attributes, &Scheduler::run_thread, &task) != 0) std::abort();
    pthread_attr_destroy(&attributes);
  }
  *handle = task.handle;
  tasks_.push_back(std::move(made));
  runnable_.push_back(&task);
  record('c', task.id);
  return 0;
}

int Scheduler::join(pthread_t handle, void** result) {
  const auto at = std::find_if(tasks_.begin(), tasks_.end(),
                               [&](const auto& task) { return task->handle == handle && task->start != nullptr; });
  if (at == tasks_.end()) return ESRCH;
  Task& task = **at;
  while (!task.ended) wait(&task, 0, "the end of a thread");
  if (result != nullptr) *result = task.result;
  task.start = nullptr;  // the system may give the handle to another thread
  static auto* const join = original<decltype(pthread_join)>("pthread_join");
  if (!settings_.fibres) join(handle, nullptr);
  task.free_stack();
  return 0;
}

void Scheduler::make_runnable(Task& task) {
  if (task.runnable || task.ended) return;
  task.runnable = true;
  ++task.waits;
  runnable_.push_back(&task);
  record('w', task.id);
}

void Scheduler::expire_deadlines() {
  while (!deadlines_.empty()) {
    const Deadline next = deadlines_.top();
    const bool over = next.task->runnable || next.task->ended || next.task->waits != next.wait;
    if (!over && next.at > now_) return;
    deadlines_.pop();
    if (over) continue;
    next.task->timed_out = true;
    if (const auto at = waiting_.find(next.task->object); at != waiting_.end()) {
      std::erase(at->second, next.task);
      if (at->second.empty()) waiting_.erase(at);
    }
    make_runnable(*next.task);
  }
}

void Scheduler::check_descriptors(int milliseconds) {
  if (polled_.empty()) return;
  static auto* const poll = original<decltype(::poll)>("poll");
  std::vector<pollfd> all;
  for (const Polled& polled : polled_) all.insert(all.end(), polled.descriptors, polled.descriptors + polled.count);
  if (poll(all.data(), all.size(), milliseconds) <= 0) return;
  auto at = all.begin();
  for (const Polled& polled : polled_) {
    const auto end = at + static_cast<ptrdiff_t>(polled.count);
    if (std::any_of(at, end, [](const pollfd& one) { return one.revents != 0; })) make_runnable(*polled.task);
    at = end;
  }
}

/// The next task to run. The time passes here.
Task& Scheduler::choose() {
  for (;;) {
    expire_deadlines();
    if (now_ > settings_.end) give_up("the virtual time is over");
    if (runnable_.empty()) check_descriptors(0);
    if (!runnable_.empty()) {
      const auto at = runnable_.begin() + static_cast<ptrdiff_t>(random(runnable_.size()));
      current_ = *at;
      runnable_.erase(at);
      ++switches_;
      record('s', current_->id);
      return *current_;
    }
    if (!deadlines_.empty()) {
      now_ = std::max(now_, deadlines_.top().at);
      continue;
    }
    check_descriptors(10'000);
    if (runnable_.empty()) give_up("every thread waits without a deadline");
  }
}

void Scheduler::switch_away() {
  Task& from = *current_;
  Task& to = choose();
  if (&from == &to) return;
  if (settings_.fibres) {
    Fibre::jump(from, to);
  } else {
    give_turn(to.turn);
    wait_for_turn(from.turn);
  }
}

bool Scheduler::wait(const void* object, uint64_t deadline, const char* what) {
  Task& task = *current_;
  task.runnable = false;
  task.timed_out = false;
  task.object = object;
  task.what = what;
  if (object != nullptr) waiting_[object].push_back(&task);
  if (deadline != 0) deadlines_.push({std::max(deadline, now_), ++deadlines_made_, &task, task.waits});
  record('b', task.id);
  switch_away();
  task.object = nullptr;
  return !task.timed_out;
}

int Scheduler::wake(const void* object, int count) {
  const auto at = waiting_.find(object);
  if (at == waiting_.end()) return 0;
  int woken = 0;
  std::deque<Task*>& tasks = at->second;
  for (; woken < count && !tasks.empty(); ++woken) {
    make_runnable(*tasks.front());
    tasks.pop_front();
  }
  if (tasks.empty()) waiting_.erase(at);
  return woken;
}

void Scheduler::yield() {
  now_ += settings_.clock_cost;
  runnable_.push_back(current_);
  switch_away();
}

int Scheduler::poll(pollfd* descriptors, nfds_t count, int milliseconds) {
  static auto* const poll = original<decltype(::poll)>("poll");
  const uint64_t deadline = milliseconds < 0 ? 0 : now_ + static_cast<uint64_t>(milliseconds) * 1'000'000;
  for (;;) {
    const int ready = poll(descriptors, count, 0);
    if (ready != 0 || milliseconds == 0 || (deadline != 0 && now_ >= deadline)) return ready;
    Task* const task = current_;
    polled_.push_back({descriptors, count, task});
    wait(nullptr, deadline, "a file descriptor");
    std::erase_if(polled_, [task](const Polled& polled) { return polled.task == task; });
  }
}

int Scheduler::lock(pthread_mutex_t* mutex) {
  static auto* const try_lock = original<decltype(pthread_mutex_trylock)>("pthread_mutex_trylock");
  for (;;) {
    const int error = try_lock(mutex);
    if (error != EBUSY) return error;
    ++waiting_for_mutexes_;
    // The deadline is for threads with an ended task: destructors of thread-local variables may lock the mutex.
    wait(mutex, now_ + kSecond / 1000, "a mutex");
    --waiting_for_mutexes_;
  }
}

int Scheduler::unlock(pthread_mutex_t* mutex) {
  static auto* const unlock = original<decltype(pthread_mutex_unlock)>("pthread_mutex_unlock");
  const int error = unlock(mutex);
  if (waiting_for_mutexes_ != 0) wake(mutex, static_cast<int>(tasks_.size()));
  return error;
}

void Scheduler::give_up(const char* reason) {
  std::fprintf(stderr, "rehearse: %s at %.6f s\n", reason, static_cast<double>(now_ - kSecond) / kSecond);
  for (const auto& task : tasks_) {
    if (!task->ended) std::fprintf(stderr, "rehearse: thread %lu waits for %s\n", task->id, task->what);
  }
  if (events_ != nullptr) std::fflush(events_);
  _exit(98);
}

}  // namespace rehearse
