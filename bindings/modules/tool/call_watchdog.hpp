#pragma once
// Watches Lua calls that other nodes wait for and that may never return: rounds of a barrier rule's evaluations, the
// load of a rule's file, callbacks on a server. Its thread polls and reports a call that takes too long. The receiver
// of the report ends the call: it stops the Vm, which raises in the rule; or, for a compiled loop, which runs no hooks,
// it ends the process. Made and destroyed on the Vm's thread, or before that thread starts and after it has ended.

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "host/base/non_copyable.hpp"
#include "host/base/tasks.hpp"

struct ah_admission_batch;

namespace actorhost {

class CallWatchdog : private NonCopyable {
 public:
  /// Called on the watchdog's thread when a call exceeds its limit; after a second of grace again at every poll, with
  /// `still` set.
  using Late = std::function<void(const std::string& message, bool still)>;
  /// Called on the same thread once for a call that exceeds Limits::seems_long, whatever its limit is.
  using Long = std::function<void(const std::string& call)>;
  struct Limits {
    double rule = 0;      // seconds for a round of evaluations, or for loading a rule's file
    double callback = 0;  // seconds for a callback
    double seems_long = 10;
  };

  CallWatchdog(const Limits& limits, Late late, Long takes_long = {});
  ~CallWatchdog();

  /// Changes the limit for calls of a rule and for loading its file.
  void set_limit(double seconds);
  /// Sets the rule's name for the message.
  void name(const std::string& label);
  /// Begins a round of the rule's evaluations over `batch`.
  void begin(const ah_admission_batch* batch);
  /// Begins the load of the rule file `path`. Returns false inside another watched call, because a rule may load
  /// another rule while it is evaluated; then the caller must not call `end`.
  bool begin_loading(const std::string& path);
  /// Begins a call of a rule, "merge rule 'x'".
  void begin_rule(std::string_view rule);
  /// Begins a callback, "schedule (job.lua:12)", or other Lua with or without a limit. Ends the previous call.
  void begin_call(std::string_view call, bool limited);
  /// Ends the present call, if any.
  void end() noexcept {
    if (rounds_.load(std::memory_order_relaxed) % 2 != 0) rounds_.fetch_add(1, std::memory_order_release);
  }
  /// Whether a call with a limit is in progress. Only for the thread of the watched calls.
  bool limited() const noexcept {
    if (rounds_.load(std::memory_order_relaxed) % 2 == 0) return false;
    return batch_.load(std::memory_order_relaxed) != nullptr || limit_ != nullptr;
  }
  /// "barrier rule 'x' did not return within 10 s; it was shown ...": empty without a late call.
  std::string message() const;

 private:
  void watch();
  void begin_named(std::string_view call, double Limits::*limit, bool loading);
  std::string describe() const;

  const Late late_;
  const Long long_;
  std::atomic<uint64_t> rounds_{0};                        // odd while a watched call is in progress
  std::atomic<const ah_admission_batch*> batch_{nullptr};  // of a round of evaluations; none: the call is call_name_
  mutable std::mutex mutex_;                               // guards the members below
  WaitPoint changed_;
  Limits limits_;
  std::string label_;                // of the rule
  std::string call_name_;            // the call outside rounds of evaluations
  double Limits::*limit_ = nullptr;  // limit of call_name_; none: no limit
  bool loading_ = false;             // call_name_ is the load of a file
  std::string message_;
  bool done_ = false;
  Task thread_;
};

}  // namespace actorhost
