#include "bindings/rule_watchdog.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "bindings/ffi_barrier.h"

namespace actorhost {

namespace {

using Steady = std::chrono::steady_clock;

constexpr double kGraceSeconds = 1;  // for the rule to be stopped

// What the rule was shown. Deliberately without synchronisation: the thread that fills the batch has been in the rule
// since the last look at least, and what is wrong with the rule is worth more than the proof.
__attribute__((no_sanitize("thread"))) std::string view_of(const ah_asking& asking) {
  const uint32_t slot = std::min(asking.slot, asking.population - 1);
  char text[256];
  std::snprintf(text, sizeof text,
                "view.id = %u, view.step = %d, view.now = %.9g, everybody: n = %u, min = %g, max = %g",
                asking.ids[slot], asking.steps[slot], asking.now, asking.everyone.n, asking.everyone.lowest,
                asking.everyone.highest);
  return text;
}

}  // namespace

RuleWatchdog::RuleWatchdog(double seconds, Late late)
    : late_(std::move(late)), seconds_(seconds), thread_([this] { watch(); }) {}

RuleWatchdog::~RuleWatchdog() {
  {
    std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void RuleWatchdog::set_limit(double seconds) {
  {
    std::lock_guard lock(mutex_);
    seconds_ = seconds;
  }
  changed_.notify_all();
}

void RuleWatchdog::name(const std::string& label) {
  std::lock_guard lock(mutex_);
  label_ = label;
}

void RuleWatchdog::begin(const ah_asking* asking) {
  asking_.store(asking, std::memory_order_relaxed);
  rounds_.fetch_add(1, std::memory_order_release);
}

bool RuleWatchdog::begin_loading(const std::string& path) {
  if (rounds_.load(std::memory_order_relaxed) % 2 != 0) return false;
  {
    std::lock_guard lock(mutex_);
    loading_ = "barrier rule file '" + path + "'";
    asking_.store(nullptr, std::memory_order_relaxed);
  }
  rounds_.fetch_add(1, std::memory_order_release);
  return true;
}

// With mutex_ held.
std::string RuleWatchdog::describe() const {
  char limit[32];
  std::snprintf(limit, sizeof limit, "%g s", seconds_);
  const ah_asking* asking = asking_.load(std::memory_order_relaxed);
  if (asking == nullptr) return loading_ + " did not come back within " + limit + " while loading";
  return label_ + " did not return within " + limit + "; it was shown " + view_of(*asking);
}

std::string RuleWatchdog::message() const {
  std::lock_guard lock(mutex_);
  return message_;
}

void RuleWatchdog::watch() {
  uint64_t seen = 0;
  Steady::time_point since = Steady::now();
  std::unique_lock lock(mutex_);
  const auto interval = [this] { return std::chrono::duration<double>(std::clamp(seconds_ / 10, 0.01, 0.5)); };
  while (!done_) {
    changed_.wait_for(lock, interval());
    const uint64_t rounds = rounds_.load(std::memory_order_acquire);
    if (rounds != seen || rounds % 2 == 0) {
      seen = rounds;
      since = Steady::now();
      continue;
    }
    const double running = std::chrono::duration<double>(Steady::now() - since).count();
    const bool still = !message_.empty();
    if (running < seconds_ + (still ? kGraceSeconds : 0)) continue;
    if (!still) message_ = describe();
    const std::string message = message_;
    lock.unlock();
    late_(message, still);
    lock.lock();
  }
}

}  // namespace actorhost
