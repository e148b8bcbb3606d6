#pragma once
// Watches Lua that others wait for and that may not come back: rounds of a barrier rule's answers, the loading of a
// rule's file, callbacks on a server. A thread looks now and then whether such a call takes too long, and then reports
// what it is. The receiver of the report ends the call: by stopping the Vm, which raises in the rule, or, where that
// does not help (a compiled loop runs no hooks), with the process. Made and destroyed on the Vm's thread, or before it
// starts and after it has ended.

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

struct ah_asking;

namespace actorhost {

class CallWatchdog {
 public:
  /// Called on the watchdog's thread when a call is late, and again, with `still`, at every look after a second of
  /// grace.
  using Late = std::function<void(const std::string& message, bool still)>;
  /// Called there once for a call that has gone on for Limits::seems_long, whatever its limit is.
  using Long = std::function<void(const std::string& what)>;
  struct Limits {
    double rule = 0;      // seconds of a round of answers, or of loading a rule's file
    double callback = 0;  // seconds of a callback
    double seems_long = 10;
  };

  CallWatchdog(const Limits& limits, Late late, Long takes_long = {});
  ~CallWatchdog();
  CallWatchdog(const CallWatchdog&) = delete;
  CallWatchdog& operator=(const CallWatchdog&) = delete;

  /// How long a round of a rule's answers, or loading its file, may take, from now on.
  void set_limit(double seconds);
  /// What the rule is called, for the message.
  void name(const std::string& label);
  /// Around each round of the rule's answers over `asking`.
  void begin(const ah_asking* asking);
  /// Around the loading of the rule file `path`. False when something is watched already, since a rule loads another
  /// one while it answers; then there is nothing to end.
  bool begin_loading(const std::string& path);
  /// Around a callback, "schedule (job.lua:12)", or other Lua that may take as long as it likes. Ends what was begun.
  void begin_call(std::string_view what, bool limited);
  /// Does nothing when nothing runs.
  void end() noexcept {
    if (rounds_.load(std::memory_order_relaxed) % 2 != 0) rounds_.fetch_add(1, std::memory_order_release);
  }
  /// Something runs whose time is limited. The thread of what is watched alone.
  bool limited() const noexcept {
    if (rounds_.load(std::memory_order_relaxed) % 2 == 0) return false;
    return asking_.load(std::memory_order_relaxed) != nullptr || limit_ != nullptr;
  }
  /// "barrier rule 'x' did not return within 10 s; it was shown ...": empty unless it had to step in.
  std::string message() const;

 private:
  void watch();
  void begin_what(std::string_view what, double Limits::*limit);
  std::string describe() const;

  const Late late_;
  const Long long_;
  std::atomic<uint64_t> rounds_{0};                // odd while something runs that is watched
  std::atomic<const ah_asking*> asking_{nullptr};  // of a round of answers; none: what_ runs
  mutable std::mutex mutex_;                       // of what follows
  std::condition_variable changed_;
  Limits limits_;
  std::string label_;                // of the rule
  std::string what_;                 // else runs
  double Limits::*limit_ = nullptr;  // of that; none: it may take as long as it likes
  std::string message_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace actorhost
