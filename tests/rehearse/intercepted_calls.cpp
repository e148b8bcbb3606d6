// The functions of the C library for threads, waits, clocks and random bytes. These definitions replace the library's
// in the executable and in all shared libraries. A thread without a task calls the library.

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <ctime>
#include <random>

#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/rehearse/original.hpp"
#include "tests/rehearse/scheduler.hpp"

using rehearse::kSecond;
using rehearse::original;
using rehearse::Scheduler;

#define ORIGINAL(name) static auto* const library = original<decltype(::name)>(#name)

namespace {

constexpr uint64_t kWallSeconds = 1'700'000'000;  // CLOCK_REALTIME at the start
constexpr pid_t kProcess = 10'000;
constexpr int kAll = 1 << 30;

bool is_wall_clock(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }

bool is_virtual(clockid_t clock) {
  return is_wall_clock(clock) || clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE ||
         clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_BOOTTIME;
}

uint64_t nanoseconds(const timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * kSecond + static_cast<uint64_t>(time.tv_nsec);
}

timespec time_of(uint64_t nanoseconds) {
  return {static_cast<time_t>(nanoseconds / kSecond), static_cast<long>(nanoseconds % kSecond)};
}

/// A deadline of `clock` on the scheduler's clock; never 0, which is no deadline.
uint64_t deadline_of(clockid_t clock, const timespec& time) {
  const uint64_t start = is_wall_clock(clock) ? kWallSeconds * kSecond : 0;
  return std::max<uint64_t>(1, nanoseconds(time) - std::min(nanoseconds(time), start));
}

int wait_for(Scheduler& scheduler, pthread_cond_t* condition, pthread_mutex_t* mutex, uint64_t deadline) {
  scheduler.unlock(mutex);
  const bool woken = scheduler.wait(condition, deadline, "a condition");
  scheduler.lock(mutex);
  return woken ? 0 : ETIMEDOUT;
}

int sleep_for(Scheduler& scheduler, uint64_t nanoseconds) {
  scheduler.wait(nullptr, scheduler.now() + std::max<uint64_t>(1, nanoseconds), "a sleep");
  return 0;
}

/// The same bytes in each run: names, keys and the seed of LuaJIT's string hashes depend on them.
void fill_random(void* bytes, size_t size) {
  static uint64_t state = 42;
  for (size_t i = 0; i < size; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    static_cast<unsigned char*>(bytes)[i] = static_cast<unsigned char>(state >> 56);
  }
}

}  // namespace

/// std::random_device otherwise reads an instruction of the processor.
std::random_device::result_type std::random_device::_M_getval() {
  result_type number = 0;
  fill_random(&number, sizeof number);
  return number;
}

extern "C" {

int pthread_create(pthread_t* handle, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  ORIGINAL(pthread_create);
  Scheduler* const scheduler = Scheduler::current();
  return scheduler != nullptr ? scheduler->spawn(handle, start, argument)
                              : library(handle, attributes, start, argument);
}

int pthread_join(pthread_t handle, void** result) {
  ORIGINAL(pthread_join);
  Scheduler* const scheduler = Scheduler::current();
  return scheduler != nullptr ? scheduler->join(handle, result) : library(handle, result);
}

int pthread_detach(pthread_t handle) noexcept {
  ORIGINAL(pthread_detach);
  Scheduler* const scheduler = Scheduler::current();
  return scheduler != nullptr && scheduler->has_fibres() ? 0 : library(handle);
}

pthread_t pthread_self() noexcept {
  ORIGINAL(pthread_self);
  Scheduler* const scheduler = Scheduler::current();
  return scheduler != nullptr ? scheduler->handle() : library();
}

// The program interrupts only its own threads, with a signal that lets a call of Lua end early; a rehearsal has none.
int pthread_kill(pthread_t, int) noexcept { return 0; }

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  ORIGINAL(pthread_mutex_lock);
  Scheduler* const scheduler = Scheduler::current();
  return scheduler != nullptr ? scheduler->lock(mutex) : library(mutex);
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  ORIGINAL(pthread_mutex_unlock);
  Scheduler* const scheduler = Scheduler::current();
  return scheduler != nullptr ? scheduler->unlock(mutex) : library(mutex);
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  ORIGINAL(pthread_cond_wait);
  Scheduler* const scheduler = Scheduler::current();
  return scheduler != nullptr ? wait_for(*scheduler, condition, mutex, 0) : library(condition, mutex);
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* time) {
  ORIGINAL(pthread_cond_timedwait);
  Scheduler* const scheduler = Scheduler::current();
  return scheduler != nullptr ? wait_for(*scheduler, condition, mutex, deadline_of(CLOCK_REALTIME, *time))
                              : library(condition, mutex, time);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* time) {
  ORIGINAL(pthread_cond_clockwait);
  Scheduler* const scheduler = Scheduler::current();
  return scheduler != nullptr ? wait_for(*scheduler, condition, mutex, deadline_of(clock, *time))
                              : library(condition, mutex, clock, time);
}

