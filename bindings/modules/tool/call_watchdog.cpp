#include "bindings/modules/tool/call_watchdog.hpp"

#include <algorithm>
#include <cstdio>

#include "bindings/modules/engine/ffi_barrier.h"
#include "host/base/clock.hpp"

namespace actorhost {

namespace {

constexpr double kGraceSeconds = 1;  // time for the rule to stop

// Formats the rule's input. Deliberately without synchronisation: the thread that fills the batch has been in the rule
// at least since the last poll, and a message about the rule is worth more than a proof of no race.
__attribute__((no_sanitize("thread"))) std::string batch_text(const ah_admission_batch& batch) {
  const uint32_t slot = std::min(batch.slot, batch.population - 1);
  const bool some = batch.aggregates != 0;  // a peer without a sample knows no maximum
  char text[256];
  const int length = std::snprintf(
      text, sizeof text, "view.id = %u, view.step = %d, view.now = %.9g, all workers: n = %u, min = %g",
      batch.ids[slot], batch.steps[slot], batch.now, some ? batch.population : batch.everyone.n, batch.everyone.lowest);
  if (!some) {
    const auto used = static_cast<size_t>(length);
    std::snprintf(text + used, sizeof text - used, ", max = %g", batch.everyone.highest);
  }
  return text;
}

}  // namespace

CallWatchdog::CallWatchdog(const Limits& limits, Late late, Long takes_long)
    : late_(std::move(late)), long_(std::move(takes_long)), limits_(limits), thread_([this] { watch(); }) {}

CallWatchdog::~CallWatchdog() {
  {
    std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CallWatchdog::set_limit(double seconds) {
  {
    std::lock_guard lock(mutex_);
    limits_.rule = seconds;
  }
  changed_.notify_all();
}

void CallWatchdog::name(const std::string& label) {
  std::lock_guard lock(mutex_);
  label_ = label;
}

void CallWatchdog::begin(const ah_admission_batch* batch) {
  batch_.store(batch, std::memory_order_relaxed);
  rounds_.fetch_add(1, std::memory_order_release);
}

void CallWatchdog::begin_named(std::string_view call, double Limits::*limit, bool loading) {
  {
    std::lock_guard lock(mutex_);
    call_name_ = call;
    loading_ = loading;
    limit_ = limit;
    batch_.store(nullptr, std::memory_order_relaxed);
  }
  rounds_.fetch_add(1, std::memory_order_release);
}

bool CallWatchdog::begin_loading(const std::string& path) {
  if (rounds_.load(std::memory_order_relaxed) % 2 != 0) return false;
  begin_named("barrier rule file '" + path + "'", &Limits::rule, true);
  return true;
}

void CallWatchdog::begin_rule(std::string_view rule) { begin_named(rule, &Limits::rule, false); }

void CallWatchdog::begin_call(std::string_view call, bool limited) {
  end();
  begin_named(call, limited ? &Limits::callback : nullptr, false);
}

// Describes the late call. Requires mutex_.
std::string CallWatchdog::describe() const {
  const auto limit = [](double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%g s", seconds);
    return std::string(text);
  };
  if (const ah_admission_batch* batch = batch_.load(std::memory_order_relaxed)) {
    return label_ + " did not return within " + limit(limits_.rule) + "; it was shown " + batch_text(*batch);
  }
  if (limit_ == &Limits::rule) {
    return call_name_ + " did not return within " + limit(limits_.rule) + (loading_ ? " while loading" : "");
  }
  return call_name_ + " did not return within " + limit(limits_.callback) + " (--callback-timeout)";
}

std::string CallWatchdog::message() const {
  std::lock_guard lock(mutex_);
  return message_;
}

void CallWatchdog::watch() {
  uint64_t seen = 0;
  bool logged = false;  // whether the slow call has been logged
  const SteadyClock clock;
  double since = clock.now();
  std::unique_lock lock(mutex_);
  const auto interval = [this] {
    return std::clamp(std::min({limits_.rule, limits_.callback, limits_.seems_long}) / 10, 0.01, 0.5);
  };
  while (!done_) {
    changed_.wait_for(lock, interval());
    const uint64_t rounds = rounds_.load(std::memory_order_acquire);
    if (rounds != seen || rounds % 2 == 0) {
      seen = rounds;
      logged = false;
      since = clock.now();
      continue;
    }
    const double running = clock.now() - since;
    const bool is_rule = batch_.load(std::memory_order_relaxed) != nullptr;
    if (long_ && !is_rule && !logged && running >= limits_.seems_long) {
      logged = true;
      long_(call_name_);
    }
    const double limit = is_rule ? limits_.rule : limit_ != nullptr ? limits_.*limit_ : kForever;
    const bool still = !message_.empty();
    if (running < limit + (still ? kGraceSeconds : 0)) continue;
    if (!still) message_ = describe();
    const std::string message = message_;
    lock.unlock();
    late_(message, still);
    lock.lock();
  }
}

}  // namespace actorhost