int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  ORIGINAL(pthread_cond_signal);
  Scheduler* const scheduler = Scheduler::current();
  if (scheduler == nullptr) return library(condition);
  scheduler->wake(condition, 1);
  return 0;
}

int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  ORIGINAL(pthread_cond_broadcast);
  Scheduler* const scheduler = Scheduler::current();
  if (scheduler == nullptr) return library(condition);
  scheduler->wake(condition, kAll);
  return 0;
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  ORIGINAL(clock_gettime);
  Scheduler* const scheduler = Scheduler::current();
  if (scheduler == nullptr) return library(clock, time);
  // The processor time of a thread is 0: it would differ from run to run.
  *time = is_virtual(clock) ? time_of(scheduler->read_clock() + (is_wall_clock(clock) ? kWallSeconds * kSecond : 0))
                            : timespec{};
  return 0;
}

int gettimeofday(timeval* time, void*) noexcept {
  timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  *time = {precise.tv_sec, precise.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* out) noexcept {
  timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  if (out != nullptr) *out = precise.tv_sec;
  return precise.tv_sec;
}

clock_t clock() noexcept {
  ORIGINAL(clock);
  return Scheduler::current() != nullptr ? 0 : library();
}

int nanosleep(const timespec* time, timespec* left) {
  ORIGINAL(nanosleep);
  Scheduler* const scheduler = Scheduler::current();
  return scheduler != nullptr ? sleep_for(*scheduler, nanoseconds(*time)) : library(time, left);
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  ORIGINAL(clock_nanosleep);
  Scheduler* const scheduler = Scheduler::current();
  if (scheduler == nullptr) return library(clock, flags, time, left);
  if ((flags & TIMER_ABSTIME) == 0) return sleep_for(*scheduler, nanoseconds(*time));
  const uint64_t deadline = deadline_of(clock, *time);
  return deadline > scheduler->now() ? sleep_for(*scheduler, deadline - scheduler->now()) : 0;
}

int usleep(useconds_t microseconds) {
  ORIGINAL(usleep);
  Scheduler* const scheduler = Scheduler::current();
  return scheduler != nullptr ? sleep_for(*scheduler, microseconds * uint64_t{1000}) : library(microseconds);
}

int sched_yield() noexcept {
  ORIGINAL(sched_yield);
  Scheduler* const scheduler = Scheduler::current();
  if (scheduler == nullptr) return library();
  scheduler->yield();
  return 0;
}

int poll(pollfd* descriptors, nfds_t count, int milliseconds) {
  ORIGINAL(poll);
  Scheduler* const scheduler = Scheduler::current();
  return scheduler != nullptr ? scheduler->poll(descriptors, count, milliseconds)
                              : library(descriptors, count, milliseconds);
}

ssize_t getrandom(void* bytes, size_t size, unsigned flags) {
  ORIGINAL(getrandom);
  if (Scheduler::current() == nullptr) return library(bytes, size, flags);
  fill_random(bytes, size);
  return static_cast<ssize_t>(size);
}

int getentropy(void* bytes, size_t size) {
  ORIGINAL(getentropy);
  if (Scheduler::current() == nullptr) return library(bytes, size);
  fill_random(bytes, size);
  return 0;
}

// The number is part of names that hosts send.
pid_t getpid() noexcept {
  ORIGINAL(getpid);
  return Scheduler::current() != nullptr ? kProcess : library();
}

// std::atomic::wait and LuaJIT call the kernel here.
long syscall(long number, ...) noexcept {
  ORIGINAL(syscall);
  va_list list;
  va_start(list, number);
  void* argument[6];
  for (void*& one : argument) one = va_arg(list, void*);
  va_end(list);
  const auto whole = [&](size_t i) { return reinterpret_cast<intptr_t>(argument[i]); };
  Scheduler* const scheduler = Scheduler::current();
  if (scheduler != nullptr && number == SYS_futex) {
    auto* const word = static_cast<int*>(argument[0]);
    const auto operation = whole(1) & FUTEX_CMD_MASK;
    if (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET) {
      if (*word == static_cast<int>(whole(2))) {
        // The time of FUTEX_WAIT is a duration, the time of FUTEX_WAIT_BITSET a deadline.
        const auto* const time = static_cast<const timespec*>(argument[3]);
        const clockid_t clock = (whole(1) & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
        const uint64_t deadline = time == nullptr           ? 0
                                  : operation == FUTEX_WAIT ? scheduler->now() + nanoseconds(*time)
                                                            : deadline_of(clock, *time);
        if (scheduler->wait(word, deadline, "an atomic variable")) return 0;
        errno = ETIMEDOUT;
        return -1;
      }
      errno = EAGAIN;
      return -1;
    }
    if (operation == FUTEX_WAKE || operation == FUTEX_WAKE_BITSET) {
      return scheduler->wake(word, static_cast<int>(whole(2)));
    }
  }
  if (scheduler != nullptr && number == SYS_getrandom) {
    fill_random(argument[0], static_cast<size_t>(whole(1)));
    return whole(1);
  }
  return library(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}

}  // extern "C"
